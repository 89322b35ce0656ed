"""What the roof itself can refuse."""


class UsageError(Exception):
    """The caller asked for something that cannot be: exit code 2."""


class SettingsError(UsageError):
    """A setting is unknown or has a wrong value; the message names it and where it stands."""


class HomeError(Exception):
    """The home folder or its database cannot be used."""
