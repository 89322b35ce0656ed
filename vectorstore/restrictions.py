"""What a person's query demands of a passage: phrases in quotes stand in it, and words after a minus do not.

    parse('"heat pump" price -used')   # text 'heat pump price', phrase 'heat pump', without 'used'

White space, upper and lower case, hyphens at line ends, typographic apostrophes and dashes, and compatibility forms
such as ligatures make no difference.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from vectorstore.models import Chunk
from vectorstore.text.forms import BROKEN, TYPOGRAPHIC

_PHRASE = re.compile(r"[\"“”„«»]([^\"“”„«»]*\w[^\"“”„«»]*)[\"“”„«»]")
_EXCLUDED = re.compile(r"(?:^|(?<=\s))-([^\W\d][\w'’-]+)(?!\S)")


class Restrictions(NamedTuple):
    """The free words of a query, and what the passages must and must not contain, in normal form."""

    text: str
    """The words to rank by, including those of the phrases."""
    phrases: tuple[str, ...]
    excluded: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.phrases or self.excluded)

    def allow(self, chunk: Chunk) -> bool:
        """Return whether the text of the passage meets the restrictions."""
        texts = normal_texts(f"{chunk.header.text}\n{chunk.text}" if chunk.header else chunk.text)
        return all(_contains(texts, each) for each in self.phrases) and not any(
            _contains(texts, each) for each in self.excluded
        )


def parse(query: str) -> Restrictions:
    """Return the restrictions of a query. An unbalanced quote, and a minus before a number, restrict nothing."""
    phrases = tuple(normal(found) for found in _PHRASE.findall(query))
    outside = _PHRASE.sub(" ", query)
    excluded = tuple(normal(found) for found in _EXCLUDED.findall(outside))
    if not phrases and not excluded:
        return Restrictions(query, (), ())
    text = _PHRASE.sub(r"\1", query)
    for found in _EXCLUDED.findall(outside):
        text = re.sub(rf"(?:^|(?<=\s))-{re.escape(found)}(?!\S)", " ", text)
    return Restrictions(" ".join(text.split()), phrases, excluded)


def normal(text: str) -> str:
    """Return the text in normal form."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().translate(TYPOGRAPHIC).split())


def normal_texts(text: str) -> list[str]:
    """Return the text in normal form, in each way to read its hyphens at line ends."""
    return [normal(each) for each in dict.fromkeys((text, BROKEN.sub("-", text), BROKEN.sub("", text)))]


def places(phrase: str, text: str) -> list[str]:
    """Return each place of the phrase in the text, both in normal form, where no letter or digit touches it."""
    return re.findall(rf"(?<!\w){re.escape(phrase)}(?!\w)", text)


def _contains(texts: Sequence[str], phrase: str) -> bool:
    return any(places(phrase, text) for text in texts)
