"""The title of a document as its file states it, if the first pages bear it out."""

from __future__ import annotations

from ingest.document import Fact, FactSource
from ingest.facts.opening import WORD, Opening


def find_title(stated: str, opening: Opening) -> Fact | None:
    """Return the title that the file states, or None unless all of its words stand on the first pages.

    "Microsoft Word - R1" and "EDGAR PDF" are names of files and programs: no page has them.
    """
    title = " ".join(stated.split())
    words = WORD.findall(title.casefold())
    if not any(character.isalpha() for character in title):
        return None
    # In scripts without spaces, the title is one word, and a part of a longer one on the page.
    if not opening.words.issuperset(words) and "".join(words) not in opening.letters:
        return None
    return Fact(value=title, printed=title, quote=title, source=FactSource.PROPERTY)
