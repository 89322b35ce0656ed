"""Shift `time.time` by the seconds in the file CHAOS_CLOCK, in processes that have this folder on PYTHONPATH.

Only `time.time` and `time.time_ns` jump: `datetime.now` reads the clock in C. Child processes of the service do not get
the variable, so their clock stays right.
"""

import os
import time


def _shift(file: str) -> None:
    right, right_ns = time.time, time.time_ns

    def offset() -> int:
        try:
            with open(file, encoding="ascii") as opened:
                return int(opened.read() or 0)
        except FileNotFoundError:
            return 0

    time.time = lambda: right() + offset()
    time.time_ns = lambda: right_ns() + offset() * 10**9


if "CHAOS_CLOCK" in os.environ:
    _shift(os.environ["CHAOS_CLOCK"])
