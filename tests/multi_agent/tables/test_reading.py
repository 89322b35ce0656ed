"""Which passages of a long document a call for its cells reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from multi_agent.tables.reading import CellReader, OpenCells
from multi_agent.tables.values import Column, ColumnType
from support.chunks import make_chunk
from support.kits import library_of
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import ChunkKind

ABOUT = "Revenue of the quarter is discussed in part {} of the report: revenue of the quarter grew with demand."
TABLE = "| | 2022 |\n|---|---|\n| Net sales, in total | 82,959 |\n| Cost of sales | 47,074 |"


def test_tables_are_read_beside_the_text_that_tells_about_them(embedder: Embedder, tmp_path: Path) -> None:
    texts = [make_chunk(ABOUT.format(number), index=number) for number in range(20)]
    table = make_chunk(TABLE, index=20, kind=ChunkKind.TABLE)
    column = Column(name="Revenue", question="Revenue of the quarter", type=ColumnType.NUMBER)
    with library_of([*texts, table], embedder, tmp_path) as library:
        [entry] = library.catalogue()
        reader = CellReader(library, cast(Any, None), tokens=200, found=21)
        read = reader.passages(OpenCells(entry, (column,)))
        found = library.search([column.question], 21)
    assert TABLE in [chunk.text for chunk in read]
    assert [hit.chunk.text for hit in found].index(TABLE) > len(read), "alone, the search ranks it too low"
