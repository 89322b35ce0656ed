"""The file ``FOLDER/service.json``, which contains the address of the process that serves the collections of a folder.

Only the user of that process can read the file and connect to its socket. The file remains after the process is killed.
Then nothing listens on the socket, and commands open the collections themselves.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from vectorstore.errors import StoreUnavailable
from vectorstore.models import FrozenModel

FILE = "service.json"


class ServiceAddress(FrozenModel):
    """The process that serves the collections of a folder."""

    pid: int
    socket: Path
    secret: str


def read_address(folder: Path) -> ServiceAddress | None:
    """Return the address in the folder, or None if this user has none. Raises StoreUnavailable."""
    file = folder / FILE
    try:
        return ServiceAddress.model_validate_json(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError, PermissionError):  # another user's, who holds the locks, too
        return None
    except OSError as error:
        raise StoreUnavailable(f"Cannot read {str(file)!r}: {error.strerror or error}. Repair the file.") from error
    except ValidationError as error:
        raise StoreUnavailable(
            f"{str(file)!r} is not the address of a Candor service. Stop the service, delete the file, and start the "
            "service again."
        ) from error


def write_address(folder: Path, address: ServiceAddress) -> None:
    """Write the file, readable only by this user. Removes the socket in the previous address."""
    with suppress(StoreUnavailable):
        if stale := read_address(folder):
            remove_socket(stale.socket)
    folder.mkdir(parents=True, exist_ok=True)
    number, part = tempfile.mkstemp(prefix=f"{FILE}.", dir=folder)  # mode 0600
    with os.fdopen(number, "w", encoding="utf-8") as file:
        file.write(address.model_dump_json())
    os.replace(part, folder / FILE)


def remove_address(folder: Path, address: ServiceAddress) -> None:
    """Remove the socket, and the file if it contains this address."""
    with suppress(StoreUnavailable):
        if read_address(folder) == address:
            (folder / FILE).unlink(missing_ok=True)
    remove_socket(address.socket)


def remove_socket(path: Path) -> None:
    """Remove a socket and its folder, which contains nothing else."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
        path.parent.rmdir()
