"""Finds the title of a document: the title property of the file, if the first pages confirm it."""

from __future__ import annotations

from html import unescape

from ingest.document import Fact, FactSource
from ingest.facts.opening import WORD, Opening


def find_title(stated: str, opening: Opening) -> Fact | None:
    """Return the title property of the file, or None if the first pages lack one of its words.

    This rejects names of files and programs, such as "Microsoft Word - R1" and "EDGAR PDF".
    """
    title = " ".join(unescape(stated).split())
    words = WORD.findall(title.casefold())
    if not any(character.isalpha() for character in title):
        return None
    # In scripts without spaces, the title is one word that can be part of a longer word on the page.
    if not opening.words.issuperset(words) and "".join(words) not in opening.letters:
        return None
    return Fact(value=title, printed=title, quote=title, source=FactSource.PROPERTY)
