"""Converts old Word files (.doc) to the XML of .docx: text, form, styles, lists, tables, notes, comments, headers."""
