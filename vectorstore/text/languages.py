"""Which language a text is in, and what the word search knows about each language.

Languages are named by their two letters (ISO 639-1). Detection is py3langid's: its model comes with the package, and
the same text gives the same language every time. Owns all use of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

LANGUAGE = "language"
"""Where the metadata of documents and chunks names it."""

ENGLISH = "en"
"""What a text is taken for whose language nobody has said."""

STEMMERS = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "nb": "norwegian",
    "nn": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
}
"""The languages that Qdrant's BM25 has a stemmer and stop words for, by Qdrant's names."""

# Languages that a document is likely to be written in. The detector knows 140 more, and takes short texts and lists of
# names for them: "Boil the lentils for 20 minutes." for Nigerian Pidgin.
_DETECTED = [
    *STEMMERS, "bg", "bn", "ca", "cs", "et", "fa", "he", "hi", "hr", "id", "is", "ja", "ka", "kk", "km", "ko", "lo",
    "lt", "lv", "mn", "ms", "my", "ne", "pl", "sk", "sl", "sq", "sr", "ta", "te", "th", "tl", "uk", "ur", "uz",
    "vi", "zh",
]  # fmt: skip
_FEWEST_LETTERS = 12  # numbers, codes and names say nothing about a language
_SAMPLE = 5000  # characters are more than enough, and take a few milliseconds


def detect(text: str) -> str:
    """The language of a document's text; empty if there are too few words to tell."""
    sample = text[:_SAMPLE]
    if sum(character.isalpha() for character in sample) < _FEWEST_LETTERS:
        return ""
    language: str = _identifier().rank(sample)[0][0]
    return language


def detect_query(query: str, chunks: Mapping[str, int]) -> str:
    """The language of a query to passages of which there are so many per language.

    A query is short, so that it is only asked which of these languages it is in, and the usual one is the likelier.
    """
    if len(chunks) < 2:
        return next(iter(chunks), ENGLISH)
    total = sum(chunks.values())
    scores = dict(_identifier().rank(query))
    known = {
        language: float(scores[language]) + math.log(count / total)
        for language, count in sorted(chunks.items())
        if language in scores
    }
    return max(known, key=lambda language: known[language], default=ENGLISH)


@cache
def _identifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages(sorted(set(_DETECTED) & set(identifier.nb_classes)))
    return identifier
