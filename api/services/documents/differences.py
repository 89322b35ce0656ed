"""Compares two documents section by section, without a model.

Sections belong together by their heading, or else by what they say. Their sentences, list entries and table rows are
compared with difflib. ``meaning.py`` asks a model what the changes mean.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, Literal, NamedTuple

from pydantic import Field

from base.models import FrozenModel
from ingest.document import CAPTION, BlockKind
from ingest.ledger.records import DocumentText
from vectorstore.text.sentences import units_in

Kind = Literal["added", "removed", "changed"]
Span = tuple[int, int]
"""Start and end offsets in the parsed text of the document."""
_ALIKE = 0.5
"""The least share of common words of two sentences, or of two sections with different headings, that are a pair."""
_AHEAD = 50
"""How many sentences of the old document are compared with one of the new document."""
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*(?:\s?%)?")
_WORD = re.compile(r"\w+")
_ORDINAL = re.compile(r"^\W*(?:\d{1,2}(?:\.\d{1,2})*[.)]?|\w[.)])\s+(?=\w)")
"""The number before a heading, such as ``4.2`` or ``b)``. It changes when a section is added before it."""


class Change(FrozenModel):
    """A sentence, list entry or table row that only one document has, or that differs."""

    kind: Kind
    old: str = ""
    new: str = ""
    old_page: int | None = None
    new_page: int | None = None
    old_span: Span | None = None
    new_span: Span | None = None
    numbers: tuple[tuple[str, str], ...] = Field(
        default=(), description="Pairs of the old and the new number. Empty for a number that only one of them has."
    )


class SectionDifference(FrozenModel):
    """A section that differs, with its changes. A section that only moved has none."""

    kind: Literal[Kind, "moved"]
    heading: str = Field(description="Its headings, outermost first. Empty before the first heading.")
    old_heading: str = Field(default="", description="In the old document, if it is another one.")
    moved: bool = Field(default=False, description="Whether it stands at another place among the sections.")
    changes: tuple[Change, ...] = ()


class Meaning(FrozenModel):
    """An explanation of changes, written by a model that read only these changes."""

    text: str
    checked: str = Field(description="How the text was checked against the words of both sides.")
    heading: str
    changes: tuple[Change, ...] = Field(min_length=1, description="The changes that it cites.")


class Differences(FrozenModel):
    """What an old document and a new one do not have in common."""

    old: str
    new: str
    old_id: str = ""
    new_id: str = ""
    sections: tuple[SectionDifference, ...] = Field(description="In the order of the new document, removed ones last.")
    unchanged: int = Field(description="Number of sections that are the same.")
    warnings: tuple[str, ...] = Field(default=(), description="What was not read of the documents, with their names.")
    meanings: tuple[Meaning, ...] = Field(default=(), description="Empty if no model was asked.")
    not_kept: tuple[str, ...] = Field(default=(), description="Explanations that the cited changes do not support.")


class _Unit(NamedTuple):
    text: str
    page: int | None
    span: Span

    def old(self) -> dict[str, Any]:
        return {"old": self.text, "old_page": self.page, "old_span": self.span}

    def new(self) -> dict[str, Any]:
        return {"new": self.text, "new_page": self.page, "new_span": self.span}


class _Section(NamedTuple):
    path: tuple[str, ...]
    units: list[_Unit]

    def key(self, depth: int | None = None) -> tuple[str, ...]:
        """Return its headings without their numbers, or only as many of the innermost ones."""
        names = tuple(_ORDINAL.sub("", each).casefold() for each in self.path)
        return names if depth is None else names[len(names) - depth :]

    @property
    def words(self) -> frozenset[str]:
        return _words(" ".join(unit.text for unit in self.units))

    @property
    def heading(self) -> str:
        return " › ".join(self.path)


def compare_texts(old: DocumentText, new: DocumentText, old_name: str, new_name: str) -> Differences:
    """Return what was added, removed, changed and moved from the old text to the new one."""
    before, after = _sections(old), _sections(new)
    pairs = _pairs(before, after)
    moved = _moved(pairs)
    found = []
    for place, section in enumerate(after):
        if place not in pairs:
            found.append(_alone("added", section))
            continue
        earlier = before[pairs[place]]
        changes = tuple(_changes(earlier.units, section.units))
        renamed = earlier.key(1) != section.key(1)
        if changes or renamed or place in moved:
            found.append(
                SectionDifference(
                    kind="changed" if changes or renamed else "moved",
                    heading=section.heading,
                    old_heading=earlier.heading if renamed else "",
                    moved=place in moved,
                    changes=changes,
                )
            )
    unchanged = len(after) - len(found)
    kept = set(pairs.values())
    found += [_alone("removed", section) for place, section in enumerate(before) if place not in kept]
    return Differences(old=old_name, new=new_name, sections=tuple(found), unchanged=unchanged)


def _sections(text: DocumentText) -> list[_Section]:
    """Return the sections with their own sentences. A heading without any is none, unless no section is below it."""
    sections = [_Section((), [])]
    levels: list[tuple[int, str]] = []
    pages = iter([*text.pages, None])
    page = next(pages)
    for block in text.blocks:
        if block.kind is BlockKind.CONTENTS:
            continue
        words = text.text[block.start : block.end]
        if block.kind is BlockKind.HEADING and block.level != CAPTION:
            levels = [each for each in levels if each[0] < block.level]
            levels.append((block.level, " ".join(words.lstrip("# ").split())))
            sections.append(_Section(tuple(heading for _, heading in levels), []))
            continue
        for start, end in units_in(words, block.start, code=block.kind is BlockKind.CODE):
            while page and page.end <= start:
                page = next(pages)
            unit = _Unit(" ".join(text.text[start:end].split()), page.number if page else None, (start, end))
            sections[-1].units.append(unit)
    following = [*sections[1:], _Section((), [])]
    return [
        each
        for each, after in zip(sections, following, strict=True)
        if each.units or (each.path and after.path[: len(each.path)] != each.path)
    ]


def _pairs(before: Sequence[_Section], after: Sequence[_Section]) -> dict[int, int]:
    """Return the place of each section in the old document, by its place in the new one.

    Sections that say about the same are pairs, first those with the same headings. Then those with the same headings
    or the same last heading are pairs, whatever they say. Of several, the one with the most common words is taken.
    """
    pairs: dict[int, int] = {}
    free = dict.fromkeys(range(len(before)))
    old_words, new_words = [each.words for each in before], [each.words for each in after]
    for depth, least in ((None, _ALIKE), (0, _ALIKE), (None, 0.0), (1, 0.0)):
        candidates: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        for place in free:
            candidates[before[place].key(depth)].append(place)
        scored = [
            (_likeness(old_words[old], new_words[new]), -abs(old - new), new, old)
            for new, section in enumerate(after)
            if new not in pairs
            for old in candidates[section.key(depth)]
        ]
        for score, _, new, old in sorted(scored, reverse=True):
            if score >= least and new not in pairs and old in free:
                pairs[new] = old
                del free[old]
    return pairs


def _moved(pairs: dict[int, int]) -> set[int]:
    """Return the places of the sections that do not keep the order of the others."""
    order = [pairs[place] for place in sorted(pairs)]
    kept = SequenceMatcher(None, sorted(order), order, autojunk=False).get_matching_blocks()
    steady = {number for block in kept for number in order[block.b : block.b + block.size]}
    return {new for new, old in pairs.items() if old not in steady}


def _changes(old: Sequence[_Unit], new: Sequence[_Unit]) -> Iterator[Change]:
    for tag, *spans in SequenceMatcher(None, [unit.text for unit in old], [unit.text for unit in new]).get_opcodes():
        if tag != "equal":
            yield from _replaced(old[spans[0] : spans[1]], new[spans[2] : spans[3]])


def _replaced(old: Sequence[_Unit], new: Sequence[_Unit]) -> Iterator[Change]:
    """Yield the changes of sentences that stand for each other. Each is compared with the next ones, in order."""
    known, done = [_words(unit.text) for unit in old], 0
    for unit in new:
        words, ahead = _words(unit.text), range(done, min(done + _AHEAD, len(old)))
        likeness, at = max(((_likeness(known[place], words), -place) for place in ahead), default=(0.0, 0))
        if likeness < _ALIKE:
            yield Change(kind="added", **unit.new())
            continue
        yield from _removed(old[done:-at])
        earlier, done = old[-at], 1 - at
        numbers = tuple(_numbers(earlier.text, unit.text))
        yield Change(kind="changed", **earlier.old(), **unit.new(), numbers=numbers)
    yield from _removed(old[done:])


def _removed(units: Sequence[_Unit]) -> Iterator[Change]:
    return (Change(kind="removed", **unit.old()) for unit in units)


def _numbers(old: str, new: str) -> Iterator[tuple[str, str]]:
    olds, news = _NUMBER.findall(old), _NUMBER.findall(new)
    for tag, *spans in SequenceMatcher(None, olds, news).get_opcodes():
        if tag != "equal":
            yield from zip_longest(olds[spans[0] : spans[1]], news[spans[2] : spans[3]], fillvalue="")


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of the words that two texts have in common."""
    return 2 * len(one & other) / (len(one) + len(other) or 1)


def _alone(kind: Kind, section: _Section) -> SectionDifference:
    if kind == "removed":
        changes = tuple(_removed(section.units))
    else:
        changes = tuple(Change(kind="added", **unit.new()) for unit in section.units)
    return SectionDifference(kind=kind, heading=section.heading, changes=changes)
