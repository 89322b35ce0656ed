"""The commands of the command line, a file for each of their subjects; ``api/cli/main.py`` puts them together."""
