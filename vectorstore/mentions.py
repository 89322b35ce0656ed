"""Finds every passage that has one of several words or phrases, not only the best ones.

A single word is found in all inflections of the passage's language ("pump" also finds "pumps"), a number also with
signs for thousands and zeros behind its point (12499 also finds 12,499.00), a phrase as it is written. Upper and lower
case, white space, hyphens at line ends, typographic apostrophes and dashes, and compatibility forms make no difference.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import islice, takewhile

from vectorstore.models import Chunk, ChunkFilter, SearchMode
from vectorstore.qdrant_schema import chunk_language
from vectorstore.restrictions import normal, normal_texts, places
from vectorstore.store import EVERYTHING, Query, Searchable
from vectorstore.text.bm25 import Bm25Encoder, is_unspaced
from vectorstore.text.forms import core_of, token_forms
from vectorstore.text.languages import ENGLISH

_MOST_FOUND = 5_000
"""Passages. If more have a word, all passages are read, because a search returns only the best of them."""
_SEARCHED = 8
"""Words of a phrase: a search for each of thousands took minutes."""
_WORD = re.compile(r"[^\W_]+")
_ENDING = re.compile(r"e?|(?:e|i|ie)?s|(?:i?e)?d|ing|i?er|i?ers|i?est|y|is")
_CURRENCIES = "€$£¥"


class WantedWords:
    """Words and phrases to find in passages. Remembers the stems of the words that it compared."""

    def __init__(self, words: Iterable[str]) -> None:
        self._wanted = tuple(dict.fromkeys(filter(None, map(normal, words))))
        self._encoder = Bm25Encoder()
        self._stems: dict[tuple[str, str], frozenset[int]] = {}

    def forms_in(self, text: str, language: str) -> list[str]:
        """Return each place of a word or phrase in the text, as the text has it, in lower case."""
        texts = normal_texts(text)
        return [form for wanted in self._wanted for form in self._forms(wanted, texts, language)]

    def mentioned_in(self, chunk: Chunk) -> bool:
        """Return whether the passage has one of the words."""
        text = f"{chunk.header.text}\n{chunk.text}" if chunk.header else chunk.text
        return bool(self.forms_in(text, chunk_language(chunk)))

    def _forms(self, wanted: str, texts: Sequence[str], language: str) -> list[str]:
        if is_unspaced(wanted):
            return max(([wanted] * text.count(wanted) for text in texts), key=len)
        stems = self._stems_of(wanted, language) if _WORD.fullmatch(wanted) else frozenset()
        if not stems:
            return max((places(wanted, text) for text in texts), key=len)
        words = (
            [word for word in _WORD.findall(text) if self._inflects(word, wanted, language)]
            + (_in_other_forms(wanted, text, language) if wanted.isdecimal() else [])
            for text in texts
        )
        return max(words, key=len)

    def _inflects(self, word: str, wanted: str, language: str) -> bool:
        """Return whether the words have a stem in common and, in English, only endings of inflections behind it.

        English stemmers also join words of other meanings: several and severance, organ and organization.
        """
        if not self._stems_of(wanted, language) & self._stems_of(word, language):
            return False
        common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, wanted, strict=False)))
        last = word[common - 1 : common]
        endings = (each[common:].removeprefix(last) for each in (word, wanted))  # "stopped" doubles a letter
        return language != ENGLISH or all(map(_ENDING.fullmatch, endings))

    def _stems_of(self, word: str, language: str) -> frozenset[int]:
        if (word, language) not in self._stems:
            self._stems[word, language] = self._encoder.stems(word, language)
        return self._stems[word, language]

    def find(self, collection: Searchable, where: ChunkFilter = EVERYTHING) -> list[Chunk]:
        """Return every selected passage that has one of the words, in order of document name and position."""
        found: dict[str, Chunk] = {}
        for wanted in self._wanted:
            alone = WantedWords([wanted])
            passages = self._candidates(collection, wanted, where)
            found.update({chunk.id: chunk for chunk in passages if alone.mentioned_in(chunk)})
        return sorted(found.values(), key=lambda chunk: (chunk.name, chunk.document_id, chunk.index))

    def _candidates(self, collection: Searchable, wanted: str, where: ChunkFilter) -> Iterable[Chunk]:
        """Return the passages that have the rarest of the longest indexed words of a phrase, or all if none has any."""
        languages = collection.languages(exact=False)
        longest = sorted(dict.fromkeys(_WORD.findall(wanted)), key=len, reverse=True)
        words = (word for word in longest if all(self._encoder.stems(word, language) for language in languages))
        rankings = [
            collection.search(SearchMode.WORDS, Query(word), _MOST_FOUND, where) for word in islice(words, _SEARCHED)
        ]
        complete = [hits for hits in rankings if len(hits) < _MOST_FOUND]
        return [hit.chunk for hit in min(complete, key=len)] if complete else collection.scan(where)


def _in_other_forms(number: str, text: str, language: str) -> list[str]:
    """Return the words that are the number, but do not have its digits in a row."""
    words = (core_of(word).strip(_CURRENCIES) for word in text.split())
    return [word for word in words if number not in _WORD.findall(word) and number in token_forms(word, language).whole]
