"""Reads spreadsheets: the cells as shown, charts, comments, text boxes, headers and footers."""
