"""The embedded store: Qdrant Edge collections in a local folder."""
