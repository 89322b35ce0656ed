"""Collections on a Qdrant server: requests, retries, and errors with a remedy."""
