"""The file ``FOLDER/service.json``, which contains the address of the service that serves the collections of a folder.

The service listens on a Unix domain socket in a private temporary folder. No other user and no other machine can
connect, no port has to be chosen, and small messages are not delayed as by TCP. The socket is not in the data folder,
because its path could exceed the limit of about 100 bytes. A client must also send the secret in the file, which only
the user can read. File and socket remain after the service is killed. Then nothing listens on the socket, and commands
open the collections themselves. The next service removes such sockets.
"""

import errno
import os
import secrets
import socket
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from base.models import FrozenModel
from vectorstore.errors import StoreUnavailable

FILE = "service.json"
_BACKLOG = 1024  # connections that wait while a search process starts
_STALE_S = 60.0  # the time between the creation of a socket and its first connection is shorter


class ServiceAddress(FrozenModel):
    """The service that serves the collections of a folder."""

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


def new_address() -> ServiceAddress:
    """Return an address for this process."""
    socket_path = Path(tempfile.gettempdir()) / f"candor-{secrets.token_hex(8)}" / "store"
    return ServiceAddress(pid=os.getpid(), socket=socket_path, secret=secrets.token_hex(32))


def listen(folder: Path, address: ServiceAddress) -> socket.socket:
    """Open the socket, and write the address into the folder. Raises StoreUnavailable."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        write_address(folder, address)
        address.socket.parent.mkdir(mode=0o700, exist_ok=True)
        listener.bind(str(address.socket))
        listener.listen(_BACKLOG)
        _remove_stale()
    except OSError as error:
        listener.close()
        remove_address(folder, address)
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        disks = f"Free some space on the disks of {str(folder)!r} and {tempfile.gettempdir()!r}."
        remedy = "Set TMPDIR to a folder with a short path, and allow writing to both folders."
        raise StoreUnavailable(
            f"This process cannot serve the collections in {str(folder)!r}: {error.strerror or error} "
            f"({str(address.socket)!r}). {disks if full else remedy}"
        ) from error
    return listener


def _remove_stale() -> None:
    """Remove the sockets of services that were killed. Nothing listens on them."""
    for path in Path(tempfile.gettempdir()).glob("candor-*/store"):
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.setblocking(False)
            age_s = time.time() - path.stat().st_mtime
            if age_s > _STALE_S and probe.connect_ex(str(path)) == errno.ECONNREFUSED:
                remove_socket(path)


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
