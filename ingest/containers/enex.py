"""Files attached to exported notes of Evernote (.enex)."""

from __future__ import annotations

import base64
import mimetypes
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

MARK = b"<en-export"
"""The root element, within the first bytes of a file."""
_NO_NAME = re.compile(r"[/\\]|^\.+")


def attachments(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each attached file, in a folder per note. Raises ValueError for damaged files."""
    try:
        for _, element in ElementTree.iterparse(path):
            if element.tag != "note":
                continue
            for resource in element.iterfind("resource"):
                name = f"{_part(element.findtext('title', ''))}/{_name(resource)}"
                yield name, base64.b64decode(resource.findtext("data", "") + "==")
            element.clear()
    except ElementTree.ParseError as error:
        raise ValueError(f"it is not well-formed XML ({error})") from error


def _name(resource: Element) -> str:
    suffix = mimetypes.guess_extension(resource.findtext("mime", "")) or ""
    return _part(resource.findtext("resource-attributes/file-name", "")) or f"attachment{suffix}"


def _part(name: str) -> str:
    """Return a name without separators of paths and leading dots."""
    return _NO_NAME.sub("_", name.strip())[:100]
