"""Writes a package in memory, so that an old file of Office becomes one that the reader of its new format reads."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

_NOT_XML = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class Related(NamedTuple):
    """A relation of a part to another part of this name, or to an address outside the file."""

    id: str
    kind: str
    target: str
    is_outside: bool = False


def write_package(parts: Mapping[str, str], relations: Mapping[str, Iterable[Related]]) -> bytes:
    """Return a package of these parts, whose names are paths, and of the relations of each part."""
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w") as package:
        for name, xml in parts.items():
            package.writestr(name, xml)
        for name, related in relations.items():
            folder, _, base = name.rpartition("/")
            content = "".join(map(_relationship, related))
            package.writestr(f"{folder}/_rels/{base}.rels", f"<Relationships>{content}</Relationships>")
    return into.getvalue()


def _relationship(related: Related) -> str:
    target = related.target if related.is_outside else f"/{related.target}"
    mode = ' TargetMode="External"' if related.is_outside else ""
    return f'<Relationship Id="{related.id}" Type="/{related.kind}" Target={quoted(target)}{mode}/>'


def escaped(text: str) -> str:
    """Return text for an element, without characters that XML does not allow."""
    return escape(_NOT_XML.sub("", text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")))


def quoted(text: str) -> str:
    """Return the value of an attribute, without characters that XML does not allow."""
    return quoteattr(_NOT_XML.sub("", text))
