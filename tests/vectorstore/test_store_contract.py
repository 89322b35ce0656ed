"""The contract of a vector store, tested with Qdrant Edge, through the process that serves it, and on a real server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from qdrant_client import QdrantClient

from support.chunks import SPEC, make_chunk, make_vectors
from support.qdrant import QdrantNode, memory_store, needs_qdrant, running_qdrant
from support.serving import serving
from vectorstore.edge import collection as edge_collection
from vectorstore.edge import store as edge_store
from vectorstore.edge.store import EdgeStore
from vectorstore.embedded import EmbeddedStore
from vectorstore.errors import CollectionMismatch, CollectionNotFound
from vectorstore.models import Chunk, ChunkFilter, ChunkKind, Counts, PageSpan, SearchMode, TableHeader
from vectorstore.qdrant_server import store as server_store
from vectorstore.qdrant_server.store import ServerStore, connect
from vectorstore.remote.client import RemoteCollection
from vectorstore.store import Collection, Query, VectorStore
from vectorstore.text import bm25

pytestmark = [
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant"),
    pytest.mark.filterwarnings("ignore:Local mode performs exact"),
]

CHUNKS = [
    make_chunk("Heat pumps heat a house.", document="/docs/energy/pumps.md", index=0, metadata={"year": 2023}),
    make_chunk("Below -20 °C the Borea still heats.", document="/docs/energy/pumps.md", index=1, kind=ChunkKind.LIST),
    make_chunk("Model | Price\nBorea | 9000", document="/docs/energy/sub/prices.csv", kind=ChunkKind.TABLE),
    make_chunk("A cake needs flour, eggs and heat.", document="/docs/food/cake.md", metadata={"year": 2024}),
    make_chunk("The court dismissed the appeal.", document="/docs/energy-law/case.md", metadata={"year": "2024"}),
]
VECTORS = make_vectors(len(CHUNKS))


@pytest.fixture(scope="module")
def qdrant() -> Iterator[QdrantNode]:
    """One server for all tests."""
    with running_qdrant() as node:
        yield node


@pytest.fixture(params=["edge", "remote", "local", pytest.param("qdrant", marks=needs_qdrant)])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], VectorStore]]:
    """Opens a store over the same data; the previous one is closed, as at the end of a program."""
    with ExitStack() as clients:

        def local() -> VectorStore:
            clients.close()
            client = QdrantClient(path=str(tmp_path), force_disable_check_same_thread=True)
            clients.callback(client.close)
            return memory_store(client)

        def server() -> VectorStore:
            return ServerStore(connect(request.getfixturevalue("qdrant").url, None))

        def drop_all() -> None:
            for spec in server().list():
                server().drop(spec.name)

        def remote() -> VectorStore:
            clients.close()
            clients.enter_context(serving(tmp_path))
            return EmbeddedStore(tmp_path)

        kinds = {
            "edge": lambda: EdgeStore(tmp_path),
            "remote": remote,
            "local": local,
            "qdrant": server,
        }
        yield kinds[request.param]
        if request.param == "qdrant":
            drop_all()


@pytest.fixture
def store(stores: Callable[[], VectorStore]) -> VectorStore:
    return stores()


@pytest.fixture
def papers(store: VectorStore) -> Iterator[Collection]:
    """An open collection with CHUNKS."""
    with store.create(SPEC) as collection:
        collection.upsert(CHUNKS, VECTORS)
        yield collection


def texts(collection: Collection, **where: object) -> set[str]:
    return {chunk.text for chunk in collection.scan(ChunkFilter.model_validate(where))}


ALL_TOM = " ".join(["All Tom", *(f"w{number}" for number in range(60))])


class TestCollections:
    def test_a_new_store_is_empty(self, store: VectorStore) -> None:
        assert store.list() == []

    def test_collections_are_listed_by_name(self, store: VectorStore) -> None:
        specs = [SPEC.model_copy(update={"name": name}) for name in ("b", "a", "c")]
        for spec in specs:
            store.create(spec).close()
        assert [spec.name for spec in store.list()] == ["a", "b", "c"]
        assert store.list()[1] == specs[0]

    def test_data_survives_a_restart(self, stores: Callable[[], VectorStore]) -> None:
        with stores().create(SPEC) as collection:
            collection.upsert(CHUNKS, VECTORS)
            before = collection.search(SearchMode.HYBRID, Query("heat", VECTORS[0]), limit=5)
        with stores().open("papers") as collection:
            assert collection.spec == SPEC
            assert sorted(collection.scan(), key=str) == sorted(CHUNKS, key=str)
            after = collection.search(SearchMode.HYBRID, Query("heat", VECTORS[0]), limit=5)
            assert [hit.chunk for hit in after] == [hit.chunk for hit in before]
            assert [hit.score for hit in after] == pytest.approx([hit.score for hit in before])

    def test_create_opens_an_existing_collection(self, store: VectorStore) -> None:
        with store.create(SPEC) as collection:
            collection.upsert(CHUNKS, VECTORS)
        with store.create(SPEC) as collection:
            assert collection.count().chunks == len(CHUNKS)

    @pytest.mark.parametrize(
        ("field", "value"), [("embedding_model", "other-model"), ("dimension", 9), ("chunking", "sections-v1/512")]
    )
    def test_create_rejects_other_settings(self, store: VectorStore, field: str, value: object) -> None:
        store.create(SPEC).close()
        with pytest.raises(CollectionMismatch) as raised:
            store.create(SPEC.model_copy(update={field: value}))
        assert repr(getattr(SPEC, field)) in str(raised.value)
        assert repr(value) in str(raised.value)
        assert "candor drop papers" in raised.value.command

    def test_an_unknown_collection_raises_with_the_existing_names(self, store: VectorStore) -> None:
        with pytest.raises(CollectionNotFound) as raised:
            store.open("papers")
        assert "No collection exists yet" in raised.value.command
        store.create(SPEC).close()
        for find in (lambda: store.open("../papers"), lambda: store.drop("other")):
            with pytest.raises(CollectionNotFound) as raised:
                find()
            assert "Existing collections: papers" in raised.value.command

    def test_drop_deletes_the_contents(self, store: VectorStore) -> None:
        with store.create(SPEC) as collection:
            collection.upsert(CHUNKS, VECTORS)
        store.drop("papers")
        assert store.list() == []
        with store.create(SPEC.model_copy(update={"dimension": 4})) as again:
            assert again.count() == Counts(documents=0, chunks=0)

    def test_close_may_be_repeated(self, store: VectorStore) -> None:
        collection = store.create(SPEC)
        assert not collection.closed
        collection.close()
        collection.close()


class TestWriting:
    def test_every_field_of_a_chunk_is_kept(self, papers: Collection) -> None:
        full = Chunk(
            id="0f0e8c5a-7d0c-5a55-9b3a-3b9c6a3f1c11",
            document_id="d",
            document="/docs/über uns/Bericht „2024“.pdf",
            name="über uns/Bericht „2024“.pdf",
            version="ab" * 32,
            index=7,
            text="Zeile 1\r\n\tZeile\u00a02 \U0001f600",
            start=10,
            end=29,
            kind=ChunkKind.TABLE,
            title="Bericht",
            section=("1", "1.2 Wärme"),
            page_spans=(PageSpan(number=3, start=0, end=20), PageSpan(number=4, start=20, end=40)),
            header=TableHeader(text="| a | b |", start=0, end=9),
            metadata={
                "text": "1", "integer": 1, "true": True, "real": 1.0, "small": 0.1, "big": 2**53 + 1,
                "a.b c\"[0]": "x", "": "",
            },
        )  # fmt: skip
        papers.upsert([full], make_vectors(1))
        [found] = papers.scan(ChunkFilter(documents=("d",)))
        assert found == full
        assert {key: type(value) for key, value in found.metadata.items()} == {
            key: type(value) for key, value in full.metadata.items()
        }

    def test_a_chunk_with_the_same_id_is_replaced(self, papers: Collection) -> None:
        changed = CHUNKS[0].model_copy(update={"text": "An entirely new wording.", "end": 24})
        papers.upsert([changed], VECTORS[:1])
        assert papers.count().chunks == len(CHUNKS)
        assert changed in list(papers.scan())
        assert papers.search(SearchMode.WORDS, Query("wording"), limit=1)[0].chunk == changed
        assert CHUNKS[0].id not in {hit.chunk.id for hit in papers.search(SearchMode.WORDS, Query("house"), limit=9)}

    def test_many_chunks_are_written_at_once(self, papers: Collection) -> None:
        many = [make_chunk(f"passage {number}", document="/docs/long.txt", index=number) for number in range(700)]
        papers.upsert(many, make_vectors(700))
        assert list(papers.scan(ChunkFilter(documents=("id of /docs/long.txt",)))) == many

    def test_ids_without_a_chunk_are_missing(self, papers: Collection) -> None:
        absent = [make_chunk("absent", index=number).id for number in (7, 8)]
        assert papers.missing([absent[1], *(chunk.id for chunk in CHUNKS), absent[0]]) == [absent[1], absent[0]]
        assert papers.missing([]) == []

    def test_an_empty_upsert_writes_nothing(self, papers: Collection) -> None:
        papers.upsert([], make_vectors(0))
        assert papers.count().chunks == len(CHUNKS)

    @pytest.mark.parametrize("shape", [(1, 7), (2, 8), (8,)])
    def test_vectors_of_a_wrong_shape_raise(self, papers: Collection, shape: tuple[int, ...]) -> None:
        with pytest.raises(CollectionMismatch, match="shape"):
            papers.upsert([make_chunk("new", index=9)], np.ones(shape, dtype=np.float32))
        assert papers.count().chunks == len(CHUNKS)

    def test_delete_removes_only_selected_chunks(self, papers: Collection) -> None:
        papers.delete(ChunkFilter(documents=(CHUNKS[0].document_id,)))
        assert texts(papers) == {chunk.text for chunk in CHUNKS[2:]}
        papers.delete(ChunkFilter(folder="/docs/energy", kinds=(ChunkKind.PROSE,)))
        assert texts(papers) == {chunk.text for chunk in CHUNKS[2:]}
        papers.delete(ChunkFilter())
        assert papers.count() == Counts(documents=0, chunks=0)


class TestFilters:
    @pytest.mark.parametrize(
        ("where", "selected"),
        [
            ({}, [0, 1, 2, 3, 4]),
            ({"documents": ("id of /docs/food/cake.md", "id of /docs/energy/sub/prices.csv")}, [2, 3]),
            ({"documents": ("unknown",)}, []),
            ({"folder": "/docs/energy"}, [0, 1, 2]),
            ({"folder": "/docs/energy/"}, [0, 1, 2]),
            ({"folder": "/docs/energy/sub"}, [2]),
            ({"folder": "/docs/ener"}, []),
            ({"kinds": (ChunkKind.LIST, ChunkKind.TABLE)}, [1, 2]),
            ({"positions": (1, 3)}, [1]),
            ({"documents": ("id of /docs/energy/pumps.md",), "positions": (0, 0)}, [0]),
            ({"metadata": {"year": 2024}}, [3]),
            ({"metadata": {"year": "2024"}}, [4]),
            ({"metadata": {"year": 2023, "month": 1}}, []),
            ({"folder": "/docs/energy", "kinds": (ChunkKind.PROSE,)}, [0]),
        ],
    )
    def test_conditions(self, papers: Collection, where: dict[str, object], selected: list[int]) -> None:
        wanted = [CHUNKS[position] for position in selected]
        assert texts(papers, **where) == {chunk.text for chunk in wanted}
        filter_ = ChunkFilter.model_validate(where)
        assert papers.count(filter_) == Counts(documents=len({chunk.document for chunk in wanted}), chunks=len(wanted))
        for mode in (SearchMode.MEANING, SearchMode.HYBRID):
            hits = papers.search(mode, Query("heat", VECTORS[0]), limit=9, where=filter_)
            assert {hit.chunk.text for hit in hits} == {chunk.text for chunk in wanted}

    def test_sparse_search_applies_the_filter(self, papers: Collection) -> None:
        hits = papers.search(SearchMode.WORDS, Query("heat"), limit=9, where=ChunkFilter(folder="/docs/food"))
        assert [hit.chunk for hit in hits] == [CHUNKS[3]]


class TestSearching:
    def test_dense_finds_the_nearest_vectors(self, papers: Collection) -> None:
        hits = papers.search(SearchMode.MEANING, Query("", VECTORS[2]), limit=2)
        unit = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
        nearest = np.argsort(-(unit @ unit[2]))[:2]
        assert [hit.chunk for hit in hits] == [CHUNKS[position] for position in nearest]
        assert hits[0].score == pytest.approx(1, abs=1e-5)

    def test_sparse_finds_stems_and_ranks_rare_words_first(self, papers: Collection) -> None:
        hits = papers.search(SearchMode.WORDS, Query("heating houses"), limit=9)
        assert hits[0].chunk == CHUNKS[0]
        assert {hit.chunk.text for hit in hits} == {CHUNKS[position].text for position in (0, 1, 3)}

    def test_sparse_also_searches_title_and_section(self, papers: Collection) -> None:
        chunk = make_chunk("It costs 12 francs.", index=9, title="Museum", section=("Tickets",))
        papers.upsert([chunk], make_vectors(1))
        [hit] = papers.search(SearchMode.WORDS, Query("museum ticket"), limit=9)
        assert hit.chunk == chunk

    def test_hybrid_prefers_chunks_in_both_rankings(self, papers: Collection) -> None:
        hits = papers.search(SearchMode.HYBRID, Query("court appeal", VECTORS[4]), limit=9)
        assert hits[0].chunk == CHUNKS[4]
        assert len(hits) == len(CHUNKS)

    def test_hybrid_fuses_scores_not_only_ranks(self, store: VectorStore) -> None:
        """A chunk far ahead in BM25 and slightly behind in dense search is first."""
        texts = [
            "quark in a story",
            "boson in a list",
            "quark gluon meson",
            *(f"quark and many more{n}" for n in range(7)),
        ]
        chunks = [make_chunk(text, document=f"/docs/{number}.md") for number, text in enumerate(texts)]
        angles = np.linspace(0.3, 0.4, len(chunks))
        vectors = np.zeros((len(chunks), SPEC.dimension), dtype=np.float32)
        vectors[:, 0], vectors[:, 1] = np.cos(angles), np.sin(angles)
        query = np.eye(SPEC.dimension, dtype=np.float32)[0]
        with store.create(SPEC) as collection:
            collection.upsert(chunks, vectors)

            def found(mode: SearchMode) -> list[str]:
                hits = collection.search(mode, Query("quark gluon meson", query), limit=3)
                return [hit.chunk.text for hit in hits]

            assert found(SearchMode.WORDS)[:2] == ["quark gluon meson", "quark in a story"]
            assert found(SearchMode.MEANING) == ["quark in a story", "boson in a list", "quark gluon meson"]
            assert found(SearchMode.HYBRID)[:2] == ["quark gluon meson", "quark in a story"]

    @pytest.mark.parametrize("query", ["INV48213", "Which text has the reference number INV48213?"])
    @pytest.mark.parametrize("mode", [SearchMode.HYBRID, SearchMode.WORDS])
    def test_an_exact_code_is_first(self, store: VectorStore, query: str, mode: SearchMode) -> None:
        """Whatever the vectors say, and though shorter passages have other rare words of the question."""
        rng = np.random.default_rng(1)
        fillers = [" ".join(f"w{n}" for n in rng.integers(0, 900, size=60)) for _ in range(120)]
        texts = [*fillers, f"{fillers[0]} INV48213", "A text.", "Which number?", "reference"]
        chunks = [make_chunk(text, document=f"/docs/{number}.md") for number, text in enumerate(texts)]
        vectors = make_vectors(len(chunks))
        with store.create(SPEC) as collection:
            collection.upsert(chunks, vectors)
            found = collection.search(mode, Query(query, -vectors[120]), limit=3)
        assert found[0].chunk == chunks[120]

    @pytest.mark.parametrize("text", ["", "the of and", "?!", "xyzzy"])
    def test_unknown_words_do_not_affect_the_ranking(self, papers: Collection, text: str) -> None:
        assert papers.search(SearchMode.WORDS, Query(text), limit=9) == []
        dense = papers.search(SearchMode.MEANING, Query(text, VECTORS[1]), limit=9)
        hybrid = papers.search(SearchMode.HYBRID, Query(text, VECTORS[1]), limit=9)
        assert [hit.chunk for hit in hybrid] == [hit.chunk for hit in dense]

    def test_a_misspelt_word_is_searched_as_the_nearest_words(self, papers: Collection) -> None:
        hits = papers.search(SearchMode.WORDS, Query("The huose and its appael"), limit=9)
        assert {hit.chunk.text: hit.words for hit in hits} == {
            CHUNKS[0].text: ("huose",), CHUNKS[4].text: ("appael",),
        }  # fmt: skip
        assert [hit.respelt for hit in hits] == 2 * [{"huose": ("house",), "appael": ("appeal",)}]

    def test_a_word_that_only_a_filter_excludes_is_not_misspelt(self, papers: Collection) -> None:
        where = ChunkFilter(documents=(CHUNKS[0].document_id,))
        assert papers.search(SearchMode.WORDS, Query("flour houses"), limit=9, where=where)[0].respelt == {}

    @pytest.mark.parametrize("word", ["houses", "haet", "B0rea", "90000", "zzzzzzz"])
    def test_present_and_short_words_and_codes_keep_their_spelling(self, papers: Collection, word: str) -> None:
        hits = papers.search(SearchMode.HYBRID, Query(word, VECTORS[1]), limit=9)
        assert [hit.respelt for hit in hits] == 5 * [{}]

    @pytest.mark.parametrize(
        ("query", "best"),
        [
            ("94417", "In the archive of the town the reference is 94417."),
            ("elections", "The elections of May."),
            ("Ann Berg", "Ann Berg and Tom Lund signed."),
            ("All Tom", ALL_TOM),
        ],
    )
    def test_the_word_and_the_name_as_written_come_first(self, store: VectorStore, query: str, best: str) -> None:
        """Also a name with a word that BM25 ignores, in a passage that many shorter ones are better than."""
        texts = [
            ALL_TOM,
            "Electing an election elects.",
            "Berg met Ann and Lund. Ann told Berg; then Berg met Ann.",
            "The elections of May.",
            "At 33.94417 degrees.",
            "In the archive of the town the reference is 94417.",
        ]
        texts += ["Ann Berg and Tom Lund signed.", *(f"Filler {n} of the elected Tom" for n in range(30))]
        chunks = [make_chunk(text, document=f"/docs/{number}.md") for number, text in enumerate(texts)]
        with store.create(SPEC) as collection:
            collection.upsert(chunks, make_vectors(len(chunks)))
            hits = collection.search(SearchMode.WORDS, Query(query), limit=1)
        assert [hit.chunk.text for hit in hits] == [best]

    def test_a_name_in_a_question_beats_the_words_around_it(self, store: VectorStore) -> None:
        """Though its parts, and another word of the question, stand in a shorter passage."""
        fillers = [" ".join(f"w{n * 40 + m}" for m in range(40)) for n in range(40)]
        texts = [f"{fillers[0]} Ann Berg", "Berg told Ann of a page.", *(f"{each} page" for each in fillers)]
        chunks = [make_chunk(text, document=f"/docs/{number}.md") for number, text in enumerate(texts)]
        with store.create(SPEC) as collection:
            collection.upsert(chunks, np.ones((len(chunks), SPEC.dimension), np.float32))

            def best(query: str) -> str:
                vector = np.ones(SPEC.dimension, np.float32)
                return collection.search(SearchMode.HYBRID, Query(query, vector), limit=1)[0].chunk.text

            assert best("On which page is Ann Berg mentioned?") == texts[0]
            assert best("On which page is Berg mentioned?") == texts[1]

    def test_a_name_counts_though_other_passages_have_more_of_the_question(self, store: VectorStore) -> None:
        """More passages than are compared for being the best ones."""
        named = " ".join(f"w{n}" for n in range(25)) + " Ann Berg"
        texts = [named]
        for name in ("Ann", "Berg"):
            texts += [f"page of reference, {name} {n}" for n in range(8)]
            texts += [f"{name} met them {n}" for n in range(12)]
        chunks = [make_chunk(text, document=f"/docs/{number}.md") for number, text in enumerate(texts)]
        with store.create(SPEC) as collection:
            collection.upsert(chunks, np.ones((len(chunks), SPEC.dimension), np.float32))
            query = Query("Which page has the reference of Ann Berg?", np.ones(SPEC.dimension, np.float32))
            assert collection.search(SearchMode.HYBRID, query, limit=1)[0].chunk.text == named

    @pytest.mark.parametrize(
        ("query", "name", "other"),
        [
            ("Ann Berg", "Ann Berg", "Berg wrote a page to Ann"),
            ("ann berg", "Ann Berg", "Berg wrote a page to Ann"),
            ("Which page has the reference of Ann Berg?", "Ann Berg", "Berg wrote a page to Ann"),
            ("My Last", "My Last", "Last"),  # a name with a stop word
            ("What do the documents say about My Last?", "My Last", "Last"),
        ],
    )
    def test_a_name_is_found_though_many_passages_have_its_parts(
        self, store: VectorStore, query: str, name: str, other: str
    ) -> None:
        """More passages than are compared with the query."""
        named = " ".join(f"w{n}" for n in range(25)) + f" down to {name}"
        texts = [named, *(f"{other} {n}" for n in range(150))]
        chunks = [make_chunk(text, document=f"/docs/{number}.md") for number, text in enumerate(texts)]
        with store.create(SPEC) as collection:
            collection.upsert(chunks, np.ones((len(chunks), SPEC.dimension), np.float32))
            asked = Query(query, np.ones(SPEC.dimension, np.float32))
            assert collection.search(SearchMode.HYBRID, asked, limit=1)[0].chunk.text == named

    @pytest.mark.parametrize(
        ("query", "mode"),
        [
            ("Berg Lund", SearchMode.WORDS),
            ("Berg Lund", SearchMode.HYBRID),
            ("What do they say about Berg Lund?", SearchMode.HYBRID),
        ],
    )
    @pytest.mark.parametrize("blank", [" ", "\n"])
    def test_two_words_as_typed_beat_those_with_signs_between(
        self, store: VectorStore, query: str, blank: str, mode: SearchMode
    ) -> None:
        named = f"The towns are Ober Berg{blank}Lund Elm"
        texts = [
            named,
            *(f"The {each} is Ober Berg | Lund Elm" for each in ("cup", "tie")),
            *(f"w{n}" for n in range(40)),
        ]
        chunks = [make_chunk(text, document=f"/docs/{number}.md") for number, text in enumerate(texts)]
        with store.create(SPEC) as collection:
            collection.upsert(chunks, np.ones((len(chunks), SPEC.dimension), np.float32))
            asked = Query(query, np.ones(SPEC.dimension, np.float32))
            assert collection.search(mode, asked, limit=1)[0].chunk.text == named

    @pytest.mark.parametrize(("asked", "best"), [("sugar", 0), ("page", 1)])
    def test_a_question_is_about_the_word_that_the_model_attends_to(
        self, store: VectorStore, asked: str, best: int
    ) -> None:
        text = "I need the page on which sugar is mentioned"
        texts = ["Sugar from beet.", "A page of notes.", *(f"Bread and butter {n}" for n in range(20))]
        chunks = [make_chunk(each, document=f"/docs/{number}.md") for number, each in enumerate(texts)]
        attention = np.full(len(text), 0.001, np.float32)
        attention[text.index(asked) :][: len(asked)] = 0.1
        with store.create(SPEC) as collection:
            collection.upsert(chunks, np.ones((len(chunks), SPEC.dimension), np.float32))
            query = Query(text, np.ones(SPEC.dimension, np.float32), attention)
            assert collection.search(SearchMode.HYBRID, query, limit=1)[0].chunk.text == texts[best]

    def test_a_hit_says_why_it_was_found(self, papers: Collection) -> None:
        vector = VECTORS[1] / np.linalg.norm(VECTORS[1])
        best, *others = papers.search(SearchMode.HYBRID, Query("Which heating below -20 °C?", vector), limit=9)
        assert (best.chunk, best.words) == (CHUNKS[1], ("heating", "20 °C"))
        assert best.cosine == pytest.approx(1, abs=0.001)
        assert {hit.chunk.text: hit.words for hit in others}[CHUNKS[3].text] == ("heating",)

    def test_equal_scores_are_ordered_by_id(self, papers: Collection) -> None:
        twins = [make_chunk("quantum entanglement", document=f"/docs/twin{number}.md") for number in range(120)]
        papers.upsert(twins, np.ones((120, SPEC.dimension), dtype=np.float32))
        in_order = sorted(chunk.id for chunk in twins)
        for mode, vector in ((SearchMode.MEANING, np.ones(8, dtype=np.float32)), (SearchMode.WORDS, None)):
            for _ in range(3):
                hits = papers.search(mode, Query("entanglement", vector), limit=10)
                assert [hit.chunk.id for hit in hits] == in_order[:10]

    def test_a_repeated_search_gives_the_same_hits(self, papers: Collection) -> None:
        first = papers.search(SearchMode.HYBRID, Query("heat", VECTORS[3]), limit=3)
        assert all(papers.search(SearchMode.HYBRID, Query("heat", VECTORS[3]), limit=3) == first for _ in range(20))

    def test_a_missing_or_short_vector_raises(self, papers: Collection) -> None:
        if not isinstance(papers, RemoteCollection):  # which embeds the text
            with pytest.raises(ValueError, match="needs the query's vector"):
                papers.search(SearchMode.HYBRID, Query("heat"), limit=1)
        with pytest.raises(CollectionMismatch, match="any-model"):
            papers.search(SearchMode.MEANING, Query("heat", VECTORS[0][:7]), limit=1)

    def test_an_empty_collection_has_no_hits(self, store: VectorStore) -> None:
        with store.create(SPEC) as empty:
            assert empty.search(SearchMode.HYBRID, Query("heat", VECTORS[0]), limit=5) == []
            assert list(empty.scan()) == []

    def test_searching_while_writing(self, request: pytest.FixtureRequest, papers: Collection) -> None:
        if "local" in request.node.callspec.params.values():
            pytest.skip("the local mode of qdrant-client does not support threads")
        found: list[int] = []

        def search() -> None:
            for _ in range(20):
                found.append(len(papers.search(SearchMode.HYBRID, Query("heat", VECTORS[0]), limit=3)))

        threads = [threading.Thread(target=search) for _ in range(4)]
        for thread in threads:
            thread.start()
        for number in range(10):
            papers.upsert([make_chunk(f"heat {number}", document="/docs/new.md", index=number)], make_vectors(1))
        for thread in threads:
            thread.join()
        assert found == [3] * 80

    def test_optimizing_keeps_the_results(self, papers: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(edge_collection, "INDEX_AFTER", 1)
        before = papers.search(SearchMode.HYBRID, Query("heat", VECTORS[0]), limit=5)
        papers.optimize()
        assert papers.search(SearchMode.HYBRID, Query("heat", VECTORS[0]), limit=5) == before


def test_scan_is_ordered_by_document_name_and_position(store: VectorStore) -> None:
    chunks = [
        make_chunk(f"{name} {index}", document=f"/docs/{name}", name=name, index=index)
        for name in ("b.md", "a.md", "a/c.md")
        for index in (10, 2, 0)
    ]
    with store.create(SPEC) as collection:
        collection.upsert(chunks, make_vectors(len(chunks)))
        assert [(chunk.name, chunk.index) for chunk in collection.scan()] == sorted(
            (chunk.name, chunk.index) for chunk in chunks
        )


def test_both_stores_give_the_same_results(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    words = [f"word{number}" for number in range(300)]
    texts = [" ".join(rng.choice(words, size=length)) for length in rng.integers(5, 405, size=300)]
    texts += [f"{rng.choice(words)} ID{number // 2}" for number in range(100)]  # many ties, and rare words
    chunks = [make_chunk(text, document=f"/docs/{n % 7}.md", index=n) for n, text in enumerate(texts)]
    vectors = make_vectors(400)
    embedded, server = EdgeStore(tmp_path), memory_store()
    with embedded.create(SPEC) as one, server.create(SPEC) as other:
        one.upsert(chunks, vectors)
        other.upsert(chunks, vectors)
        assert one.count() == other.count()
        assert list(one.scan()) == list(other.scan())
        for mode in SearchMode:
            for query in make_vectors(10, seed=2):
                text = f"{' '.join(rng.choice(words, size=rng.integers(1, 5)))} ID{rng.integers(0, 60)}"
                hits, others = (c.search(mode, Query(text, query), limit=20) for c in (one, other))
                assert [hit.chunk for hit in hits] == [hit.chunk for hit in others]
                assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in others], rel=1e-4)


def test_a_filter_can_exclude_metadata(papers: Collection) -> None:
    excluded = {"Heat pumps heat a house.", "A cake needs flour, eggs and heat."}
    assert texts(papers, without={"year": (2023, 2024)}) == {chunk.text for chunk in CHUNKS} - excluded
    assert texts(papers, without={"year": ()}) == {chunk.text for chunk in CHUNKS}
    where = ChunkFilter(without={"year": (2023,)})
    found = papers.search(SearchMode.HYBRID, Query("heat", VECTORS[0]), limit=10, where=where)
    assert CHUNKS[0].id not in {hit.chunk.id for hit in found}


def test_vectors_leaves_out_missing_chunks(papers: Collection) -> None:
    absent = make_chunk("Not there.", document="/docs/absent.md").id
    vectors = papers.vectors([CHUNKS[2].id, absent])
    assert vectors.keys() == {CHUNKS[2].id}
    np.testing.assert_allclose(vectors[CHUNKS[2].id], VECTORS[2] / np.linalg.norm(VECTORS[2]), atol=1e-6)
    assert papers.vectors([]) == {}


@pytest.mark.parametrize("kind", ["edge", "local"])
def test_words_of_another_analysis_are_indexed_again(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the stored texts, once, with the same dense vectors."""
    module = edge_store if kind == "edge" else server_store
    store = EdgeStore(tmp_path) if kind == "edge" else memory_store()
    chunks = [*CHUNKS, make_chunk("A contract with AT&T.", document="/docs/att.md")]
    with monkeypatch.context() as earlier:
        earlier.setattr(bm25, "forms", lambda text, language: [])
        earlier.setattr(module, "ANALYSIS", "words-v0")
        with store.create(SPEC) as collection:
            collection.upsert(chunks, make_vectors(len(chunks)))
            before = collection.vectors([chunks[-1].id])
            assert collection.search(SearchMode.WORDS, Query("AT&T"), limit=3) == []
    with store.open(SPEC.name) as collection:
        assert [hit.chunk for hit in collection.search(SearchMode.WORDS, Query("AT&T"), limit=3)] == [chunks[-1]]
        assert sorted(collection.scan(), key=str) == sorted(chunks, key=str)
        np.testing.assert_array_equal(collection.vectors([chunks[-1].id])[chunks[-1].id], before[chunks[-1].id])
    monkeypatch.setattr(bm25, "forms", None)  # indexing again would fail
    store.create(SPEC).close()
