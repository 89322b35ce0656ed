"""The Reader asks no model where no passage has the names that the question is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from api.services.research.library import CollectionLibrary
from multi_agent.agents.reader import Reader
from multi_agent.llm.settings import EndpointSettings
from support.chunks import make_chunk
from support.kits import UNREACHABLE, Bench, library_of, make_context
from support.panel import Panel
from support.replies import Request
from vectorstore.embedding.embedder import Embedder

SUPPLIER = "The compressor of the Borea 12 is made by Kestrel Kompressoren."
Serve = Callable[..., EndpointSettings]


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[CollectionLibrary]:
    """Two documents of one passage each."""
    chunks = [
        make_chunk(SUPPLIER, document="/docs/parts.pdf"),
        make_chunk("Whisk the eggs. Bake for 40 minutes.", document="/docs/recipe.md"),
    ]
    with library_of(chunks, embedder, tmp_path_factory.mktemp("books")) as library:
        yield library


def asking(name: str, *wordings: str, documents: tuple[str, ...] = ()) -> dict[str, Any]:
    queries = [each.replace("NAME", name) for each in wordings or ("NAME compressor supplier", "producer of the NAME")]
    return {"question": f"Who makes the compressor of the {name}?", "queries": queries, "documents": list(documents)}


async def test_without_the_name_in_any_passage_no_model_is_asked(books: CollectionLibrary) -> None:
    bench = Bench(Reader, UNREACHABLE, books)
    synthesis = (await bench.run(make_context(), asking("Zephyron"))).findings[0].synthesis
    assert not synthesis.sufficient
    assert synthesis.reasoning == "Two searches found no passage with Zephyron, so no model was asked."
    assert synthesis.hopeless, "a revised plan would find it no more"
    assert synthesis.missing == ("documents about Zephyron",)
    assert [each.queries for each in bench.of_type("searched")][1] == ("Zephyron",)


@pytest.mark.parametrize(
    "inputs",
    [
        asking("Kestrel"),
        asking("Kestrle"),
        asking("Zephyron", "compressor supplier", "NAME compressor"),
        asking("Zephyron", "NAME compressor"),
        asking("Zephyron", documents=("parts.pdf",)),
    ],
    ids=["found", "misspelt", "a wording does without it", "one wording", "a named document"],
)
async def test_any_doubt_is_left_to_the_model(serve: Serve, books: CollectionLibrary, inputs: dict[str, Any]) -> None:
    asked: list[Request] = []

    def read(request: Request) -> Any:
        asked.append(request)
        return Panel("Kestrel")(request)

    await Bench(Reader, serve(read), books).run(make_context(), inputs)
    assert asked
