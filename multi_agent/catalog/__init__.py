"""The agents and skills that exist: discovered in packages or described as data."""
