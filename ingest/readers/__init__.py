"""Format readers: each turns one family of file formats into text and blocks."""
