"""What a chunk is, and how to find one: collections of embedded passages in Qdrant, dense and BM25."""
