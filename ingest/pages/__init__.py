"""Page images of documents, with a quote highlighted."""
