"""One module or package per parser, found by its name: ``parsers/NAME`` defines a class ``DocumentParser``.

The contract is ``Parser`` in ``ingest/parser.py``.
"""
