"""Tables over documents, and their export."""
