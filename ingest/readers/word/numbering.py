"""The numbers and markers of Word's lists and headings, counted as Word prints them.

A level is named by the paragraph, by its style, or by a level of the list that names the style. Lists can borrow their
levels from a numbering style, or override them (ECMA-376, 17.9).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from ingest.readers.shared.numerals import IN_WORDS, format_count
from ingest.readers.shared.ooxml import Package, attribute, is_on, number
from ingest.readers.word.styles import Style, Styles


@dataclass(frozen=True, slots=True)
class _Level:
    """The marker format of one list level."""

    format: str
    pattern: str
    start: int
    style: str
    is_legal: bool
    restart: int | None
    """The number of the level after which this one starts again: 0 for never, None for any level above."""


@dataclass
class Numbering:
    """The lists of a document and their counters."""

    lists: Mapping[str, str]
    """The abstract list of each list."""
    levels: Mapping[str, Mapping[int, _Level]]
    """The levels of each list, including its overrides."""
    restarts: dict[tuple[str, int], int]
    is_english: bool = True
    counts: dict[str, dict[int, int]] = field(default_factory=dict)

    @staticmethod
    def read(package: Package, main: str, styles: Styles) -> Numbering:
        """Read the lists of a document."""
        abstract: dict[str, dict[int, _Level]] = {}
        links, lists, levels, restarts = {}, {}, {}, {}
        roots = [package.xml(part) for part in package.related(main, "numbering")]
        for definition in (each for root in roots for each in root.iterfind("{*}abstractNum")):
            identity = attribute(definition, "abstractNumId")
            abstract[identity] = dict(_levels(definition))
            links[identity] = attribute(definition.find("{*}numStyleLink"), "val")
        instances = [each for root in roots for each in root.iterfind("{*}num")]
        own = {attribute(each, "numId"): attribute(each.find("{*}abstractNumId"), "val") for each in instances}
        for instance in instances:
            identity = attribute(instance, "numId")
            borrowed = styles.styles.get(links.get(own[identity], ""))
            lists[identity] = own.get(borrowed.numbering, own[identity]) if borrowed else own[identity]
            levels[identity] = dict(abstract.get(lists[identity], {}))
            for override in instance.iterfind("{*}lvlOverride"):
                index = number(attribute(override, "ilvl"))
                for depth, level in _levels(override):
                    levels[identity][depth] = level
                    restarts[identity, depth] = level.start
                start = attribute(override.find("{*}startOverride"), "val")
                if start.isdecimal():
                    restarts[identity, index] = number(start)
        return Numbering(lists, levels, restarts, styles.language.lower().startswith("en"))

    def level_of(self, identity: str, ancestry: list[Style]) -> int:
        """Return the level of a paragraph whose own properties name none."""
        named = {level.style: depth for depth, level in self.levels.get(identity, {}).items() if level.style}
        by_name = next((named[style.id] for style in ancestry if style.id in named), None)
        own = next((style.level for style in ancestry if style.level is not None), None)
        return own or 0 if by_name is None else by_name

    def mark(self, identity: str, level: int) -> str | None:
        """Count one paragraph and return its marker: ``-``, a number as printed, or None outside lists."""
        defined = self.levels.get(identity, {})
        if level not in defined:
            return None
        counts = self.counts.setdefault(self.lists[identity], {})
        restart = self.restarts.pop((identity, level), None)
        counts[level] = restart if restart is not None else counts.get(level, defined[level].start - 1) + 1
        for deeper in [known for known in counts if known > level]:
            starts_after = defined[deeper].restart if deeper in defined else None
            if starts_after is None or level < starts_after:
                del counts[deeper]
        if defined[level].format in ("bullet", ""):
            return "-"
        mark = defined[level].pattern
        for index, definition in defined.items():
            count = counts.get(index, definition.start)
            style = definition.format
            if (defined[level].is_legal and style != "decimalZero") or (style in IN_WORDS and not self.is_english):
                style = "decimal"
            mark = mark.replace(f"%{index + 1}", format_count(count, style))
        return mark.strip() or "-"


def _levels(parent: Element) -> Iterator[tuple[int, _Level]]:
    for level in parent.iterfind("{*}lvl"):
        restart = attribute(level.find("{*}lvlRestart"), "val")
        yield (
            number(attribute(level, "ilvl")),
            _Level(
                format=attribute(level.find("{*}numFmt"), "val", "decimal"),
                pattern=attribute(level.find("{*}lvlText"), "val"),
                start=number(attribute(level.find("{*}start"), "val", "1")),
                style=attribute(level.find("{*}pStyle"), "val"),
                is_legal=is_on(level.find("{*}isLgl")),
                restart=number(restart) if restart.isdecimal() else None,
            ),
        )
