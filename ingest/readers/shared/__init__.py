"""Code that several readers share."""
