"""Dense vectors: the embedder contract and its implementations."""
