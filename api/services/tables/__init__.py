"""Tables of documents by questions, and their export."""
