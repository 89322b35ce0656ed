"""Embedding models behind endpoints, over real HTTP, with the faults of real servers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from support.embedding_server import EmbeddingServer, Fault, vector
from vectorstore.embedding.embedder import make_embedder
from vectorstore.errors import EmbeddingModelError, EndpointError
from vectorstore.settings import EmbeddingSettings, settings_for

TEXTS = ["a heat pump warms the house", "bread needs flour", "pour water over the tea"]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


@pytest.mark.parametrize(
    ("provider", "options"),
    [("ollama", {}), ("openai", {}), ("openai", {"encoding_format": "base64"})],
    ids=["ollama", "openai", "base64"],
)
def test_vectors_are_those_of_the_endpoint_with_length_one(
    server: EmbeddingServer, provider: str, options: dict[str, Any]
) -> None:
    embedder = make_embedder(server.settings(provider, **options))
    assert embedder.dimension == server.dimension
    rows = embedder.embed_passages(TEXTS)
    expected = np.array([vector(text, server.dimension) for text in TEXTS])
    assert np.allclose(rows, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)
    assert np.allclose(embedder.embed_query(TEXTS[1])[0], rows[1])
    assert embedder.embed_passages([]).shape == (0, server.dimension)


def test_ollama_gets_what_keeps_it_from_cutting_a_text(server: EmbeddingServer) -> None:
    make_embedder(server.settings("ollama", keep_alive="1h")).embed_query("tea")
    path, body, _ = server.requests[-1]
    assert (path, body["truncate"], body["keep_alive"]) == ("/api/embed", False, "1h")


@pytest.mark.parametrize("provider", ["ollama", "openai"])
def test_a_text_that_is_too_long_is_refused_at_once(server: EmbeddingServer, provider: str) -> None:
    server.window = 50
    embedder = make_embedder(server.settings(provider))
    with pytest.raises(EndpointError, match=r"lower `max_tokens` or `batch_tokens`") as raised:
        embedder.embed_passages(["tea " * 40, "short"])
    assert not raised.value.away


@pytest.mark.parametrize("provider", ["ollama", "openai"])
def test_known_models_get_their_prefixes_and_settings_replace_them(server: EmbeddingServer, provider: str) -> None:
    embedder = make_embedder(server.settings(provider, model="nomic-embed-text:latest"))
    embedder.embed_passages(["tea"])
    embedder.embed_query("tea")
    assert server.texts[-2:] == ["search_document: tea", "search_query: tea"] or set(server.texts) >= {
        "search_document: tea", "search_query: tea"
    }  # fmt: skip
    make_embedder(server.settings(provider, model="nomic-embed-text", query_prefix="")).embed_query("water")
    assert "water" in server.texts


def test_batches_are_limited_by_count_and_by_tokens_and_sent_at_the_same_time(server: EmbeddingServer) -> None:
    embedder = make_embedder(server.settings("openai", batch_passages=2, parallel=3))
    assert embedder.dimension == server.dimension
    server.together = 3
    embedder.embed_passages([f"text {number}" for number in range(12)])
    assert server.peak == 3
    assert [len(body["input"]) for _, body, _ in server.requests[1:]] == [2] * 6
    server.together = 1
    small = make_embedder(server.settings("openai", batch_tokens=20))
    before = len(server.requests)
    small.embed_passages(["word " * 10] * 3)
    sizes = [len(body["input"]) for _, body, _ in server.requests[before:] if "word" in body["input"][0]]
    assert sizes == [1, 1, 1]


def test_a_batch_that_is_too_large_for_the_server_is_divided(server: EmbeddingServer) -> None:
    server.batch = 2
    rows = make_embedder(server.settings("openai")).embed_passages([*TEXTS, *TEXTS])
    assert np.allclose(rows[:3], rows[3:])
    assert sorted(server.texts[:-1] + server.texts[-1:]) == sorted([*TEXTS, *TEXTS, "dimension"])


@pytest.mark.parametrize("provider", ["ollama", "openai"])
@pytest.mark.parametrize(
    "fault",
    [
        Fault(429, {"error": "slow down"}, {"Retry-After": "0"}),
        Fault(429, {"error": "Rate limit exceeded"}),
        Fault(503, {"error": "loading"}),
        Fault(),
    ],
    ids=["429", "exceeded", "503", "cut"],
)  # fmt: skip
def test_a_request_is_repeated(server: EmbeddingServer, provider: str, fault: Fault) -> None:
    server.faults.append(fault)
    assert make_embedder(server.settings(provider)).embed_query("tea")[0].shape == (server.dimension,)
    assert len(server.requests) == 3, "the fault, the repeated request, and the one for the dimension"


def test_retry_after_is_respected_and_a_long_one_is_an_error_at_once(server: EmbeddingServer) -> None:
    server.faults.append(Fault(429, {"error": {"message": "quota"}}, {"Retry-After": "3600"}))
    with pytest.raises(EndpointError, match=r"429: quota.*lower `parallel`") as raised:
        make_embedder(server.settings("openai")).embed_query("tea")
    assert (raised.value.away, raised.value.retry_after) == (True, 3600)
    assert len(server.requests) == 1


@pytest.mark.parametrize("provider", ["ollama", "openai"])
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0.5, None] + [0.1] * 22], "not finite|does not answer as its provider"),
        ([[0.0] * 24], "all zero"),
        ([[]], r"vectors with \[0\] numbers"),
        ([[0.1] * 24] * 2, "2 vectors for 1 text"),
        ([[0.1] * 8], "8 numbers, but 24 at first"),
    ],
    ids=["nan", "zero", "empty", "count", "dimension"],
)
def test_wrong_vectors_are_refused(server: EmbeddingServer, provider: str, rows: list[Any], message: str) -> None:
    embedder = make_embedder(server.settings(provider))
    assert embedder.dimension == server.dimension
    server.rows = rows
    with pytest.raises(EndpointError, match=message) as raised:
        embedder.embed_passages(["tea"])
    assert not raised.value.away


def test_an_empty_list_of_vectors_is_refused(server: EmbeddingServer) -> None:
    server.faults.append(Fault(200, {"object": "list", "data": []}))
    with pytest.raises(EndpointError, match="0 vectors for 1 text"):
        make_embedder(server.settings("openai")).embed_query("tea")


@pytest.mark.parametrize("provider", ["ollama", "openai"])
def test_a_server_of_another_kind_is_named(server: EmbeddingServer, provider: str) -> None:
    server.faults.append(Fault(200, b"<html>Welcome</html>", {"Content-Type": "text/html"}))
    with pytest.raises(EndpointError, match=r"Check `provider` and `base_url`"):
        make_embedder(server.settings(provider)).embed_query("tea")


@pytest.mark.parametrize("provider", ["ollama", "openai"])
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault(307, b"", {"Location": "?again"}), "Check `provider` and `base_url`"),
        (Fault(302, b"", {"Location": "https://me:secret@other/"}), r"redirects to https://\*\*\*@other/ .*`base_url`"),
        (Fault(200, b"plain", {"Content-Encoding": "gzip"}), "Check `provider` and `base_url`"),
        (Fault(400, b"plain", {"Content-Encoding": "gzip"}), "Check `provider` and `base_url`"),
        *((Fault(200, body), "Check `provider` and `base_url`") for body in (b"null", b"[]", b'"up"', b"[" * 100_000)),
        (Fault(400, b"[" * 100_000), r"400: \[\[\["),
    ],
    ids=["endless", "redirect", "gzip", "error", "null", "list", "text", "nested", "nested error"],
)
def test_answers_of_no_embedding_server_are_said(
    server: EmbeddingServer, provider: str, fault: Fault, message: str
) -> None:
    server.faults += [fault] * 60
    with pytest.raises(EndpointError, match=message) as raised:
        make_embedder(server.settings(provider)).embed_query("tea")
    assert not raised.value.away


def test_vectors_with_the_same_index_are_refused(server: EmbeddingServer) -> None:
    rows = [{"index": index, "embedding": [1.0, 2.0]} for index in (0, 1, 1)]
    embedder = make_embedder(server.settings("openai"))
    server.faults += [Fault(200, {"data": rows[1:]}), Fault(200, {"data": rows[:1]}), Fault(200, {"data": rows})]
    assert embedder.embed_passages(TEXTS[:2]).shape == (2, 2)
    with pytest.raises(EndpointError, match="the same index"):
        embedder.embed_passages(TEXTS)


@pytest.mark.parametrize("provider", ["ollama", "openai"])
def test_a_key_that_no_request_can_send_is_refused(server: EmbeddingServer, provider: str) -> None:
    server.key = "secret"
    assert make_embedder(server.settings(provider, api_key=" secret\n")).embed_query("tea")[0].any()
    for key in ("s\u00e9cret", "sec\nret"):
        with pytest.raises(EmbeddingModelError, match=r"`api_key` in .*Copy the key again"):
            make_embedder(server.settings(provider, api_key=key))


def test_keys_are_sent_and_a_wrong_one_is_said(server: EmbeddingServer) -> None:
    server.key = "secret"
    for provider in ("ollama", "openai"):
        assert make_embedder(server.settings(provider, api_key="secret")).embed_query("tea")[0].any()
        with pytest.raises(EndpointError, match="Check `api_key`"):
            make_embedder(server.settings(provider, api_key="wrong")).embed_query("tea")


def test_what_was_embedded_is_not_lost_with_a_batch_that_failed(server: EmbeddingServer) -> None:
    embedder = make_embedder(server.settings("openai", batch_passages=1, parallel=1, retries=0, wait_s=7))
    assert embedder.dimension == server.dimension
    server.faults += [Fault(503, {"error": "loading"})]
    with pytest.raises(EndpointError) as raised:
        embedder.embed_passages(TEXTS)
    assert (raised.value.away, raised.value.wait_s) == (True, 7)
    assert set(raised.value.embedded) == set(TEXTS[1:])


def test_shortened_vectors(server: EmbeddingServer) -> None:
    settings = server.settings("openai", dimensions=8)
    embedder = make_embedder(settings)
    assert embedder.embed_passages(TEXTS).shape == (3, 8)
    server.dimension = 24
    server.rows = [[0.1] * 24]
    with pytest.raises(EndpointError, match=r"24 dimensions, not the 8"):
        _ = make_embedder(settings).dimension


def test_no_server(server: EmbeddingServer) -> None:
    settings = server.settings("ollama", retries=0)
    server.stop()
    with pytest.raises(EndpointError, match=r"No server answers at http://127.0.0.1:\d+\. Start it") as raised:
        make_embedder(settings).embed_query("tea")
    assert raised.value.away
    server.start(0)


def test_models_have_names_that_tell_their_vectors_apart() -> None:
    def named(**settings: Any) -> str:
        return EmbeddingSettings(**settings).identity

    assert named() == "all-MiniLM-L6-v2"
    assert named(provider="openai", model="m") == "openai:m"
    assert named(provider="openai", model="m", base_url="http://other/v1", query_prefix="q: ") == "openai:m"
    assert named(provider="openai", model="m", dimensions=8) == 'openai:m {"dimensions": 8}'
    assert "search_document" in named(provider="ollama", model="nomic-embed-text")
    assert settings_for("openai:m") == '`provider = "openai"` and `model = "m"` in [store.embedding]'
    assert settings_for("a/b") == "CANDOR_STORE__EMBEDDING__MODEL=a/b"
    with pytest.raises(ValidationError, match="needs the name of its model"):
        EmbeddingSettings(provider="ollama")


class TestLlamaIndex:
    PATH = "llama_index.core.embeddings.MockEmbedding"

    def test_any_class_by_its_path(self) -> None:
        embedder = make_embedder(
            EmbeddingSettings(provider="llama_index", model=self.PATH, arguments={"embed_dim": 12})
        )
        assert embedder.dimension == 12
        assert embedder.embed_passages(TEXTS).shape == (3, 12)
        assert np.isclose(np.linalg.norm(embedder.embed_query("tea")[0]), 1)

    def test_a_published_integration(self, server: EmbeddingServer) -> None:
        path, url = "llama_index.embeddings.ollama.OllamaEmbedding", server.url
        settings = EmbeddingSettings(
            provider="llama_index", model=path, arguments={"model_name": "tiny", "base_url": url}, retries=0
        )
        rows = make_embedder(settings).embed_passages(TEXTS)
        assert np.allclose(rows, make_embedder(server.settings("ollama")).embed_passages(TEXTS), atol=1e-6)
        assert settings.identity == f'llama_index:{path} {{"model_name": "tiny"}}'
        server.stop()
        with pytest.raises(EndpointError, match="could not embed 1 text") as raised:
            make_embedder(settings).embed_query("tea")
        assert raised.value.away
        server.start(0)

    @pytest.mark.parametrize(("status", "away"), [(429, True), (503, True), (401, False)])
    def test_the_status_of_an_error_says_whether_to_wait(
        self, monkeypatch: pytest.MonkeyPatch, status: int, away: bool
    ) -> None:
        def fail(*_: object) -> None:
            error = RuntimeError("refused")
            error.status_code = status  # type: ignore[attr-defined]
            raise error

        settings = EmbeddingSettings(provider="llama_index", model=self.PATH, arguments={"embed_dim": 12})
        embedder = make_embedder(settings)
        monkeypatch.setattr(f"{self.PATH}.get_query_embedding", fail)
        with pytest.raises(EndpointError) as raised:
            embedder.embed_query("tea")
        assert raised.value.away is away

    @pytest.mark.parametrize(
        ("path", "message"),
        [
            ("llama_index.embeddings.nowhere.Nothing", "cannot be created.*Install its package"),
            ("pathlib.Path", "not a BaseEmbedding"),
            (PATH, "cannot be created"),
        ],
    )
    def test_a_class_that_cannot_be_used(self, path: str, message: str) -> None:
        with pytest.raises(EmbeddingModelError, match=message):
            make_embedder(EmbeddingSettings(provider="llama_index", model=path))
