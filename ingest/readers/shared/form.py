"""Writes formatting that carries meaning as characters: raised, lowered and struck text, note marks, links.

The convention is documented for users in ``docs/formats.md``, section "Form that carries meaning".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple
from urllib.parse import urlsplit

_PLAIN = {"st", "nd", "rd", "th", "er", "re", "ère", "ème", "tm", "sm", "®", "™", "©", "ª", "º", "°", "'", "’", "*"}
"""Raised text that does not change what stands before it, such as the letters of ordinal numbers."""
_TOKEN = re.compile(r"[+\-−–]?[\w.,*†‡§′″∗]+[)\]]?|[+\-−–]")
_BRACKETED = re.compile(r"\[.*\]|\(.*\)|[⁰¹²³⁴-₟]+")
_PAGES = {"", "htm", "html", "xhtml", "php", "asp", "aspx", "jsp", "md", "markdown", "rst", "adoc"}
_SUFFIX = re.compile(r"\.(\w{1,5})$")


class Piece(NamedTuple):
    """Text with one formatting. ``shift`` is ``raised``, ``lowered`` or ``""``; ``address`` is a link target."""

    text: str
    shift: str = ""
    is_struck: bool = False
    address: str = ""


def write_pieces(pieces: Iterable[Piece]) -> str:
    """Write a sequence of pieces. Joins adjacent pieces of the same formatting: ``-`` and ``3`` give ``^-3``."""
    links = groupby(pieces, key=lambda piece: piece.address)
    return "".join(linked(_write_forms(group), address) for address, group in links)


def _write_forms(pieces: Iterable[Piece]) -> str:
    parts = []
    for (shift, is_struck), group in groupby(pieces, key=lambda piece: (piece.shift, piece.is_struck)):
        text = "".join(piece.text for piece in group)
        text = raised(text) if shift == "raised" else lowered(text) if shift == "lowered" else text
        parts.append(struck(text) if is_struck else text)
    return "".join(parts)


def raised(text: str) -> str:
    """Write raised text: ``6`` as ``^6``, ``n + 1`` as ``^(n + 1)``. Letters of ordinal numbers stay as they are."""
    return _shifted("^", text)


def lowered(text: str) -> str:
    """Write lowered text: ``2`` as ``_2``."""
    return _shifted("_", text)


def _shifted(sign: str, text: str) -> str:
    before, core, after = _split(text)
    if not core or core.lower() in _PLAIN or _BRACKETED.fullmatch(core) or core.startswith(sign):
        return text
    return f"{before}{sign}{core if _TOKEN.fullmatch(core) else f'({core})'}{after}"


def struck(text: str) -> str:
    """Write text that is struck out, and so no longer valid: ``~~4,500 EUR~~``, each line on its own."""
    return "\n".join(_struck_line(line) for line in text.split("\n"))


def _struck_line(line: str) -> str:
    before, core, after = _split(line)
    return f"{before}~~{core.replace('~~', '')}~~{after}" if core else line


def note_mark(text: str) -> str:
    """Write the mark of a note: ``1`` as ``[1]``, so that it is no digit of the number before it."""
    before, core, after = _split(text)
    return text if not core or _BRACKETED.fullmatch(core) else f"{before}[{core}]{after}"


def linked(text: str, address: str) -> str:
    """Write a link: its text, and its address in parentheses unless the text has it."""
    address = " ".join(address.split())
    bare = address.removeprefix("mailto:").removeprefix("tel:")
    if not address or bare.rstrip("/") in text or bare.partition("://")[2].rstrip("/") in text.split():
        return text
    before, core, after = _split(text)
    return f"{before}{core} ({bare}){after}" if core else text


def _split(text: str) -> tuple[str, str, str]:
    """Return the blanks before the text, the text, and the blanks after it."""
    core = text.strip()
    start = len(text) - len(text.lstrip())
    return (text[:start], core, text[start + len(core) :]) if core else ("", "", text)


def host_of(address: str) -> str:
    """Return the host of an address without ``www.``, or ``""``."""
    try:
        return (urlsplit(address).hostname or "").removeprefix("www.")
    except ValueError:  # an invalid address
        return ""


def is_useful_link(address: str, own_host: str = "") -> bool:
    """Return whether a reader of the text can use the address: it leads to a file, a mailbox or another site.

    Addresses of other pages of the same site, and of places in the document itself, only navigate.
    """
    address = address.strip()
    if address.lower().startswith(("mailto:", "tel:")):
        return True
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    suffix = _SUFFIX.search(parts.path)
    is_file = suffix is not None and suffix[1].lower() not in _PAGES and parts.scheme in ("", "http", "https", "ftp")
    host = host_of(address)
    return is_file or (parts.scheme in ("http", "https", "ftp") and bool(host) and host != own_host)
