"""Reads spreadsheets: cells as displayed, charts, comments, text boxes, headers and footers."""
