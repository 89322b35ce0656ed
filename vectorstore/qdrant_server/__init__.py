"""The connection to a Qdrant server: requests, retries, and errors with a remedy."""
