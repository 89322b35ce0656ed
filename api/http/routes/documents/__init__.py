"""Routes of documents and collections."""
