"""Files in, chunks out: parsing, chunking, and the ledger of what became of every file."""
