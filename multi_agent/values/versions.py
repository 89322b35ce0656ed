"""Finds documents that are versions of each other: by title or name, by their sentences, and by their dates."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import ceil
from pathlib import PurePath
from typing import Any

from multi_agent.library import CatalogueEntry
from vectorstore.models import Chunk, ChunkKind
from vectorstore.text.sentences import units_in

_ALIKE = 0.7
"""The least share of common sentences and table rows of two versions."""
_COMMON = ("issuer", "period")
"""Facts in which versions do not differ. Reports on two years are no versions."""
_LISTED = 12  # versions that are named of many
_WORD, _NUMBER = re.compile(r"[^\W\d_]+"), re.compile(r"\d+")
_SIGNS: tuple[Callable[[CatalogueEntry], Any], ...] = (
    lambda entry: entry.stated,
    lambda entry: tuple(map(int, _NUMBER.findall(PurePath(entry.name).stem))),
    lambda entry: str(entry.metadata.get("modified_at", "")),
    lambda entry: entry.changed,
)
"""The age of a version: stated date, numbers in its name, modification date in its properties, date of the file."""

Scan = Callable[[Sequence[str]], Iterable[Chunk]]
"""Returns the passages of the documents with these ids."""


def newest(entries: Sequence[CatalogueEntry], scan: Scan) -> tuple[tuple[CatalogueEntry, ...], dict[str, str]]:
    """Return the documents without older versions, and the older versions: the newest name by the older name."""
    older = {
        entry.id: (entry.name, versions[-1][1].name)
        for versions in find_versions(entries, scan)
        for age, entry in versions
        if age < versions[-1][0]
    }
    return tuple(entry for entry in entries if entry.id not in older), dict(older.values())


def left_out(older: Mapping[str, str]) -> str:
    """Return the older versions that were left out, in words. Empty if there are none."""
    names = ", ".join(f"{name} (newest: {last})" for name, last in [*older.items()][:_LISTED])
    more = f" and {len(older) - _LISTED} more" if len(older) > _LISTED else ""
    return f"Older versions left out: {names}{more}" if older else ""


def find_versions(entries: Sequence[CatalogueEntry], scan: Scan) -> Iterator[list[tuple[Any, CatalogueEntry]]]:
    """Yield the versions of each document that has several, oldest first, each with its age.

    The age is what all versions have of the signs. Versions of the same age, such as copies, are equally new.
    """
    named: defaultdict[str, list[CatalogueEntry]] = defaultdict(list)
    for entry in entries:
        words = _WORD.findall(PurePath(entry.name).stem)[:1]
        for name in {f"title {entry.title}" if entry.title else "", *words} - {""}:
            named[name.casefold()].append(entry)
    several = [group for group in named.values() if len(group) > 1]
    together = {entry.id: [entry] for group in several for entry in group}
    sentences: defaultdict[str, set[str]] = defaultdict(set)
    for chunk in scan(list(together)) if together else ():
        spans = units_in(chunk.text, 0, code=chunk.kind is ChunkKind.CODE)
        sentences[chunk.document_id] |= {" ".join(chunk.text[start:end].split()).casefold() for start, end in spans}
    for one, other in (pair for group in several for pair in _alike(group, sentences)):
        if together[one] is not together[other]:
            together[one] += together[other]
            together.update(dict.fromkeys((entry.id for entry in together[other]), together[one]))
    for versions in {id(group): group for group in together.values() if len(group) > 1}.values():
        signs = [sign for sign in _SIGNS if all(map(sign, versions))]
        yield sorted(((tuple(sign(entry) for sign in signs), entry) for entry in versions), key=lambda pair: pair[0])


def _alike(group: Sequence[CatalogueEntry], sentences: Mapping[str, set[str]]) -> Iterator[tuple[str, str]]:
    """Yield the ids of each two documents with enough common sentences.

    Two such documents have one of their rarer sentences in common, so only documents with a common one are compared.
    """
    known = Counter(sentence for entry in group for sentence in sentences[entry.id])
    having: defaultdict[str, list[CatalogueEntry]] = defaultdict(list)
    for entry in group:
        own = sentences[entry.id]
        rarest = sorted(own, key=lambda sentence: (known[sentence], sentence))
        rarest = rarest[: len(own) - ceil(len(own) * _ALIKE / (2 - _ALIKE)) + 1]
        for other in {other.id: other for sentence in rarest for other in having[sentence]}.values():
            stated = [{each.metadata[name] for each in (entry, other) if name in each.metadata} for name in _COMMON]
            common = 2 * len(own & sentences[other.id]) / (len(own) + len(sentences[other.id]))
            if common >= _ALIKE and not any(len(values) > 1 for values in stated):
                yield other.id, entry.id
        for sentence in rarest:
            having[sentence].append(entry)
