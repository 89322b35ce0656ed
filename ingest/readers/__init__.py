"""One module per format, found by its attribute ``READER``. The contract is ``Reader`` in ``ingest/reader.py``."""
