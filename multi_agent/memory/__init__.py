"""What is remembered across runs."""
