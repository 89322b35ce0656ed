"""BM25 term weights: Qdrant's own encoder, used by both stores so that both rank alike.

Passages are stemmed, and stop words dropped, in their own language; of a language without stemmer, words are taken as
they stand. A query is encoded in every language of the collection, since a few words do not tell theirs for certain:
the stems of a language only meet passages in it. The stop words of its own, as far as that can be told, are left out of
all: in any other language they are words, and rare ones, which the few passages that hold them would win by. Scripts
that put no spaces between words are indexed by pairs of characters, whatever the language. How often a term stands in a
passage is weighed here; how rare it is in the collection (IDF) is left to the index, which knows it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache

import qdrant_edge as qdrant

from vectorstore.text.languages import STEMMERS, detect_query

# Han with its extensions, kana, Thai, Lao, Myanmar, Khmer.
_UNSPACED = re.compile(
    "[\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)

# How many terms a chunk has on average, to which BM25 compares its length: 61 to 86 over the English sets of
# benchmarks/README.md, and about twice as many where stop words are kept, or pairs of characters counted. Qdrant takes
# 256 unless told otherwise; to that, nearly every chunk is short, and one that is full of other words loses too little.
_TERMS = 75.0
_TERMS_UNSTOPPED = 150.0


class Bm25Encoder:
    """Turns text into sparse vectors for an index with the IDF modifier. Safe to use from several threads."""

    def passage(self, text: str, language: str) -> qdrant.SparseVector:
        """Terms of a passage, weighed by frequency and length."""
        return _model(STEMMERS.get(language)).embed_document(_with_pairs(text))

    def query(self, text: str, passages: Mapping[str, int]) -> qdrant.SparseVector:
        """Terms of a query to so many passages per language, as those in any of the languages have them, each once."""
        own = _model(STEMMERS.get(detect_query(text, passages)))
        said = " ".join(word for word in _with_pairs(text).split() if own.embed_query(word).indices)
        stemmers = {STEMMERS.get(language) for language in passages}
        terms = sorted({index for stemmer in stemmers for index in _model(stemmer).embed_query(said).indices})
        return qdrant.SparseVector(terms, [1.0] * len(terms))


@cache
def _model(stemmer: str | None) -> qdrant.Bm25:
    if stemmer:
        return qdrant.Bm25(qdrant.Bm25Config(language=stemmer, avg_len=_TERMS))
    return qdrant.Bm25(
        qdrant.Bm25Config(stemmer=qdrant.DisabledStemmer(), stopwords=qdrant.StopwordsSet(), avg_len=_TERMS_UNSTOPPED)
    )


def _with_pairs(text: str) -> str:
    """The text with each run of a script without spaces as its overlapping pairs of characters."""
    return _UNSPACED.sub(lambda run: f" {' '.join(_pairs(run.group()))} ", text)


def _pairs(run: str) -> list[str]:
    """Vowel and tone signs are left out: the encoder's tokenizer would take some of them for the ends of words."""
    letters = "".join(character for character in run if unicodedata.category(character) not in ("Mn", "Mc"))
    return [letters[start : start + 2] for start in range(max(len(letters) - 1, 1))]
