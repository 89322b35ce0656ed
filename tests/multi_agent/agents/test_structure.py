"""Pages and headings are read without a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from multi_agent.agent import DOCUMENTS
from multi_agent.agents.structure import Structure
from multi_agent.values.context import ContextUpdate
from support.chunks import make_chunk
from support.kits import Bench, library_of, make_context
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import PageSpan, SectionStart

PAGES = ["Short. " * 20, "A sentence that is long enough to fill the page soon enough, if there are many. " * 120]


async def read(embedder: Embedder, folder: Path, **inputs: Any) -> ContextUpdate:
    text = "".join(PAGES)
    split = len(PAGES[0])
    sections = (SectionStart(start=split, path=("One", "Deep")), SectionStart(start=split + 100, path=("Two",)))
    spans = (PageSpan(number=1, start=0, end=split), PageSpan(number=2, start=split, end=len(text)))
    chunk = make_chunk(text, section=("One",), sections=sections, page_spans=spans)
    with library_of([chunk, make_chunk("Else.", document="/docs/b.md")], embedder, folder) as library:
        return await Bench(Structure, library=library).run(make_context(), {"documents": ["a.md"], **inputs})


async def test_headings_are_listed_in_order(embedder: Embedder, tmp_path: Path) -> None:
    update = await read(embedder, tmp_path, pages=[])
    [computed] = update.computations
    assert computed.rows == (("a.md", 1, "One", 1), ("a.md", 2, "Deep", 2), ("a.md", 1, "Two", 2))
    assert (computed.source, update.evidence) == ("the structure of a.md", ())


async def test_a_long_page_is_quoted_in_part_and_says_so(embedder: Embedder, tmp_path: Path) -> None:
    update = await read(embedder, tmp_path, pages=[2])
    [computed] = update.computations
    assert computed.rows[0][:3] == ("a.md", 2, 120)
    [flaw] = computed.flaws
    quoted = sum(item.quote.count("long enough") for item in update.evidence)
    assert flaw == f"the last {120 - quoted} sentences or rows are not quoted"
    assert {item.pages for item in update.evidence} == {(2,)}


async def test_a_missing_page_has_nothing(embedder: Embedder, tmp_path: Path) -> None:
    update = await read(embedder, tmp_path, pages=[9])
    assert (update.evidence, update.computations[0].rows[0][1:3]) == ((), (9, 0))


@pytest.mark.parametrize("documents", [[], ["c.md"]])
def test_documents_must_exist(documents: list[str]) -> None:
    with pytest.raises(ValueError, match=r"at least 1|no document named 'c.md'"):
        Structure.card.inputs.model_validate({"documents": documents, "pages": []}, context={DOCUMENTS: ["a.md"]})
