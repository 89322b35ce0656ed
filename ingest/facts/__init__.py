"""Finds facts about a whole document, such as its issuer and period."""
