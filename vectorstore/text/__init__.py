"""Text for the word search: BM25 weights and language detection."""
