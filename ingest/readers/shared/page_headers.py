"""Writes the lines of headers and footers after the body, each line once and without page numbers."""

from __future__ import annotations

from collections.abc import Iterable

from ingest.readers.shared.document_builder import DocumentBuilder

PAGE_NUMBER = "\ue000"
"""Placeholder for a page number in a paragraph of a header."""
_WORDS_OF_PAGE_NUMBER = 3


class PageHeaders:
    """Adds the lines that are only in headers and footers to a builder with the body."""

    def __init__(self, into: DocumentBuilder) -> None:
        self._into = into
        self._known = [_spaced(into.text)]

    def write(self, label: str, paragraphs: Iterable[str]) -> None:
        """Add the new lines of one header or footer as a block that starts with the label."""
        lines = []
        for line in map(_line, paragraphs):
            if line and not any(_spaced(line) in text for text in self._known):
                lines.append(line)
                self._known.append(_spaced(line))
        self._into.prose(f"{label}: " + "\n".join(lines) if lines else "")


def _spaced(text: str) -> str:
    """Return the text with one blank around each word, so that only whole words are found in it."""
    return f" {' '.join(text.split())} "


def _line(paragraph: str) -> str:
    parts = (part for part in paragraph.split("\t") if not _is_page_number(part))
    return " ".join(" ".join(parts).replace(PAGE_NUMBER, " ").split())


def _is_page_number(part: str) -> bool:
    """Return whether the part is a page number with a few words, such as "Page 3 of 8"."""
    return PAGE_NUMBER in part and len(part.replace(PAGE_NUMBER, " ").split()) <= _WORDS_OF_PAGE_NUMBER
