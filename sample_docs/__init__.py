"""Sample documents and questions for trying Candor: ``documents/`` to ingest, ``questions.jsonl`` to ask.

``build.py`` builds the binary documents from ``sources/``. README.md describes each document. All companies, people and
results are invented.
"""
