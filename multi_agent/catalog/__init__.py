"""The catalog of agents and skills: built-in ones, those of packages, and those described as data."""
