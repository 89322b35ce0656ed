"""Ctrl-C during a transaction of the ledger, in a process of its own: SIGINT would reach whatever runs in this one."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

from support.waiting import LIMIT_S

BEGIN = """
import signal
from ingest.ledger.interrupts import INTERRUPTS
from ingest.ledger.schema import database

signal.signal(signal.SIGINT, INTERRUPTS.interrupt)
"""


def printed_by(code: str) -> list[str]:
    """Run the code after ``BEGIN`` and return the lines that it prints."""
    command = [sys.executable, "-c", BEGIN + dedent(code)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def test_ctrl_c_is_raised_after_the_transaction() -> None:
    code = """
    try:
        with database():
            with database():
                signal.raise_signal(signal.SIGINT)
                signal.raise_signal(signal.SIGINT)
                print("inner block")
            print("outer block")
    except KeyboardInterrupt:
        print("interrupted")
    with database():
        print("next block")
    """
    assert printed_by(code) == ["inner block", "outer block", "interrupted", "next block"]


def test_ctrl_c_outside_a_transaction_is_raised_at_once() -> None:
    code = """
    try:
        signal.raise_signal(signal.SIGINT)
        print("not reached")
    except KeyboardInterrupt:
        print("interrupted")
    """
    assert printed_by(code) == ["interrupted"]
