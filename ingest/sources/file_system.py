"""Sources that libraries open: files of fsspec, such as `s3://` or `zip://`, and readers of LlamaIndex."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from ingest.errors import SourceFailed
from ingest.source import Item, Known, file_name, too_large

if TYPE_CHECKING:
    from llama_index.core.schema import Document


PREFIX = "llama_index:"
_LOAD = "load"  # the table of the arguments of load_data; the others are of the reader
_NAMES = ("file_path", "file_name", "title", "name", "url", "source")  # of documents, as readers put them in metadata
_ADDRESSES = ("url", "source", "link", "web_view_link", "file_path")


class LlamaIndexSource:
    """The documents of the reader with this class path."""

    def __init__(self, address: str, arguments: Mapping[str, JsonValue]) -> None:
        self._address, self._arguments = address, arguments

    def items(self, known: Mapping[str, Known]) -> Iterator[Item]:
        """Yield the texts. A reader lists nothing, so each call loads all."""
        load = self._arguments.get(_LOAD, {})
        given: dict[str, Any] = {name: value for name, value in self._arguments.items() if name != _LOAD}
        try:
            documents = self._reader()(**given).load_data(**(load if isinstance(load, dict) else {}))
        except SourceFailed:
            raise
        except Exception as error:  # each reader has errors of its own
            raise SourceFailed(f"{self._address} failed: {type(error).__name__}: {error}") from error
        names: Counter[str] = Counter()
        for document in documents:
            name = _first(document, _NAMES) or document.id_
            names[name] += 1
            yield self._item(document, name if names[name] == 1 else f"{name} ({names[name]})", known)

    def _item(self, document: Document, name: str, known: Mapping[str, Known]) -> Item:
        text = document.text.encode()
        address = f"{_first(document, _ADDRESSES) or self._address}#{name}"
        version = hashlib.sha256(text).hexdigest()
        if address in known and known[address].version == version:
            return Item("", address, is_unchanged=True)
        *folders, last = [part for part in name.split("/") if part] or [name]
        return Item("/".join([*map(file_name, folders), file_name(last, ".txt")]), address, version, text)

    def _reader(self) -> type[Any]:
        """Return the class. Raises SourceFailed."""
        from llama_index.core.readers.base import BaseReader

        module, _, name = self._address.removeprefix(PREFIX).rpartition(".")
        try:
            found = getattr(import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise SourceFailed(
                f"There is no reader {module}.{name}: {error}. Install its package, or correct the class path."
            ) from error
        if not (isinstance(found, type) and issubclass(found, BaseReader)):
            raise SourceFailed(f"{module}.{name} is not a reader of LlamaIndex.")
        return found


def _first(document: Document, keys: tuple[str, ...]) -> str:
    """Return the first of these values in the metadata, or an empty string."""
    return next((str(document.metadata[key]) for key in keys if document.metadata.get(key)), "")


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
                yield too_large(address, self._max_bytes)
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
