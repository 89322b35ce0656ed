"""Several collections searched as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.chunks import make_chunk
from vectorstore.edge.store import EdgeStore
from vectorstore.embedding.embedder import Embedder
from vectorstore.errors import CollectionMismatch
from vectorstore.joined import JoinedCollections, part_of
from vectorstore.models import Chunk, CollectionSpec, Hit, SearchMode
from vectorstore.ranking import COSINE_WEIGHT
from vectorstore.retrieval import Retriever
from vectorstore.store import Collection

PAPERS = [
    "The Borea 12 heat pump still works at 25 degrees below zero.",
    "In a frost, the efficiency of an air heat pump drops by a third.",
    "Cold-climate compressors are more expensive.",
]
MAIL = [
    "The invoice INV48213 for the heat pump is due on Friday.",
    "Whisk the eggs with the sugar until they are pale.",
    "Revenue in the third quarter rose by four percent.",
]


class Opener:
    """Creates collections in a folder."""

    def __init__(self, folder: Path, embedder: Embedder, stack: ExitStack) -> None:
        self._store, self._embedder, self._stack = EdgeStore(folder), embedder, stack

    def __call__(self, name: str, chunks: Sequence[Chunk], model: str = "") -> Collection:
        embedder = self._embedder
        spec = CollectionSpec(
            name=name, embedding_model=model or embedder.model, dimension=embedder.dimension, chunking="sections-v1/256"
        )
        collection = self._stack.enter_context(self._store.create(spec))
        collection.upsert(chunks, embedder.embed_passages([chunk.embedded_text for chunk in chunks]))
        return collection


@pytest.fixture(scope="module")
def opener(embedder: Embedder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opener]:
    with ExitStack() as stack:
        yield Opener(tmp_path_factory.mktemp("store"), embedder, stack)


@pytest.fixture(scope="module")
def joined(opener: Opener) -> JoinedCollections:
    parts = {"papers": documents(PAPERS, "/docs/p"), "mail": documents(MAIL, "/docs/m")}
    return JoinedCollections({name: opener(name, chunks) for name, chunks in parts.items()})


@pytest.fixture(scope="module")
def single(opener: Opener) -> Collection:
    return opener("all", [*documents(PAPERS, "/docs/p"), *documents(MAIL, "/docs/m")])


def documents(texts: Sequence[str], start: str) -> list[Chunk]:
    return [make_chunk(text, document=f"{start}{number}.md") for number, text in enumerate(texts)]


def texts(hits: Sequence[Hit]) -> list[str]:
    return [hit.chunk.text for hit in hits]


QUERIES = ("Does any heat pump work below zero?", "INV48213", "how to bake", "heat pump", "revenue")


@pytest.mark.parametrize("query", QUERIES)
def test_a_search_by_meaning_finds_what_one_collection_with_all_would(
    query: str, joined: JoinedCollections, single: Collection, embedder: Embedder
) -> None:
    one, several = Retriever(single, embedder), Retriever(joined, embedder)
    found = texts(several.search([query], 4, mode=SearchMode.MEANING))
    assert found == texts(one.search([query], 4, mode=SearchMode.MEANING))


@pytest.mark.parametrize("mode", [SearchMode.HYBRID, SearchMode.WORDS])
@pytest.mark.parametrize(
    ("query", "first"), [("INV48213", MAIL[0]), ("Borea", PAPERS[0]), ("When is the invoice due?", MAIL[0])]
)
def test_an_exact_word_is_first_whichever_collection_has_it(
    mode: SearchMode, query: str, first: str, joined: JoinedCollections, embedder: Embedder
) -> None:
    assert texts(Retriever(joined, embedder).search([query], 3, mode=mode))[0] == first


def test_the_best_words_of_one_collection_do_not_lift_its_weak_hits(
    joined: JoinedCollections, embedder: Embedder
) -> None:
    """BM25 counts in relation to the best of all: "degrees" alone must not count as much as five words."""
    hits = Retriever(joined, embedder).search(["heat pump works at 25 degrees below zero on Friday"], 6)
    assert texts(hits)[0] == PAPERS[0]
    best = max(hit.bm25 or 0 for hit in hits)
    mail = next(hit for hit in hits if hit.chunk.text == MAIL[0])
    assert mail.bm25 == mail.best_bm25
    as_written = 0.75  # at most, for "heat pump" and "Friday"
    points = COSINE_WEIGHT * (mail.cosine or 0) + as_written + (mail.bm25 or 0) / best
    assert mail.score < points, "without the whole point of a best hit"


def test_names_begin_with_the_collection(joined: JoinedCollections, embedder: Embedder) -> None:
    hits = Retriever(joined, embedder).search(["heat pump"], 6)
    assert {hit.chunk.name for hit in hits} >= {"papers/p0.md", "mail/m0.md"}
    assert [chunk.name for chunk in joined.scan()] == [f"mail/m{n}.md" for n in range(3)] + [
        f"papers/p{n}.md" for n in range(3)
    ]
    assert part_of("mail+papers", "papers/p0.md") == "papers"
    assert part_of("papers", "sub/p0.md") == "papers"


def test_counts_languages_and_specification_cover_all(joined: JoinedCollections, embedder: Embedder) -> None:
    assert (joined.count().documents, joined.count().chunks) == (6, 6)
    assert sum(joined.languages().values()) == 6
    assert (joined.spec.name, joined.spec.embedding_model) == ("mail+papers", embedder.model)
    assert [view.count() for view in joined.moments()] == [joined.count()]


def test_a_file_in_two_collections_is_found_once(opener: Opener, embedder: Embedder) -> None:
    both = JoinedCollections({name: opener(name, documents(MAIL, "/docs/m")) for name in ("copy", "original")})
    retriever = Retriever(both, embedder)
    assert len(retriever.search(["INV48213"], 10, mode=SearchMode.HYBRID)) == 3
    assert len(list(retriever.scan())) == 3


def test_the_text_around_a_passage_is_of_its_own_version(opener: Opener, embedder: Embedder) -> None:
    """The same file in two collections, once before and once after a change."""
    versions = {
        name: [
            make_chunk(f"{name} {part}", document="/docs/a.md", index=at).model_copy(
                update={"version": name, "id": f"00000000-0000-0000-0000-00000000{at}{number}00"}
            )
            for at, part in enumerate(("one", "two", "three"))
        ]
        for number, name in enumerate(("before", "after"))
    }
    both = Retriever(JoinedCollections({name: opener(name, chunks) for name, chunks in versions.items()}), embedder)
    near = both.around([versions["before"][1]], 1)
    assert [chunk.text for chunk in near] == ["before one", "before two", "before three"]


def test_a_word_is_respelt_only_if_no_collection_has_it(opener: Opener, embedder: Embedder) -> None:
    parts = {
        "names": opener("names", documents(["Carolina signed the lease.", "The lease ends in May."], "/docs/n")),
        "typos": opener("typos", documents(["Carolna is a misspelt name.", "Names are hard."], "/docs/t")),
    }
    hits = Retriever(JoinedCollections(parts), embedder).search(["Carolna"], 4)
    assert all(not hit.respelt for hit in hits)
    hits = Retriever(parts["names"], embedder).search(["Carolna"], 4)
    assert hits[0].respelt == {"Carolna": ("Carolina",)}
    parts["typos"] = opener("calls", documents(["Carolina called.", "Nobody answered."], "/docs/c"))
    hits = Retriever(JoinedCollections(parts), embedder).search(["Carolna"], 4)
    assert hits[0].respelt == {"Carolna": ("Carolina",)}


def test_collections_of_different_models_are_searched_by_words_alone(opener: Opener, embedder: Embedder) -> None:
    parts = {
        "here": opener("here", documents(PAPERS, "/docs/p")),
        "there": opener("there", documents(MAIL, "/docs/m"), "another-model"),
    }
    retriever = Retriever(JoinedCollections(parts), embedder)
    hits = retriever.search(["heat pump"], 6)
    assert {hit.chunk.text for hit in hits} == {PAPERS[0], PAPERS[1], MAIL[0]}
    assert {hit.cosine for hit in hits} == {None}
    with pytest.raises(CollectionMismatch, match=r"here and there were embedded with different models"):
        retriever.search(["heat pump"], 6, mode=SearchMode.MEANING)
