"""Keeps the library ``unstructured`` from reporting its use. Import this module before the library."""

import os

os.environ["DO_NOT_TRACK"] = "1"  # without it, each file that it reads is reported to its makers
