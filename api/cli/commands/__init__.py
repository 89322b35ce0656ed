"""The commands, one file each; a folder is a group of commands. ``api/cli/main.py`` finds them."""
