"""Sources that libraries open: files of fsspec, such as `s3://` or `zip://`, and readers of LlamaIndex."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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
_READ_AT = ("atime", "time")  # when a file was read, in the entries of SFTP and SMB
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
        by_text = {each.version: address for address, each in known.items()}
        for document in documents:
            name = _first(document, _NAMES) or document.id_
            names[name] += 1
            yield self._item(document, name if names[name] == 1 else f"{name} ({names[name]})", by_text)

    def _item(self, document: Document, name: str, by_text: dict[str, str]) -> Item:
        text = document.text.encode()
        address = f"{_first(document, _ADDRESSES) or self._address}#{name}"
        version = hashlib.sha256(text).hexdigest()
        known = by_text.get(version)
        if known and (known == address or name == document.id_):  # many readers create new ids with each call
            return Item("", by_text.pop(version), is_unchanged=True)
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
    """The files below an address. ``options`` go to the file system, such as an endpoint or credentials.

    ``judge`` returns why a file is left out, or an empty string. Files that are left out are not transferred.
    """

    def __init__(
        self, address: str, options: Mapping[str, JsonValue], judge: Callable[[str], str], *, max_bytes: int
    ) -> None:
        self._address, self._judge, self._max_bytes = address, judge, max_bytes
        # Some file systems need a tuple, such as WebDAV for user and password. TOML has only arrays.
        self._options = {name: tuple(each) if isinstance(each, list) else each for name, each in options.items()}

    def items(self, known: Mapping[str, Known]) -> Iterator[Item]:
        """Yield the files, sorted by path. Reads only those whose entry in the list has changed."""
        from fsspec.core import url_to_fs

        with _explained(self._address):
            # A cached instance may have a dead connection, and an outdated listing.
            system, root = url_to_fs(self._address, skip_instance_cache=True, **self._options)
            start, unread = system.info(root) | {"name": root}, dict[str, str]()
            listed = {info["name"]: info for info in _files(system, start, unread)}
        base = self._address.rstrip("/")
        for folder, why in unread.items():
            address = f"{base}/{folder.removeprefix(root).strip('/')}"
            yield Item("", address, error=why)
            yield from (Item("", each, is_unchanged=True) for each in known if each.startswith(f"{address}/"))
        for path, info in sorted(listed.items()):
            below = path.removeprefix(root).strip("/")
            name, address = below or path.rpartition("/")[2], f"{base}/{below}" if below else self._address
            entry = sorted(each for each in info.items() if each[0] not in _READ_AT)
            version = hashlib.sha256(repr(entry).encode()).hexdigest()
            if why := self._judge(name):
                yield Item("", address, skipped=why)
            elif address in known and known[address].version == version:
                yield Item("", address, is_unchanged=True)
            elif (info.get("size") or 0) > self._max_bytes:
                yield too_large(address, self._max_bytes)
            else:
                try:
                    with _explained(address):
                        yield Item(name, address, version, system.cat_file(path))
                except SourceFailed as error:
                    yield Item("", address, error=str(error))


def _files(system: Any, entry: dict[str, Any], unread: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the entries of all files below a folder. Adds subfolders that cannot be listed to ``unread``.

    The search of fsspec leaves such folders out, as if their files had been deleted.
    """
    if entry["type"] != "directory":
        yield entry
        return
    for each in system.ls(entry["name"], detail=True):
        try:
            if each["name"].rstrip("/") != entry["name"].rstrip("/"):  # some list the folder itself
                with _explained(each["name"]):
                    yield from _files(system, each, unread)
        except SourceFailed as error:
            unread[each["name"]] = str(error)


@contextmanager
def _explained(address: str) -> Iterator[None]:
    """Translate the errors of a file system to SourceFailed. Each has errors of its own."""
    try:
        yield
    except Exception as error:
        raise SourceFailed(f"{address} cannot be read: {str(error) or type(error).__name__}") from error
