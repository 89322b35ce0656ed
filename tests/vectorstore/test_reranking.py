"""Rerankers: a cross-encoder, endpoints of both forms over real HTTP, postprocessors of LlamaIndex."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from llama_index.core.schema import NodeWithScore, TextNode
from pydantic import ValidationError

from support.chunks import make_chunk
from support.embedding_server import EmbeddingServer, Fault
from support.models import write_cross_encoder
from vectorstore.edge.store import EdgeStore
from vectorstore.embedding.embedder import make_embedder
from vectorstore.errors import EmbeddingModelError, EndpointError, RerankError, StoreError
from vectorstore.models import CollectionSpec, Hit, SearchMode
from vectorstore.reranking import Reranker, make_reranker, rerank
from vectorstore.retrieval import Retriever
from vectorstore.settings import RerankSettings

PASSAGES = [
    "Which pump is for the cellar? A drain pump.",
    "The pump ERR-4012 stands for a blocked filter.",
    "In a frost the pump of the house works at half its power.",
    "Whisk the eggs with the sugar.",
]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


@pytest.fixture
def retriever(server: EmbeddingServer, tmp_path: Path) -> Iterator[Retriever]:
    embedder = make_embedder(server.settings("openai"))
    chunks = [make_chunk(text, document=f"/docs/{index}.md") for index, text in enumerate(PASSAGES)]
    spec = CollectionSpec(
        name="papers", embedding_model=embedder.model, dimension=embedder.dimension, chunking="sections-v1/256"
    )
    with EdgeStore(tmp_path / "store").create(spec) as collection:
        collection.upsert(chunks, embedder.embed_passages([chunk.embedded_text for chunk in chunks]))
        yield Retriever(collection, embedder)


def make(settings: RerankSettings) -> Reranker:
    reranker = make_reranker(settings)
    assert reranker
    return reranker


def found(hits: Sequence[Hit]) -> list[int]:
    return [PASSAGES.index(hit.chunk.text) for hit in hits]


@pytest.mark.parametrize("tei", [False, True], ids=["cohere", "tei"])
def test_both_forms_of_the_endpoint(server: EmbeddingServer, *, tei: bool) -> None:
    server.tei = tei
    reranker = make(server.rerank_settings(model="tiny-rerank", api_key="secret"))
    assert reranker.scores("eggs and sugar", PASSAGES) == [0, 0, 0, 1]
    assert reranker.scores("eggs with the", PASSAGES)[3] == 3
    path, body, headers = server.requests[-1]
    assert (path, body["model"], headers["Authorization"]) == ("/rerank", "tiny-rerank", "Bearer secret")
    assert len(server.requests) == 2 + tei, "the form that works is remembered"


def test_more_passages_than_a_request_may_have(server: EmbeddingServer) -> None:
    server.batch, server.tei = 1, True
    assert make(server.rerank_settings()).scores("eggs", PASSAGES) == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault(200, {"results": []}), "scored 0 of 3 passages"),
        (Fault(200, {"results": [{"index": 0, "relevance_score": 1}] * 4}), "scored 1 of 3 passages"),
        (Fault(200, {"results": [{"index": each, "score": 1} for each in (0, 1, 2, 0)]}), "3 of 3 passages, with 4"),
        (Fault(200, {"results": [{"index": each, "score": 1} for each in (-1, 1, 7)]}), "scored 1 of 3 passages"),
        (Fault(302, b"", {"Location": "/v1/rerank"}), "redirects to /v1/rerank .*`base_url`"),
        (Fault(200, {"data": []}), "does not answer as its provider"),
        (Fault(404, {"detail": "Not Found"}), "404.*Check `model` and `base_url`"),
        (Fault(400, {"error": "the model is no reranker"}), "the model is no reranker"),
    ],
)
def test_a_reranker_that_fails_is_an_error_of_the_search(
    server: EmbeddingServer, retriever: Retriever, fault: Fault, message: str
) -> None:
    server.faults += [fault, fault] if fault.status == 400 else [fault]
    with pytest.raises(StoreError, match=message):
        retriever.search(["pump"], 4, mode=SearchMode.WORDS, reranker=make(server.rerank_settings()))


def test_it_waits_for_an_overloaded_endpoint_and_says_when_there_is_none(server: EmbeddingServer) -> None:
    reranker = make(server.rerank_settings())
    server.faults.append(Fault(429, {"error": "busy"}, {"Retry-After": "0"}))
    assert reranker.scores("eggs", PASSAGES) == [0, 0, 0, 1]
    server.stop()
    with pytest.raises(EndpointError, match=r"No server answers at .*/rerank.*research\.rerank"):
        reranker.scores("eggs", PASSAGES)
    server.start(0)


def test_agents_searches_are_reranked_for_each_query(server: EmbeddingServer, retriever: Retriever) -> None:
    reranker = make(server.rerank_settings())
    query = "power of the pump in a frost"
    assert found(retriever.search([query], 4, reranker=reranker))[0] == 2
    both = retriever.search([query, "sugar with eggs"], 2, reranker=reranker)
    assert set(found(both)) == {2, 3}
    asked = [body["query"] for path, body, _ in server.requests if path == "/rerank"]
    assert asked == [query, query, "sugar with eggs"]


def test_a_passage_with_the_identifier_stays_first(server: EmbeddingServer, retriever: Retriever) -> None:
    query = "which pump is for ERR-4012 ?"
    scores = make(server.rerank_settings()).scores(query, PASSAGES)
    assert scores[0] > scores[1], "the reranker would put another first"
    hits = retriever.search([query], 4, mode=SearchMode.HYBRID, reranker=make(server.rerank_settings()))
    assert found(hits)[:2] == [1, 0]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_a_score_that_is_not_finite_is_refused(retriever: Retriever, monkeypatch: pytest.MonkeyPatch) -> None:
    reranker = Reranker(RerankSettings(provider="local", model="any"))
    monkeypatch.setattr(reranker, "_score", lambda query, texts: [float("nan")] * len(texts))
    with pytest.raises(RerankError, match="not finite"):
        rerank(reranker, "pump", retriever.search(["pump"], 4))


def test_a_cross_encoder_in_a_folder(tmp_path: Path) -> None:
    model = write_cross_encoder(tmp_path)
    scores = make(RerankSettings(provider="local", model=str(model))).scores("pump", PASSAGES)
    assert len(scores) == 4
    assert len(set(scores)) > 1
    classifier = write_cross_encoder(tmp_path / "classifier", outputs=3)
    with pytest.raises(RerankError, match="3 outputs, so it is a classifier"):
        make(RerankSettings(provider="local", model=str(classifier))).scores("pump", PASSAGES)
    (tmp_path / "empty").mkdir()
    with pytest.raises(RerankError, match=r"cannot be loaded.*research\.rerank"):
        make(RerankSettings(provider="local", model=str(tmp_path / "empty"))).scores("pump", PASSAGES)


class TestLlamaIndex:
    def test_a_published_integration(self, server: EmbeddingServer) -> None:
        server.tei = True
        path = "llama_index.postprocessor.tei_rerank.TextEmbeddingInference"
        arguments = {"base_url": server.url, "top_n": 2}
        reranker = make(RerankSettings(provider="llama_index", model=path, arguments=arguments))
        scores = reranker.scores("eggs with sugar", PASSAGES)
        assert sorted(scores) == [0.25, 0.5, 0.75, 1.0]
        assert server.requests[-1][1]["query"] == "eggs with sugar"
        server.faults.append(Fault(503, b"no JSON"))
        with pytest.raises(RerankError, match=r"failed: .*Check its `arguments`"):
            reranker.scores("eggs", PASSAGES)

    def test_what_it_leaves_out_follows(self) -> None:
        path = "llama_index.core.postprocessor.SimilarityPostprocessor"
        settings = RerankSettings(provider="llama_index", model=path, arguments={"similarity_cutoff": 0.6})
        assert make(settings).scores("eggs", PASSAGES) == [1.0, 0.75, 0.5, 0.25]

    def test_passages_of_its_own_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        path = "llama_index.core.postprocessor.SimilarityPostprocessor"
        found = [NodeWithScore(node=TextNode(id_="new", text="eggs"), score=1)]
        monkeypatch.setattr(f"{path}.postprocess_nodes", lambda *_, **__: found)
        with pytest.raises(RerankError, match="passages that it was not given"):
            make(RerankSettings(provider="llama_index", model=path)).scores("eggs", PASSAGES)

    def test_a_class_of_another_kind(self) -> None:
        settings = RerankSettings(provider="llama_index", model="pathlib.Path")
        with pytest.raises(EmbeddingModelError, match=r"not a BaseNodePostprocessor"):
            make(settings).scores("eggs", PASSAGES)


@pytest.mark.parametrize(
    ("provider", "missing"), [("endpoint", "base_url"), ("local", "model"), ("llama_index", "model")]
)
def test_incomplete_settings(provider: str, missing: str) -> None:
    assert make_reranker(RerankSettings()) is None
    with pytest.raises(ValidationError, match=f"set {missing}"):
        RerankSettings.model_validate({"provider": provider})
