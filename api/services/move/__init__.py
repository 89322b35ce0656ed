"""Copies the data of Candor between files and servers."""
