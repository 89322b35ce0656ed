"""Documents and questions to try Candor on: ``documents/`` to ingest, ``questions.jsonl`` to ask.

The binary documents are made by ``build.py`` from ``sources/``; the others are written by hand. README.md says what
each one is there for. Every company, person and result in them is invented.
"""
