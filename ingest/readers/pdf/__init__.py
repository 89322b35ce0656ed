"""Reads PDF: lines, headings, tables, page headers and scanned pages."""
