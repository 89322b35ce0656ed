"""Returns memory of this process to the system."""

import ctypes
import sys


def release_freed_memory() -> None:
    """Return freed memory to the system. Only glibc needs this.

    It kept 250 MB of freed tensors after 768 passages, and 35 MB in a service after 1,300 runs.
    """
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)
