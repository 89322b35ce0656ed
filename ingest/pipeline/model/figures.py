"""Adds descriptions of figures: a model describes pages with large figures, and each description is chunked separately.

``DescribingParser`` wraps a parser. It appends each description to the parsed text, under a heading that names the page
and the model, and records the positions in the metadata. ``separate_descriptions`` splits the document before chunking,
so that no chunk mixes text of the document with text of the model.
"""

import mimetypes
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path, PurePath

from ingest.document import Block, BlockKind, ParsedDocument
from ingest.errors import FigureNotDescribed, PageNotShown
from ingest.pages.renderer import draw_for_model
from ingest.parser import Parser
from ingest.pipeline.model.asked_model import ModelParser
from ingest.readers.shared.document_builder import BETWEEN_BLOCKS, clean
from vectorstore.models import DESCRIBED_PAGE, PICTURED_PAGES, PageSpan, Scalar, page_labels, pages_in

DESCRIPTIONS = "figure_descriptions"
"""Metadata key for the page, start and end of each description, such as ``3:1200-1450, 7:1452-1600``."""

_DRAWN_TYPES = ("application/pdf", "image/")


class DescribingParser(ModelParser):
    """A parser that adds descriptions of figures to PDFs and images.

    ``describe`` gets a page as a PNG image and its text. It returns a description of the figures, or an empty string.
    ``parse`` raises ParseError, FigureNotDescribed, ModelFailed.
    """

    def __init__(self, parser: Parser, model: str, describe: Callable[[bytes, str], str]) -> None:
        super().__init__(parser, f", figures by {model}")
        self._model, self._describe = model, describe

    def _asks_about(self, path: PurePath, mime_type: str) -> bool:
        kind = mime_type or mimetypes.guess_type(path.name)[0] or ""
        return kind.startswith(_DRAWN_TYPES)

    def _extended(self, parsed: ParsedDocument, path: Path) -> ParsedDocument:
        text, blocks, pages, places = parsed.text, list(parsed.blocks), list(parsed.pages), []
        for page in chain.from_iterable(pages_in(str(parsed.metadata.get(PICTURED_PAGES, "")))):
            spans = (parsed.text[span.start : span.end] for span in parsed.pages if span.number == page)
            description = clean(self._describe(_draw(path, page), "\n".join(spans))).strip()
            if not description:
                continue
            heading = f"Figures on page {page}, described by {self._model}"
            start = len(text) + len(BETWEEN_BLOCKS)
            middle = start + len(heading)
            text = BETWEEN_BLOCKS.join((text, heading, description))
            blocks += [
                Block(kind=BlockKind.HEADING, start=start, end=middle, level=1),
                Block(kind=BlockKind.PROSE, start=middle + len(BETWEEN_BLOCKS), end=len(text)),
            ]
            label = page_labels(parsed.pages).get(page, "")
            pages.append(PageSpan(number=page, start=start, end=len(text), label=label))
            places.append(f"{page}:{start}-{len(text)}")
        metadata = parsed.metadata | ({DESCRIPTIONS: ", ".join(places)} if places else {})
        described = {"text": text, "blocks": tuple(blocks), "pages": tuple(pages), "metadata": metadata}
        return parsed.model_copy(update=described)


def separate_descriptions(parsed: ParsedDocument) -> Iterator[ParsedDocument]:
    """Yield the document without descriptions, then each description. Each has the full text, but its own blocks."""
    metadata: dict[str, Scalar] = {key: value for key, value in parsed.metadata.items() if key != DESCRIPTIONS}
    places = [_place(place) for place in str(parsed.metadata.get(DESCRIPTIONS, "")).split(", ") if place]
    end_of_document = min((start for _, start, _ in places), default=len(parsed.text))
    yield _part(parsed, 0, end_of_document, metadata)
    for page, start, end in places:
        yield _part(parsed, start, end, metadata | {DESCRIBED_PAGE: page})


def _part(parsed: ParsedDocument, start: int, end: int, metadata: dict[str, Scalar]) -> ParsedDocument:
    blocks = tuple(block for block in parsed.blocks if start <= block.start and block.end <= end)
    return parsed.model_copy(update={"blocks": blocks, "metadata": metadata})


def _place(place: str) -> tuple[int, int, int]:
    page, _, span = place.partition(":")
    start, _, end = span.partition("-")
    return int(page), int(start), int(end)


def _draw(path: Path, page: int) -> bytes:
    """Return the page as a PNG image. Raises FigureNotDescribed."""
    try:
        return draw_for_model(path, page)
    except PageNotShown as error:
        raise FigureNotDescribed(
            f"The figures on page {page} of {path} cannot be described. {error} To index its text alone, set "
            "`describe_figures` under [ingest] to false."
        ) from error
