"""Lets ``python -m api.cli`` run the command line."""

from api.cli.main import main

main()
