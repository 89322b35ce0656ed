"""Research contexts with records from generated documents. Each record is a line of text, quoted in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multi_agent.values.context import Evidence, Record, RecordField, ResearchContext
from support.chunks import make_chunk
from support.kits import make_context
from vectorstore.models import Chunk, PageSpan, Scalar

Values = Mapping[str, Scalar | None]


def fields(**types: str) -> tuple[RecordField, ...]:
    """Return record fields: ``fields(runner="text", time="text")``."""
    return tuple(
        RecordField.model_validate({"name": name, "type": kind, "meaning": f"the {name}"})
        for name, kind in types.items()
    )


def table_context(
    record_fields: Sequence[RecordField], documents: Mapping[str, Sequence[Values]], **known: Any
) -> ResearchContext:
    """Return a context with these documents, one page and passage each, and a record and a quote for each line."""
    chunks: list[Chunk] = []
    evidence: list[Evidence] = []
    records: list[Record] = []
    for name, rows in documents.items():
        lines = [f"- {', '.join(map(str, row.values()))}" for row in rows]
        text = "\n".join(lines)
        chunk = make_chunk(text, document=f"/docs/{name}", page_spans=(PageSpan(number=1, start=0, end=len(text)),))
        chunks.append(chunk)
        at = 0
        for line, row in zip(lines, rows, strict=True):
            span = {"chunk_id": chunk.id, "start": at, "end": at + len(line)}
            number = len(evidence) + 1
            evidence.append(
                Evidence(
                    number=number, document=chunk.document, document_id=chunk.document_id, name=name, pages=(1,),
                    quote=line, why="a row", **span,
                )
            )  # fmt: skip
            records.append(Record(values=dict(row), **span))
            at += len(line) + 1
    return make_context(
        known.pop("question", "Which?"),
        chunks=tuple(chunks),
        evidence=tuple(evidence),
        records=tuple(records),
        record_fields=tuple(record_fields),
        **known,
    )
