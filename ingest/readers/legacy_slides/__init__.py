"""Reads old PowerPoint files (.ppt): converts their records to the XML of .pptx."""
