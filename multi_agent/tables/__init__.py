"""Tables: the same questions about many documents, with quotes in each cell."""
