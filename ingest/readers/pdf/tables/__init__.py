"""Finds the tables of a PDF and reads their columns, rows and headers."""
