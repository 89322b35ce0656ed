"""Shows how much of each document was read, with outlines that name the sections and pages not read."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import groupby

from multi_agent.library import CatalogueEntry, Library
from multi_agent.values.context import ResearchContext
from vectorstore.models import Chunk, page_labels, page_ranges, printed_pages

_OUTLINED = 3  # documents; those with the most passages in the context
_LINES = 25  # maximum of one outline
_DEEPEST = 3  # levels of headings
_SMALL = 12  # passages; a document with no more needs no outline, as most of it is read


def show_read(context: ResearchContext, catalogue: Iterable[CatalogueEntry], library: Library) -> str:
    """Return a line for each document with found passages, and outlines of those with the most.

    An outline lists the sections with their pages and says which pages were read.
    """
    chunks = {entry.name: entry.chunks for entry in catalogue}
    found = Counter(chunk.name for chunk in context.chunks)
    partly = [name for name, _ in found.most_common() if name not in context.scanned and chunks.get(name, 0) > _SMALL]
    outlined = set(partly[:_OUTLINED])
    lines: list[str] = []
    for name, count in sorted(found.items()):
        known = f"{count} of {chunks[name]}" if name in chunks else f"{count}"
        lines.append(f"- {name}: " + ("all passages" if name in context.scanned else f"{known} passages"))
        if name in outlined:
            own = [chunk for chunk in context.chunks if chunk.name == name]
            lines += outline(library.around(own[:1], chunks[name]), {chunk.id for chunk in own})
    return "\n".join(lines) or "-"


def outline(chunks: Sequence[Chunk], read: Collection[str]) -> list[str]:
    """Return a line for each section of a document, as deep as ``_LINES`` allows. ``read`` holds ids of passages."""
    deepest = (_sections(chunks, depth) for depth in range(_DEEPEST, -1, -1))
    sections = next(each for each in deepest if len(each) <= _LINES)
    return [f"  - {_show_section(path, group, read)}" for path, group in sections]


def _sections(chunks: Sequence[Chunk], depth: int) -> list[tuple[tuple[str, ...], list[Chunk]]]:
    """Group the passages by their headings down to this depth. Depth 0 is the whole document."""
    return [(path, list(group)) for path, group in groupby(chunks, lambda chunk: chunk.section[:depth])]


def _show_section(path: tuple[str, ...], chunks: Sequence[Chunk], read: Collection[str]) -> str:
    seen = [chunk for chunk in chunks if chunk.id in read]
    state = "read" if len(seen) == len(chunks) else "not read"
    if 0 < len(seen) < len(chunks):
        state = f"of these read: {_show_pages(seen) or f'{len(seen)} of {len(chunks)} passages'}"
    return ", ".join(part for part in (" › ".join(path) or "no heading", _show_pages(chunks), state) if part)


def _show_pages(chunks: Iterable[Chunk]) -> str:
    """Return the pages of the passages, such as 'pages 2, 5-7'; empty if the format has no pages."""
    labels = {page: label for chunk in chunks for page, label in page_labels(chunk.page_spans).items()}
    pages = sorted({page for chunk in chunks for page in chunk.pages})
    printed = printed_pages(labels, pages)
    shown = f"page{'s' * (len(pages) > 1)} {page_ranges(pages)}" if pages else ""
    return f"{shown} (printed {printed})" if printed else shown
