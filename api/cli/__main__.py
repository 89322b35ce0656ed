"""Runs the command line for ``python -m api.cli``."""

from api.cli.main import main

main()
