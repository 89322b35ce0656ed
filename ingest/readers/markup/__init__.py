"""Reads HTML, XML, Markdown and AsciiDoc."""
