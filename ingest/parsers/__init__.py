"""One module per parser, found by name: ``parsers/NAME.py`` offers a class ``DocumentParser`` that keeps the contract.

A new parser is a new file here; nothing else changes.
"""
