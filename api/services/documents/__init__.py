"""Use cases of collections and documents."""
