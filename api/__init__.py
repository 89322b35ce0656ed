"""The roof: reads the environment, names concrete classes, and speaks to people and programs."""
