"""BM25 term weights and language detection."""
