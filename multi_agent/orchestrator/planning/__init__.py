"""Plans: the model writes them, validation checks them, references connect their steps."""
