"""Detects the MIME type of a file by its content and its name."""

from __future__ import annotations

import json
import mimetypes
import tomllib
from pathlib import Path, PurePath

from ingest.decoding import WIDE_MARKUP
from ingest.readers.shared.kreuzberg_library import mime_type_by_content, mime_type_by_name

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_SIGNATURES = {bytes.fromhex(start): mime_type for start, mime_type in _TABLES["signatures"].items()}
_TEXT = frozenset(_TABLES["text"]["mime_types"].split())
_SUFFIXES: dict[str, str] = _TABLES["suffixes"]
_AMBIGUOUS = {"application/zip", "application/gzip", "application/octet-stream"}
"""Types of content that many formats share: the name decides."""
_PAGES = {"text/html", "application/xhtml+xml", "message/rfc822", "application/rtf"}
"""Text types whose source is not for readers, because programs show little of it."""
_FAMILIES = ("wordprocessingml", "spreadsheetml", "presentationml", "opendocument", "ms-excel", "ms-word", "x-iwork")
"""Parts of type names that variants such as .docx and .dotx share. Content does not distinguish variants."""


def detect_mime_type(path: PurePath, data: bytes) -> tuple[str, tuple[str, ...]]:
    """Return the MIME type, with a warning if the name suggests another one."""
    if WIDE_MARKUP.match(data):
        data = data.decode("utf-16-le" if data[0] else "utf-16-be", errors="replace").encode("utf-8", "replace")
    signed = next((mime_type for signature, mime_type in _SIGNATURES.items() if data.startswith(signature)), None)
    content, name = signed or mime_type_by_content(data), mime_type_of_name(path)
    if content and content.startswith("image/") and not _is_text(content) and b"\0" not in data:
        content = None  # words that begin like an image, such as BMW: the head of an image has a zero
    if content is None or content in _AMBIGUOUS:
        return name or content or "text/plain", ()
    if name is None:
        return content, ()
    if name == "text/plain" and (data_type := _data_type(data)):
        return data_type, ()
    if _is_text(content) == _is_text(name) and (_is_text(content) or _family(content) == _family(name)):
        return name, ()
    return content, (f"The name suggests {name}, but the content is {content}. Read as {content}.",)


def mime_type_of_name(path: PurePath) -> str | None:
    """Return the MIME type that the file's name suggests."""
    if path.suffix.lower() in _SUFFIXES:
        return _SUFFIXES[path.suffix.lower()]
    try:
        return mime_type_by_name(str(path))
    except UnicodeEncodeError:  # the library accepts only names that are valid Unicode
        return mimetypes.guess_type(f"file{path.suffix}")[0]


def _data_type(data: bytes) -> str | None:
    """Return the JSON type of a text file that contains JSON. A list of plain values, such as ``[1]``, is text."""
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b"["):
        return None
    source = data.decode("utf-8-sig", errors="replace").strip()
    for text, mime_type in ((source, "application/json"), (source.partition("\n")[0], "application/x-ndjson")):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) or any(isinstance(each, dict | list) for each in value):
            return mime_type
    return None


def is_plain_text(mime_type: str) -> bool:
    """Return whether people read the source of such files, as that of data and markup, but not that of pages."""
    return _is_text(mime_type) and mime_type not in _PAGES and not mime_type.startswith("image/")


def _is_text(mime_type: str) -> bool:
    return mime_type.startswith("text/") or mime_type.endswith(("+xml", "+json")) or mime_type in _TEXT


def _family(mime_type: str) -> str:
    return next((family for family in _FAMILIES if family in mime_type), mime_type)
