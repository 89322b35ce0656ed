"""Which passages of a long document the calls for its cells read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from multi_agent.llm.models import build_llm
from multi_agent.llm.settings import EndpointSettings
from multi_agent.settings.research import ResearchSettings
from multi_agent.tables.reading import CellReader, OpenCells
from multi_agent.tables.values import Cell, Column, ColumnType
from support.chunks import make_chunk
from support.kits import library_of
from support.panel import sentences_of
from support.replies import Request
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import Chunk, ChunkKind

ABOUT = "Revenue of the quarter is discussed in part {} of the report: revenue of the quarter grew with demand."
TABLE = "| | 2022 |\n|---|---|\n| Net sales, in total | 82,959 |\n| Cost of sales | 47,074 |"
REVENUE = Column(name="Revenue", question="Revenue of the quarter", type=ColumnType.NUMBER)
AUDITOR = Column(name="Auditor", question="Who audits the report?")
FIGURE = "In these three months, revenue came to 82,959, more than a year ago."
OTHER = "The garden of house {} has roses, tulips and an old pear tree, which the neighbours may pick."


def test_tables_are_read_beside_the_text_that_tells_about_them(embedder: Embedder, tmp_path: Path) -> None:
    texts = [make_chunk(ABOUT.format(number), index=number) for number in range(20)]
    table = make_chunk(TABLE, index=20, kind=ChunkKind.TABLE)
    with library_of([*texts, table], embedder, tmp_path) as library:
        [entry] = library.catalogue()
        reader = CellReader(library, cast(Any, None), tokens=200, found=21)
        read = reader.passages(OpenCells(entry, (REVENUE,)))
        found = library.search([REVENUE.question], 21)
    assert TABLE in [chunk.text for chunk in read]
    assert [hit.chunk.text for hit in found].index(TABLE) > len(read), "alone, the search ranks it too low"


def _answer(request: Request) -> str:
    """Give the figure if it is among the sentences."""
    shown = FIGURE in request.prompt
    revenue = {
        "column": 1, "sentences": sentences_of(request, 1, FIGURE) if shown else [],
        "values": ["82959"] if shown else [], "reason": "" if shown else "No figure.",
    }  # fmt: skip
    auditor = {"column": 2, "sentences": [], "values": [], "reason": "Nobody is named."}
    return json.dumps({"answers": [revenue, auditor] if "2. Auditor" in request.prompt else [revenue]})


def _read(
    endpoint: EndpointSettings, chunks: Sequence[Chunk], columns: tuple[Column, ...], embedder: Embedder, folder: Path
) -> tuple[list[Cell], tuple[Chunk, ...]]:
    with library_of(chunks, embedder, folder) as library:
        [entry] = library.catalogue()
        reader = CellReader(library, build_llm(endpoint), tokens=200, found=5)
        return asyncio.run(reader.read(OpenCells(entry, columns)))


def test_empty_cells_are_read_once_more_from_other_passages(
    serve: Callable[..., EndpointSettings], embedder: Embedder, tmp_path: Path
) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return _answer(request)

    texts = [*(ABOUT.format(number) for number in range(8)), FIGURE, *(OTHER.format(number) for number in range(12))]
    chunks = [make_chunk(text, index=index) for index, text in enumerate(texts)]
    cells, read = _read(serve(answer), chunks, (REVENUE, AUDITOR), embedder, tmp_path)
    assert [FIGURE in each.prompt for each in asked] == [False, True]
    assert [cell.value for cell in cells] == [82959, None]
    assert len({chunk.id for chunk in read}) == len(read)
    assert cells[1].reason == f"Nobody is named. ({len(read)} of 21 passages were read.)"
    assert [cell.usage.model_calls for cell in cells] == [2, 0]


def test_only_what_is_empty_is_asked_again(
    serve: Callable[..., EndpointSettings], embedder: Embedder, tmp_path: Path
) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return _answer(request)

    texts = [make_chunk(ABOUT.format(number), index=number) for number in range(1, 13)]
    cells, _ = _read(serve(answer), [make_chunk(FIGURE, index=0), *texts], (REVENUE, AUDITOR), embedder, tmp_path)
    assert ["1. Revenue" in each.prompt for each in asked] == [True, False]
    assert (cells[0].value, [cell.usage.model_calls for cell in cells]) == (82959, [2, 0])


def test_a_document_that_was_read_whole_is_not_read_again(
    serve: Callable[..., EndpointSettings], embedder: Embedder, tmp_path: Path
) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return _answer(request)

    cells, _ = _read(serve(answer), [make_chunk(ABOUT.format(1))], (REVENUE,), embedder, tmp_path)
    assert (len(asked), cells[0].reason) == (1, "No figure.")


def test_an_unusable_second_response_leaves_the_cells_of_the_first(
    serve: Callable[..., EndpointSettings], embedder: Embedder, tmp_path: Path
) -> None:
    def answer(request: Request) -> str:
        return _answer(request) if FIGURE in request.prompt else "no JSON"

    texts = [make_chunk(ABOUT.format(number), index=number) for number in range(1, 13)]
    cells, _ = _read(serve(answer), [make_chunk(FIGURE, index=0), *texts], (REVENUE, AUDITOR), embedder, tmp_path)
    assert [cell.status for cell in cells] == ["found", "empty"]
    assert cells[1].reason.startswith("Nobody is named.")
    assert "A second reading failed: The model 'scripted'" in cells[1].reason


def test_of_a_prompt_that_is_too_long_fewer_passages_are_read(
    serve: Callable[..., EndpointSettings], embedder: Embedder, tmp_path: Path
) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return _answer(request)

    endpoint = serve(answer).model_copy(update={"context_window": 3_300, "max_output_tokens": 500})
    chunks = [make_chunk(f"- {number}\n- x\n- y\n- z\n" * 40, index=number) for number in range(30)]
    with library_of(chunks, embedder, tmp_path) as library:
        [entry] = library.catalogue()
        reader = CellReader(library, build_llm(endpoint), tokens=1_600, found=20)
        cells, read = asyncio.run(reader.read(OpenCells(entry, (REVENUE,))))
        assert len(read) < 2 * len(reader.passages(OpenCells(entry, (REVENUE,))))
    assert asked
    assert cells[0].status == "empty"


def test_a_row_gets_half_more_than_a_question() -> None:
    assert ResearchSettings().for_window(16_384, 8_192).tokens_per_row == 4_095
    assert ResearchSettings(tokens_per_call=3_000).for_window(16_384, 8_192).tokens_per_row == 4_500


def test_each_item_of_a_text_is_checked_alone(
    serve: Callable[..., EndpointSettings], embedder: Embedder, tmp_path: Path
) -> None:
    suits = ("Hogan sued Borea over its pumps in 2019.", "Kove sued Borea over its valves in 2021.")

    def answer(request: Request) -> str:
        numbers = [number for suit in suits for number in sentences_of(request, 1, suit)]
        values = [*suits, "Dialect sued Borea over its motors in 1994."]
        return json.dumps({"answers": [{"column": 1, "sentences": numbers, "values": values, "reason": ""}]})

    column = Column(name="Suits", question="Who sued, and over what?")
    [cell], _ = _read(serve(answer), [make_chunk(" ".join(suits))], (column,), embedder, tmp_path)
    assert cell.value == "; ".join(suits)
    assert [item.quote for item in cell.evidence] == [" ".join(suits)]
    assert cell.reason.startswith("Left out: 'Dialect sued Borea over its motors in 1994.'")
