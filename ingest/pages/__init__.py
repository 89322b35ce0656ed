"""Draws pages of documents as pictures, with a quote marked."""
