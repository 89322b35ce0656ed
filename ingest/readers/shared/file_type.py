"""Detects the MIME type of a file by its content and its name."""

from __future__ import annotations

import mimetypes
from pathlib import PurePath

from ingest.readers.shared.kreuzberg_library import mime_type_by_content, mime_type_by_name

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
_FAMILIES = ("wordprocessingml", "spreadsheetml", "presentationml", "opendocument", "ms-excel", "ms-word")
"""Parts of type names that variants such as .docx and .dotx share. Content does not distinguish variants."""


def detect_mime_type(path: PurePath, data: bytes) -> tuple[str, tuple[str, ...]]:
    """Return the MIME type, with a warning if the name suggests another one."""
    content, name = mime_type_by_content(data), mime_type_of_name(path)
    if content is None or content in _AMBIGUOUS:
        return name or content or "text/plain", ()
    if name is None:
        return content, ()
    if _is_text(content) == _is_text(name) and (_is_text(content) or _family(content) == _family(name)):
        return name, ()
    return content, (f"The name suggests {name}, but the content is {content}. Read as {content}.",)


def mime_type_of_name(path: PurePath) -> str | None:
    """Return the MIME type that the file's name suggests."""
    try:
        return mime_type_by_name(str(path))
    except UnicodeEncodeError:  # the library accepts only names that are valid Unicode
        return mimetypes.guess_type(f"file{path.suffix}")[0]


def _is_text(mime_type: str) -> bool:
    return mime_type.startswith("text/") or mime_type.endswith(("+xml", "+json")) or mime_type in _TEXT


def _family(mime_type: str) -> str:
    return next((family for family in _FAMILIES if family in mime_type), mime_type)
