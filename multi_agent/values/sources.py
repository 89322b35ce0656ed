"""Passages from outside the collection, which are from web pages, results of tools, or given by the caller.

They are numbered, quoted and checked like passages of documents. ``Chunk.origin`` contains their origin. Spans are
offsets in the text of the page, in the result, or in the joined passages that the caller gave from one source.
"""

import hashlib
import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid5

from multi_agent.settings.research import Source
from multi_agent.values.request import RagResult
from vectorstore.models import Chunk, GivenPassage, Origin, PageSpan, ToolOutput, WebPage
from vectorstore.text.sentences import SENTENCE_ENDS, Span, divide

_PASSAGE_CHARACTERS = 2000
_TITLE_CHARACTERS = 200
_IDS = UUID("5b0f2b1e-5c0c-4e0e-9d43-6f0e6a2f7c11")
_DIRECTION = frozenset(map(chr, (0x200E, 0x200F, 0x061C, *range(0x202A, 0x202F), *range(0x2066, 0x206A))))
"""Characters that reverse or reorder the text around them."""
_TAGS = range(0xE0000, 0xE0080)
"""Invisible copies of ASCII letters."""


def page_passages(url: str, read_at: datetime, title: str, text: str) -> tuple[Chunk, ...]:
    """Return the passages of a page. Return none if its text is blank.

    Long pages are split at the ends of paragraphs, and long paragraphs at the ends of sentences.
    """
    address, text = _one_line(url), readable(text)
    origin, heading = WebPage(url=address, read_at=read_at), _one_line(title)[:_TITLE_CHARACTERS]
    return tuple(_chunk(address, address, origin, heading, text, index, span) for index, span in enumerate(_cut(text)))


def tool_passage(tool: str, arguments: Mapping[str, Any], result: str) -> Chunk:
    """Return a tool's result as one passage. Raises ValueError for a blank result."""
    text = readable(result)
    if not text.strip():
        raise ValueError(f"The tool {tool!r} returned nothing that can be quoted.")
    origin = ToolOutput(tool=tool, arguments=dict(arguments))
    call = json.dumps([tool, origin.arguments], sort_keys=True)
    return _chunk(call, tool, origin, "", text, 0, Span(0, len(text)))


def source_of(origin: Origin | None) -> Source:
    """Return the kind of source of a passage or quote with this origin."""
    if origin is None:
        return "documents"
    kinds: dict[str, Source] = {"web": "web", "tool": "tools", "caller": "documents"}
    return kinds[origin.kind]


def describe_origin(origin: Origin) -> str:
    """Describe the origin of a quote for people, by the page and its time of access or the tool and its arguments."""
    if isinstance(origin, WebPage):
        return f"web page {origin.url}, read {origin.read_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    if isinstance(origin, GivenPassage):
        return "given with the question"
    arguments = json.dumps(origin.arguments, ensure_ascii=False) if origin.arguments else ""
    return f"result of {origin.tool} {_one_line(arguments)}".rstrip()


def given_passages(results: Iterable[RagResult]) -> tuple[Chunk, ...]:
    """Return the caller's passages in order. The text of a source is its passages, joined by blank lines."""
    results = tuple(results)
    passages = [readable(each.text) for each in results]
    texts: dict[tuple[str, str], str] = {}
    spans: list[Span] = []
    for each, passage in zip(results, passages, strict=True):
        before = texts.get((each.source, each.document))
        text = passage if before is None else f"{before}\n\n{passage}"
        texts[each.source, each.document] = text
        spans.append(Span(len(text) - len(passage), len(text)))
    return tuple(
        _given(each, texts[each.source, each.document], index, span)
        for index, (each, span) in enumerate(zip(results, spans, strict=True))
    )


def _given(result: RagResult, text: str, index: int, span: Span) -> Chunk:
    source, document = _one_line(result.source), _one_line(result.document)
    name = f"{document} ({source})" if document else source
    origin = GivenPassage(source=source, score=result.score)
    chunk = _chunk(name, name, origin, "", text, index, span)
    pages = (PageSpan(number=result.page, start=span.start, end=span.end),) if result.page else ()
    return chunk.model_copy(update={"page_spans": pages})


def readable(text: str) -> str:
    """Return the text without control characters, so that it cannot act on a terminal or hide words.

    Line endings become Unix line endings. All other control characters, surrogates, text direction marks and invisible
    tags become spaces.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(" " if is_unreadable(character) else character for character in lines)


def is_unreadable(character: str) -> bool:
    """Return whether a character can act on a terminal or hide words."""
    if character in "\n\t":
        return False
    is_control = unicodedata.category(character) in ("Cc", "Cs")
    return is_control or character in _DIRECTION or ord(character) in _TAGS


def _chunk(source: str, name: str, origin: Origin, title: str, text: str, index: int, span: Span) -> Chunk:
    """Return a passage of ``text``. Its ids depend on the source and on the whole text."""
    version = hashlib.sha256(text.encode()).hexdigest()
    identity = hashlib.sha256(f"{source}\n{version}".encode()).hexdigest()[:32]
    document_id = f"{origin.kind}-{identity}"
    return Chunk(
        id=str(uuid5(_IDS, f"{document_id}/{index}")),
        document_id=document_id,
        document=name,
        name=name,
        version=version,
        index=index,
        text=text[span.start : span.end],
        start=span.start,
        end=span.end,
        title=title,
        origin=origin,
    )


def _cut(text: str) -> Iterator[Span]:
    """Yield the spans of the passages. Each contains as many whole paragraphs as fit."""
    current: Span | None = None
    for part in _parts(text):
        if current and part.end - current.start > _PASSAGE_CHARACTERS:
            yield current
            current = None
        current = Span(current.start if current else part.start, part.end)
    if current:
        yield current


def _parts(text: str) -> Iterator[Span]:
    """Yield the spans of paragraphs that fit into a passage, and of the sentences or pieces of longer ones."""
    for paragraph in _paragraphs(text):
        if paragraph.end - paragraph.start <= _PASSAGE_CHARACTERS:
            yield paragraph
            continue
        for sentence in divide(text, *paragraph, SENTENCE_ENDS):
            for start in range(sentence.start, sentence.end, _PASSAGE_CHARACTERS):
                yield Span(start, min(sentence.end, start + _PASSAGE_CHARACTERS))


def _paragraphs(text: str) -> Iterator[Span]:
    position = 0
    for paragraph in text.split("\n\n"):
        if paragraph.strip():
            left = len(paragraph) - len(paragraph.lstrip())
            yield Span(position + left, position + len(paragraph.rstrip()))
        position += len(paragraph) + 2


def _one_line(text: str) -> str:
    return " ".join(readable(text).split())
