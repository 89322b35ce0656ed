"""The settings of research and of tools."""
