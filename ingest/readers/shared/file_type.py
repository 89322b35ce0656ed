"""Detects the MIME type of a file by its content and its name."""

from __future__ import annotations

import json
import mimetypes
from pathlib import PurePath

from ingest.readers.shared.kreuzberg_library import mime_type_by_content, mime_type_by_name

_SIGNATURES = {
    b"\xffWPC": "application/vnd.wordperfect",
    b"ITSF\x03\x00": "application/vnd.ms-htmlhelp",
    bytes.fromhex("e4525c7b8cd8a74daeb15378d02996d3"): "application/onenote",  # a section
    bytes.fromhex("a12ff743d9ef764c9ee210ea5722765f"): "application/onenote",  # a table of contents
    bytes.fromhex("0000020004040600"): "application/vnd.lotus-1-2-3",
    bytes.fromhex("0000020006040600"): "application/vnd.lotus-1-2-3",
    b"BEGIN:VCALENDAR": "text/calendar",
    b"BEGIN:VCARD": "text/vcard",
    b"Rar!\x1a\x07": "application/vnd.rar",
    b"AT&TFORM": "image/vnd.djvu",
    "\ufeff<?xml ".encode("utf-16-le"): "application/xml",
    "\ufeff<?xml ".encode("utf-16-be"): "application/xml",
}
"""First bytes of formats that kreuzberg does not recognise by content."""
_AMBIGUOUS = {"application/zip", "application/gzip", "application/octet-stream"}
"""Types of content that many formats share: the name decides."""
_TEXT = {
    "application/json",
    "application/x-ndjson",
    "application/x-yaml",
    "application/toml",
    "message/rfc822",
    "application/rtf",
    "application/xml",
    "application/xml+opml",
    "application/x-latex",
    "application/x-typst",
    "application/x-subrip",
    "application/x-bibtex",
    "application/x-research-info-systems",
    "application/x-pubmed",
}
"""Text types that do not start with ``text/``. Content does not distinguish them, so the name decides."""
_SUFFIXES = {
    ".jsonc": "application/json",
    ".json5": "application/json",
    ".ldjson": "application/x-ndjson",
    ".ass": "application/x-subrip",
    ".sbv": "application/x-subrip",
    ".ssa": "application/x-subrip",
    ".sub": "application/x-subrip",
    ".vcs": "text/calendar",
}
"""Types by suffixes that kreuzberg does not know, or takes for another format."""
_PAGES = {"text/html", "application/xhtml+xml", "message/rfc822", "application/rtf"}
"""Text types whose source is not for readers, because programs show little of it."""
_FAMILIES = ("wordprocessingml", "spreadsheetml", "presentationml", "opendocument", "ms-excel", "ms-word", "x-iwork")
"""Parts of type names that variants such as .docx and .dotx share. Content does not distinguish variants."""


def detect_mime_type(path: PurePath, data: bytes) -> tuple[str, tuple[str, ...]]:
    """Return the MIME type, with a warning if the name suggests another one."""
    signed = next((mime_type for signature, mime_type in _SIGNATURES.items() if data.startswith(signature)), None)
    content, name = signed or mime_type_by_content(data), mime_type_of_name(path)
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
