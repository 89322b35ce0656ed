"""Files of anything that fsspec opens, such as `s3://`, `sftp://`, `github://` or `zip://`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from pydantic import JsonValue

from ingest.errors import SourceFailed
from ingest.source import Item, Known


class FileSystemSource:
    """The files below an address. ``options`` go to the file system, such as an endpoint or credentials."""

    def __init__(self, address: str, options: Mapping[str, JsonValue], *, max_bytes: int) -> None:
        self._address, self._options, self._max_bytes = address, options, max_bytes

    def items(self, known: Mapping[str, Known]) -> Iterator[Item]:
        """Yield the files, sorted by path. Reads only those whose entry in the list has changed."""
        from fsspec.core import url_to_fs

        with _explained(self._address):
            system, root = url_to_fs(self._address, **self._options)
            listed: dict[str, dict[str, Any]] = system.find(root, detail=True)
        for path, info in sorted(listed.items()):
            name = path.removeprefix(root).strip("/") or path.rpartition("/")[2]
            address = f"{self._address.rstrip('/')}/{name}" if path != root else self._address
            version = hashlib.sha256(repr(sorted(info.items())).encode()).hexdigest()
            if address in known and known[address].version == version:
                yield Item("", address, is_unchanged=True)
            elif (info.get("size") or 0) > self._max_bytes:
                yield Item("", address, error=f"{address} has more than {self._max_bytes:,} bytes (ingest.max_file_mb)")
            else:
                yield _read(Item(name, address, version), partial(system.cat_file, path))


def _read(item: Item, read: Callable[[], bytes]) -> Item:
    try:
        with _explained(item.address):
            return item._replace(content=read())
    except SourceFailed as error:
        return Item("", item.address, error=str(error))


@contextmanager
def _explained(address: str) -> Iterator[None]:
    """Translate the errors of a file system to SourceFailed. Each has errors of its own."""
    try:
        yield
    except Exception as error:
        raise SourceFailed(f"{address} cannot be read: {str(error) or type(error).__name__}") from error
