"""Code that all packages share. It knows nothing of documents."""
