"""See which packages real commands call, in all of their processes."""
