"""BM25 term weights from Qdrant's own encoder, for both stores.

Passages: words are stemmed and stop words are dropped in the passage's language. Words of a language without a stemmer
are unchanged. Scripts without spaces between words are indexed by character bigrams.

Queries: a query is encoded in every language of the collection, because a few words are not enough to detect a language
reliably. The stop words of its most likely language are dropped first. They would be rare words in the other languages,
and the few passages that contain them would rank first.

The encoder computes term frequency and length; the index computes the inverse document frequency (IDF).
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import zip_longest
from typing import NamedTuple

import qdrant_edge as qdrant

from vectorstore.text.dates import MONTH
from vectorstore.text.forms import NAME, Forms, compounds, core_of, fold, forms, is_code, token_forms
from vectorstore.text.languages import STEMMERS, detect_query

# Han with its extensions, kana, Thai, Lao, Myanmar, Khmer.
_UNSPACED = re.compile(
    "[\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)

ANALYSIS = "words-v7"
"""The version of the analysis. A collection of another version is indexed again from its stored texts."""

_COMPATIBLE = re.compile(
    "[\u0660-\U0010ffff](?:(?<=\\d)|"
    "(?<=[\u2103\u2109\u3200-\u33ff\uff01-\uff5e\uff65-\uff9f])[\u2103\u2109\u3200-\u33ff\uff01-\uff5e\uff65-\uff9f]*)"
)
"""Digits of other scripts, characters that stand for several (℃, ㎡, ㈱), half-width katakana, and letters, digits and
signs as wide as a Chinese character."""
_NOTE_MARK = re.compile(r"\[(?<=\w.)\d{1,3}\]")

# The average number of terms of a chunk, for BM25's length normalization: 61 to 86 in the English sets of
# benchmarks/README.md, and about twice as many with stop words or character bigrams. With Qdrant's default of 256,
# nearly every chunk counts as short, and length hardly lowers a score.
_AVERAGE_TERMS = 75.0
_FOLDED = 0.25  # with 1, a word with an umlaut would outweigh two others
_AVERAGE_TERMS_WITH_STOP_WORDS = 150.0
_SATURATION = 1.2  # BM25's k
_MOST = _SATURATION + 1
_ONCE = "qzx0once0xzq"  # a word that no text has, added to each; its weight shows the length of the text


class QueryWord(NamedTuple):
    """A word of a query. Its terms are indices of the encoder."""

    text: str
    terms: tuple[int, ...]
    """A passage has the word if it has one of these."""
    is_code: bool
    """Whether it looks like an identifier: a number, a code, a version, a name with signs."""
    parts: tuple[int, ...] = ()
    """Terms of the word's parts, and of the word joined with the next one."""
    folded: frozenset[int] = frozenset()
    """The ``terms`` with other letters, such as u for ü. They count less than the word as it is written."""
    share: float = 0.0
    """The word's share of the model's attention to the query."""
    name: tuple[int, ...] = ()
    """The index terms of two-word names that contain this word: with the next word, and with the stop word before."""
    before: str = ""
    """The stop word before this word, if both are capitalised: All in "All India"."""


class Bm25Encoder:
    """Encodes text as sparse vectors for an index with the IDF modifier. Threads may share it."""

    def passage(self, text: str, language: str) -> qdrant.SparseVector:
        """Return the terms of a passage, weighted by frequency and length.

        Other forms of its words have the weights of words, and do not lengthen it: a table of figures has many.
        """
        text, model = _prepared(text), _model(STEMMERS.get(language))
        written, length = _weights(model, _with_bigrams(text))
        others, own_length = _weights(model, " ".join(forms(text, language)))
        for term, weight in others.items():
            times = weight * own_length / (_MOST - weight)
            written.setdefault(term, _MOST * times / (times + length))
        return qdrant.SparseVector(list(written), list(written.values()))

    def stems(self, word: str, language: str) -> frozenset[int]:
        """Return the terms of a word in a passage of this language. Empty for a stop word, which is not indexed."""
        return frozenset(_model(STEMMERS.get(language)).embed_query(_with_bigrams(_prepared(word))).indices)

    def words(self, text: str, passages: Mapping[str, int]) -> list[QueryWord]:
        """Return the words of a query with their terms in all languages of ``passages`` (number by language).

        Leaves out the stop words of the query's most likely language, and repeated words.
        """
        text = _prepared(text)
        language = detect_query(text, passages)
        encoder = _QueryEncoder(language, _model(STEMMERS.get(language)), _models(passages))
        return list({word.text: word for word in encoder.words(text)}.values())

    def respelt(self, word: QueryWord, spellings: Sequence[str], passages: Mapping[str, int]) -> QueryWord:
        """Encode other spellings of a word as one query word."""
        found = _all_terms(_models(passages), spellings)
        return QueryWord(word.text, found, is_code=False, share=word.share)

    def query(self, words: Sequence[QueryWord]) -> qdrant.SparseVector:
        """Return the terms of a query. Those with folded letters have a lower weight, the others 1."""
        folded = {index for word in words for index in word.folded}
        written = {index for word in words for index in (*word.terms, *word.parts)} - folded
        weights = dict.fromkeys(folded, _FOLDED) | dict.fromkeys(written, 1.0)
        terms = sorted(weights)
        return qdrant.SparseVector(terms, [weights[term] for term in terms])


class _QueryEncoder(NamedTuple):
    language: str
    likely: qdrant.Bm25
    models: Sequence[qdrant.Bm25]

    def words(self, text: str) -> Iterator[QueryWord]:
        end = 0
        for span in sorted(compounds(text, self.language), key=lambda span: (span.start, -span.end)):
            if span.start >= end:
                yield from self._plain(text[end : span.start])
                yield self._compound(text[span.start : span.end], span.forms)
                end = span.end
        yield from self._plain(text[end:])

    def _compound(self, text: str, forms: Forms) -> QueryWord:
        named = bool(forms.whole) and not MONTH.fullmatch(forms.whole[0])  # a month is no identifier
        return QueryWord(text, self._terms(*forms.whole), named, self._terms(text, *forms.parts))

    def _plain(self, text: str) -> Iterator[QueryWord]:
        tokens, before = _with_bigrams(text).split(), ""
        for token, following in zip_longest(tokens, tokens[1:], fillvalue=""):
            core, forms = core_of(token), token_forms(token, self.language)
            if not forms.whole and self._is_stop_word(token):
                before = core
                continue
            folded, others = fold(core), frozenset[int]()
            if folded.isalnum() or not forms.whole:
                terms, parts = self._terms(token, *forms.whole), self._terms(*forms.parts)
                others = frozenset(terms).difference(self._terms(token))
            else:
                terms, parts = self._terms(*forms.whole), self._terms(token, *forms.parts)
            joined = fold(core + core_of(following))
            is_joint = following and joined.isalnum() and not self._is_stop_word(following)
            names = [NAME + joined] * bool(is_joint) + [NAME + fold(before + core)] * bool(before)
            name = self._terms(*names) if names else ()
            leader, before = before if before[:1].isupper() and core[:1].isupper() else "", ""
            joint = self._terms(joined) if is_joint and joined.isascii() else ()
            yield QueryWord(core or token, terms, is_code(folded), (*parts, *joint), others, name=name, before=leader)

    def _is_stop_word(self, token: str) -> bool:
        return not self.likely.embed_query(token).indices

    def _terms(self, *words: str) -> tuple[int, ...]:
        return _all_terms(self.models, words)


def _weights(model: qdrant.Bm25, text: str) -> tuple[dict[int, float], float]:
    """Return the weights of the terms of a text, and what its length adds to the frequency in BM25's quotient.

    weight = _MOST · frequency / (frequency + length)
    """
    vector = model.embed_document(f"{text} {_ONCE}")
    weights = dict(zip(vector.indices, vector.values, strict=True))
    return weights, _MOST / weights.pop(*model.embed_query(_ONCE).indices) - 1


def _all_terms(models: Sequence[qdrant.Bm25], words: Sequence[str]) -> tuple[int, ...]:
    text = " ".join(words)
    return tuple(sorted({index for model in models for index in model.embed_query(text).indices}))


def _models(passages: Mapping[str, int]) -> list[qdrant.Bm25]:
    return [_model(stemmer) for stemmer in sorted({STEMMERS.get(each) for each in passages}, key=str)]


@cache
def _model(stemmer: str | None) -> qdrant.Bm25:
    if stemmer:
        return qdrant.Bm25(qdrant.Bm25Config(k=_SATURATION, language=stemmer, avg_len=_AVERAGE_TERMS + 1))
    return qdrant.Bm25(
        qdrant.Bm25Config(
            k=_SATURATION,
            stemmer=qdrant.DisabledStemmer(),
            stopwords=qdrant.StopwordsSet(),
            avg_len=_AVERAGE_TERMS_WITH_STOP_WORDS + 1,
        )
    )


def _prepared(text: str) -> str:
    """Return the text with composed and narrow characters, and with the marks of notes apart: ``500 [1]``."""
    if not text.isascii():
        text = _COMPATIBLE.sub(_plain_form, text)
        text = unicodedata.normalize("NFC", text)
    return _NOTE_MARK.sub(r" \g<0>", text)


def _plain_form(found: re.Match[str]) -> str:
    return str(unicodedata.decimal(found[0])) if found[0].isdecimal() else unicodedata.normalize("NFKC", found[0])


def is_unspaced(text: str) -> bool:
    """Return whether the text has a script without spaces between words."""
    return bool(_UNSPACED.search(text))


def _with_bigrams(text: str) -> str:
    """Replace each run of a script without spaces by its overlapping character bigrams."""
    if text.isascii():
        return text
    return _UNSPACED.sub(lambda run: f" {' '.join(_bigrams(run.group()))} ", text)


def _bigrams(run: str) -> list[str]:
    """Return the bigrams without vowel and tone signs, some of which the encoder treats as word boundaries."""
    letters = "".join(character for character in run if unicodedata.category(character) not in ("Mn", "Mc"))
    return [letters[start : start + 2] for start in range(max(len(letters) - 1, 1))]
