"""Prints documents, search results and collections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from api.cli.render.text import EXCERPT_LENGTH, show_line, show_list, show_paragraph, show_table
from base.counts import count
from base.text import excerpt_around
from ingest.fields import fields_text
from ingest.ledger.records import STARTED, DocumentRecord, DocumentState
from multi_agent.prompts.show_passages import show_location, show_pages
from multi_agent.values.versions import left_out

if TYPE_CHECKING:
    from api.services.documents.collections import CollectionInfo
    from api.services.documents.differences import Change, Differences
    from api.services.documents.search import WordCounts
    from vectorstore.models import Hit

_TIMES = ("modified", "read_at", "updated_at")


def show_hits(console: Console, hits: Sequence[Hit]) -> None:
    """Print the passages that a search found, best first, after the words that were searched for instead of others."""
    for word, near in hits[0].respelt.items() if hits else ():
        show_paragraph(console, f"No passage has {word!r}. Searched for {', '.join(map(repr, near))}.")
    for rank, hit in enumerate(hits, start=1):
        show_line(console, f"{rank}. {show_location(hit.chunk)}", "bold")
        show_paragraph(console, excerpt_around(hit.chunk.reading_text, hit.words, EXCERPT_LENGTH), hit.words)
    if not hits:
        console.print("No results.")


def show_counts(console: Console, found: WordCounts) -> None:
    """Print how often words stand in documents, then in how many documents of those searched."""
    rows = [(*(row.counts[word] for word in found.words), row.document) for row in found.documents]
    if rows:
        show_table(console, (*found.words, "document"), rows)
    unread = f" {count(found.unread, 'file')} could not be read." if found.unread else ""
    hits = f"{count(found.total, 'mention')} in {len(rows)} of {count(found.searched, 'document')}"
    show_paragraph(console, f"{hits}.{unread} {left_out(found.older)}".rstrip())


def show_differences(console: Console, found: Differences) -> None:
    """Print the sections that differ between two documents, with the changes in them."""
    for each in found.sections:
        renamed = f", was “{each.old_heading}”" if each.old_heading else ""
        how = f"{each.kind}{', moved' if each.moved and each.kind != 'moved' else ''}{renamed}"
        show_line(console, f"{each.heading or '(before the first heading)'} ({how})", "bold")
        for change in each.changes:
            _show_sides(console, change)
            if change.numbers:
                numbers = "; ".join(f"{old or 'none'} → {new or 'none'}" for old, new in change.numbers)
                show_paragraph(console, f"  numbers: {numbers}")
    for warning in found.warnings:
        show_paragraph(console, f"warning: {warning}")
    kinds = Counter(each.kind for each in found.sections)
    differ = ", ".join(f"{kinds[kind]} {kind}" for kind in sorted(kinds)) or "none differs"
    show_line(console, f"{found.old} → {found.new}: of the sections, {differ}, {found.unchanged} unchanged.")


def show_meanings(console: Console, found: Differences) -> None:
    """Print each explanation with the changes that it cites, and the explanations that were not kept."""
    if not found.meanings:
        console.print("The model names no change of meaning.")
    for each in found.meanings:
        show_line(console, f"\n{each.text}", "bold")
        show_paragraph(console, f"{each.heading}. {each.checked}")
        for change in each.changes:
            _show_sides(console, change)
    show_list(console, "Not kept, because the changes do not state it", found.not_kept)


def _show_sides(console: Console, change: Change) -> None:
    for sign, text, page in (("-", change.old, change.old_page), ("+", change.new, change.new_page)):
        if text:
            show_paragraph(console, f"{sign} {text}{f' (p. {page})' if page else ''}")


def show_documents(console: Console, documents: Sequence[DocumentRecord], *, with_warnings: bool = False) -> None:
    """Print a table of documents, then the reasons for failures. Adds columns of tags and fields if one has them."""
    extra = {
        "tags": [", ".join(each.tags) for each in documents],
        "fields": [fields_text(each.fields) for each in documents],
    }
    extra = {column: texts for column, texts in extra.items() if any(texts)}
    rows = [
        (each.id[:8], each.state.value, each.type, each.pages or "", each.chunks, each.name, *added)
        for each, *added in zip(documents, *extra.values(), strict=True)
    ]
    show_table(console, ("id", "state", "type", "pages", "chunks", "document", *extra), rows)
    for each in documents:
        if each.reason:
            during = f" while {each.stage.value}" if each.state is DocumentState.FAILED else ""
            show_line(console, f"\n{each.name}: {each.state.value}{during}", "bold")
            show_paragraph(console, each.reason)
        if with_warnings and each.warnings:
            show_line(console, f"\n{each.name}", "bold")
            for warning in each.warnings:
                show_paragraph(console, warning)


def show_collections(console: Console, found: Sequence[CollectionInfo]) -> None:
    """Print a table of collections, then why some cannot be read."""
    columns = ("collection", "documents", "failed", "passages", "embedding model")
    rows = ((each.name, each.documents, each.failed, each.chunks, each.embedding_model or "") for each in found)
    show_table(console, columns, list(rows))
    for each in found:
        if each.unreadable:
            show_paragraph(console, f"{each.name}: {each.unreadable}")
        if each.lost:
            remedy = f"`candor ingest --retry-failed -c {each.name}` reads its documents again."
            show_paragraph(console, f"The store has lost {each.name}. {remedy}")


def show_document(console: Console, document: DocumentRecord) -> None:
    """Print the non-empty fields of a document, and each fact with the words that state it."""
    fields = document.model_dump(mode="json", exclude={"facts"})
    fields |= {name: _date(getattr(document, name)) for name in _TIMES if fields[name]}
    fields["seconds"] = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in document.seconds.items())
    fields |= {"tags": ", ".join(document.tags), "type": document.type, "dated": str(document.dated or "")}
    fields |= {"fields": fields_text(document.fields), "metadata": fields_text(document.metadata)}
    stage = document.stage.value if document.state in STARTED else ""
    fields |= {"warnings": " ".join(document.warnings), "stage": stage}
    for name, value in fields.items():
        if value not in ("", None):
            show_line(console, Text(f"{name:>12}  ", style="bold") + Text(str(value)))
    for name, fact in document.facts.items():
        where = f"{fact.source.value}, {show_pages((fact.page,))}" if fact.page else fact.source.value
        shown = Text(f"{fact.value}  ({where})  ") + Text(fact.quote, style="dim")
        show_line(console, Text(f"{name:>12}  ", style="bold") + shown)


def _date(time: datetime | float) -> str:
    """Return a time, or seconds since 1970, as a date in UTC."""
    moment = time if isinstance(time, datetime) else datetime.fromtimestamp(time, UTC)
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
