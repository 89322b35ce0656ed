"""Language detection with py3langid, and the languages that BM25 has stemmers for.

Languages are ISO 639-1 codes. The detection model is part of the package, and its results are deterministic. Owns all
use of py3langid.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping, Set
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

MULTILINGUAL = "`candor models use embedding multilingual-small`, then ingest again"
"""Instruction to switch to the multilingual model, for messages."""

LANGUAGE = "language"
"""The metadata key of the language of documents and chunks."""

ENGLISH = "en"
"""The default for texts without a language."""

STEMMERS: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
"""Languages with a stemmer and stop words in Qdrant's BM25, and Qdrant's names for them."""

# Languages that documents are likely to be in. The detector knows 140 more and wrongly assigns short texts and lists of
# names to them: "Boil the lentils for 20 minutes." would be Nigerian Pidgin.
_DETECTED = [
    *STEMMERS, "bg", "bn", "ca", "cs", "et", "fa", "he", "hi", "hr", "id", "is", "ja", "ka", "kk", "km", "ko", "lo",
    "lt", "lv", "mn", "ms", "my", "ne", "pl", "sk", "sl", "sq", "sr", "ta", "te", "th", "tl", "uk", "ur", "uz",
    "vi", "zh",
]  # fmt: skip
_WRITTEN = {"nb": "no", "nn": "no"}  # languages that the detector cannot tell apart in a short text
_loading = Lock()
_SURE = 0.99
_MIN_LETTERS = 12  # numbers, codes and names do not show a language
_DETECTED_WRONGLY = 0.01  # at most this share of texts: 1 of 1,054 English passages counted as Serbian
_SAMPLE = 5000  # characters; detection takes a few milliseconds


def detect(text: str) -> str:
    """Return the language of a document's text; empty if it has too few letters."""
    sample = text[:_SAMPLE]
    if sum(character.isalpha() for character in sample) < _MIN_LETTERS:
        return ""
    language: str = _identifier().rank(sample)[0][0]
    return language


def detect_query(query: str, chunks: Mapping[str, int]) -> str:
    """Return the most likely language of a query among the languages of ``chunks`` (language to number of chunks).

    A query is short, so its score for each language is combined with the language's share of the chunks.
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


def detect_surely(query: str) -> str:
    """Return the language of a query; empty unless it is at least 99 % likely.

    Of 6,478 English questions of benchmark sets, none is taken for another language, and 41 are not sure.
    """
    ranked = _identifier().rank(query)
    best = float(ranked[0][1])
    sure = 1 / sum(math.exp(float(score) - best) for _, score in ranked) >= _SURE
    return _WRITTEN.get(ranked[0][0], ranked[0][0]) if sure else ""


def language_note(query: str, passages: Mapping[str, int], known: Set[str] | None) -> str:
    """Return what to do if the query is in another language than all passages, otherwise an empty text.

    ``passages`` has the number of passages by language, ``known`` the languages of the embedding model (None: unknown).
    """
    asked = detect_surely(query)
    if not asked or not passages or asked in {_WRITTEN.get(each, each) for each in passages}:
        return ""
    written = name_languages(passages)
    knows = f"knows {name_languages(known)}" if known else "may not know both"
    return (
        f"The question is in {name_languages([asked])}, the documents are in {written}, the embedding model {knows}, "
        f"so little is found. Ask in {written}, or choose a multilingual model: {MULTILINGUAL}."
    )


def unsupported(texts: Mapping[str, int], known: Set[str] | None) -> dict[str, int]:
    """Return the languages that the embedding model does not support, with their numbers of texts.

    The arguments are those of ``language_note``. A language of a few texts is not named: it may be detected wrongly.
    """
    fewest = _DETECTED_WRONGLY * sum(texts.values())
    return {each: number for each, number in texts.items() if known and each and each not in known and number > fewest}


def unknown_note(passages: Mapping[str, int], known: Set[str] | None) -> str:
    """Return a note about passages in languages that the embedding model does not support, or an empty text."""
    unknown = unsupported(passages, known)
    if not unknown:
        return ""
    return (
        f"The embedding model does not support {name_languages(unknown)} ({sum(unknown.values()):,} of "
        f"{sum(passages.values()):,} passages): a search finds the words of these passages, not their meaning. A "
        f"multilingual model finds both: {MULTILINGUAL}."
    )


def name_languages(languages: Iterable[str]) -> str:
    """Return the English names of languages: ``English, German``."""
    from babel import Locale

    names = Locale("en").languages
    return ", ".join(sorted(str(names.get(each, each)) for each in languages))


def _identifier() -> LanguageIdentifier:
    with _loading:  # the first searches of a service come together, and each would load the model
        return _load_identifier()


@cache
def _load_identifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages(sorted(set(_DETECTED) & set(identifier.nb_classes)))
    return identifier
