"""The filter that restricts which documents of a collection a search or a run may read."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from fnmatch import fnmatchcase
from functools import partial
from pathlib import PurePath
from typing import Annotated, NamedTuple

from pydantic import Field

from base.models import FrozenModel
from multi_agent.errors import NoDocumentMatches
from multi_agent.library import CatalogueEntry

_MOST = 100  # names, types or tags in a filter
_LISTED = 12  # known values that an error names

Text = Annotated[str, Field(min_length=1, max_length=1_000, pattern=r"\S")]


class DocumentFilter(FrozenModel):
    """Conditions on documents. A document must meet all of them."""

    documents: tuple[Text, ...] = Field(
        default=(),
        max_length=_MOST,
        description="names of documents, any of which; `*` and `?` stand for any characters, as in `2024/*.pdf`",
    )
    folder: Text | None = Field(
        default=None, description="a folder that the document is in, at any depth: its whole path, or the end of it"
    )
    type: tuple[Text, ...] = Field(
        default=(), max_length=_MOST, description="types of files, any of which, such as `pdf` or `docx`"
    )
    since: date | None = Field(
        default=None,
        description="the earliest date of the document: the date or period that it states, else the day on which its "
        "file was changed",
    )
    tags: tuple[Text, ...] = Field(default=(), max_length=_MOST, description="tags, all of which the document has")

    def __str__(self) -> str:
        return ", ".join(condition.text for condition in self._conditions())

    @property
    def is_empty(self) -> bool:
        """Whether the filter has no conditions."""
        return next(self._conditions(), None) is None

    def choose(self, catalogue: Sequence[CatalogueEntry], collection: str) -> tuple[CatalogueEntry, ...]:
        """Return the documents that meet every condition. Raises NoDocumentMatches, which names the condition."""
        for condition in self._conditions():
            if not any(map(condition.is_met, catalogue)):
                raise NoDocumentMatches(
                    f"No document of {collection!r} meets the condition '{condition.text}'.{condition.known(catalogue)}"
                )
        if not (left := self.matching(catalogue)):
            raise NoDocumentMatches(
                f"No document of {collection!r} meets all conditions: {self}. Each condition alone matches some "
                "documents. Remove one of them."
            )
        return left

    def matching(self, catalogue: Sequence[CatalogueEntry]) -> tuple[CatalogueEntry, ...]:
        """Return the documents that meet every condition."""
        conditions = tuple(self._conditions())
        return tuple(entry for entry in catalogue if all(condition.is_met(entry) for condition in conditions))

    def _conditions(self) -> Iterator[_Condition]:
        if self.documents:
            patterns = [_folded(each) for each in self.documents]
            yield _Condition(
                f"document {' or '.join(self.documents)}", partial(_is_named, patterns), lambda entry: (entry.name,)
            )
        if self.folder:
            parts = PurePath(_folded(self.folder)).parts
            named = f"folder {self.folder}"
            yield _Condition(named, partial(_is_in, parts), lambda entry: (PurePath(entry.path).parent.name,))
        if self.type:
            types = {_folded(each).removeprefix(".") for each in self.type}
            named = f"type {' or '.join(self.type)}"
            yield _Condition(named, lambda entry: entry.type in types, lambda entry: (entry.type,))
        if since := self.since:
            yield _Condition(f"since {since}", lambda entry: entry.dated is not None and entry.dated >= since, _date)
        for tag in self.tags:
            yield _Condition(f"tag {tag}", partial(_has_tag, _folded(tag)), lambda entry: entry.tags)


class Selection(FrozenModel):
    """The documents of a collection that match a filter."""

    filter: DocumentFilter
    documents: int = Field(description="number of documents that the run could read")
    total: int = Field(description="number of documents in the collection")

    def __str__(self) -> str:
        return f"{self.documents:,} of {self.total:,} documents ({self.filter})"


class _Condition(NamedTuple):
    """A condition as text, a predicate for documents, and a function that returns the compared values of a document."""

    text: str
    is_met: Callable[[CatalogueEntry], bool]
    value: Callable[[CatalogueEntry], Sequence[str]]

    def known(self, catalogue: Sequence[CatalogueEntry]) -> str:
        """Return a sentence with the values that the documents have."""
        values = sorted({value for entry in catalogue for value in self.value(entry)})
        more = f" and {len(values) - _LISTED} more" if len(values) > _LISTED else ""
        return f" Values in the collection: {', '.join(values[:_LISTED])}{more}." if values else " There are no values."


def _is_named(patterns: Sequence[str], entry: CatalogueEntry) -> bool:
    """Return whether the name or its last part matches a pattern. An exact name may contain `[` or `*`."""
    name = _folded(entry.name)
    names = (name, PurePath(name).name)
    return any(each in names or any(fnmatchcase(name, each) for name in names) for each in patterns)


def _is_in(folder: Sequence[str], entry: CatalogueEntry) -> bool:
    """Return whether the path contains the parts of the folder consecutively, from the root if it is absolute."""
    parents = PurePath(_folded(entry.path)).parts[:-1]
    return any(parents[at : at + len(folder)] == tuple(folder) for at in range(len(parents)))


def _has_tag(tag: str, entry: CatalogueEntry) -> bool:
    return tag in entry.tags


def _date(entry: CatalogueEntry) -> tuple[str, ...]:
    return (str(entry.dated),) if entry.dated else ()


def _folded(text: str) -> str:
    """Return the text in the form in which names are compared. File systems store accents in two forms."""
    return unicodedata.normalize("NFC", " ".join(text.split())).casefold()
