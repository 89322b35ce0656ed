"""The embedded store: collections in a local folder, in Qdrant Edge."""
