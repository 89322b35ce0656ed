"""Causes the faults of a chaos run. Each method causes a fault, undoes it if possible, and returns its description."""

from __future__ import annotations

import errno
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from benchmarks.chaos.processes import Model, Service

DISK_MB = 1024
LEFT_MB = (0, 100)
"""Free space of a full disk: none, or less than the embedded store wants."""
FULL_S, FROZEN_S, AWAY_S = (2.0, 8.0), (1.0, 6.0), (0.0, 5.0)
JUMPS_S = (-86_400, -3_600, -30, 30, 3_600, 86_400)
NO_DISK = "not available here: a full disk (needs the right to mount a tmpfs)"
NO_SLOW_DISK = "not available here: a slow disk (needs a block device with a rate limit); processes are frozen instead"


@contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """Mount a file system of ``DISK_MB`` on the folder. Yield False without the permission to mount."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)  # a child process may still be ending


class Faults:
    """Chooses faults at random, with weights."""

    def __init__(self, service: Service, model: Model, chosen: random.Random, disk: Path | None) -> None:
        self._service, self._model, self._chosen, self._disk = service, model, chosen, disk
        self._faults: dict[Callable[[], str], int] = {
            self.kill_service: 4,
            self.kill_child: 5,
            self.kill_model: 2,
            self.freeze: 2,
            self.jump: 2,
        }
        if disk:
            self._faults[self.fill_disk] = 3

    def strike(self) -> str:
        """Cause a random fault. Return its description."""
        [fault] = self._chosen.choices(list(self._faults), list(self._faults.values()))
        return fault()

    def kill_service(self) -> str:
        """Kill the service and start it again."""
        self._service.kill()
        return "killed the service"

    def kill_child(self) -> str:
        """Kill a process of the service: search, research, or a parser."""
        children = self._service.children()
        if not children:
            return "the service has no child process to kill"
        child = self._chosen.choice(children)
        what = _name(child)
        _signal(child, signal.SIGKILL)
        return f"killed {what}"

    def kill_model(self) -> str:
        """Kill the model endpoint and start it again after a few seconds."""
        self._model.kill()
        away = self._chosen.uniform(*AWAY_S)
        time.sleep(away)
        self._model.start()
        return f"killed the model endpoint for {away:.1f} s"

    def freeze(self) -> str:
        """Suspend a process of the service for a few seconds."""
        found = [psutil.Process(self._service.process.pid), *self._service.children()]
        process, seconds = self._chosen.choice(found), self._chosen.uniform(*FROZEN_S)
        what = _name(process)
        _signal(process, signal.SIGSTOP)
        time.sleep(seconds)
        _signal(process, signal.SIGCONT)
        return f"froze {what} for {seconds:.1f} s"

    def jump(self) -> str:
        """Move the clock of the service."""
        seconds = self._chosen.choice(JUMPS_S)
        self._service.clock.write_text(str(seconds))
        return f"moved time.time of the service to {seconds:+d} s"

    def fill_disk(self) -> str:
        """Fill the disk of the data folder for a few seconds."""
        assert self._disk
        left, seconds = self._chosen.choice(LEFT_MB), self._chosen.uniform(*FULL_S)
        ballast = self._disk / "ballast"
        try:
            _fill(ballast, left)
            time.sleep(seconds)
        finally:
            ballast.unlink(missing_ok=True)
        return f"left {left} MB of the disk free for {seconds:.1f} s"


def _fill(ballast: Path, left_mb: int) -> None:
    """Write zeros until at most ``left_mb`` MB are free."""
    block = bytes(1 << 20)
    with ballast.open("wb", buffering=0) as file:
        try:
            while not left_mb or psutil.disk_usage(str(ballast.parent)).free > left_mb << 20:
                file.write(block)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


def _signal(process: psutil.Process, number: signal.Signals) -> None:
    try:
        os.kill(process.pid, number)
    except ProcessLookupError:  # it has ended by itself
        return


def _name(process: psutil.Process) -> str:
    """Return the module that the process runs."""
    try:
        words = " ".join(process.cmdline())
    except psutil.Error:
        return f"process {process.pid}"
    target = re.search(r'"target": "([^"]+)"', words)  # of base/process.py
    return target[1] if target else "the service" if " serve " in words else words[:100]
