"""Where documents come from besides files and folders. A new kind of source is a new module here."""
