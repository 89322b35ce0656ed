"""ASGI middleware, one file each."""
