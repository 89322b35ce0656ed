"""The base of the errors of all packages."""

from typing import Self


class Explained(Exception):
    """An error that a person can act on. The message says what happened, in the same words for every transport."""

    command: str = ""
    """What to do on the command line. REST has remedies of its own (``api/problems.py``)."""

    def with_command(self, remedy: str) -> Self:
        """Return the error with its remedy for the command line."""
        self.command = remedy
        return self
