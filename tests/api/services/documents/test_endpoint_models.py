"""Embedding models and rerankers behind endpoints, as a person uses them: command line, REST, settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.errors import SettingsError
from api.services.documents.search import timed_search
from api.settings import load_settings
from multi_agent.settings.research import ResearchSettings
from support.embedding_server import EmbeddingServer, Fault
from support.service import RunningService
from support.waiting import LIMIT_S
from vectorstore.embedding.embedder import make_embedder
from vectorstore.errors import CollectionMismatch, EndpointError
from vectorstore.settings import VectorStoreSettings

AWAY = Fault(503, {"error": "the model is loading"})


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


@pytest.fixture
def configure(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that sets keys of a table through environment variables."""

    def configure(table: str, **values: str) -> None:
        for name, value in values.items():
            monkeypatch.setenv(f"CANDOR_{table.replace('.', '__')}__{name}".upper(), value)

    return configure


def test_the_command_line(run: Callable, folder: Path, server: EmbeddingServer, configure: Callable[..., None]) -> None:
    server.key = "secret"
    key = {"api_key": "env:EMBED_KEY", "base_url": server.url}
    configure("store.embedding", provider="ollama", model="nomic-embed-text", retries="0", price="20", **key)
    with pytest.MonkeyPatch.context() as variables:
        variables.setenv("EMBED_KEY", "secret")
        assert run("ingest", folder, "-c", "papers").code == 0
        assert any(text.startswith("search_document: ") for text in server.texts)
        assert "Borea" in run("search", "Borea temperature").out
        missing = run("search", "Borea", "--rerank")
        assert missing.code != 0
        assert "No reranker is configured" in missing.err
        checks = run("doctor").out
        assert "24 dimensions" in checks
        assert "passages a second in a small batch (ollama); 1,000 pages take about" in " ".join(checks.split())
        configure("research.rerank", provider="endpoint", base_url=server.url, api_key="env:EMBED_KEY")
        reranked = run("search", "lentils for minutes", "--rerank")
        assert reranked.code == 0
        assert "· rerank 0." in reranked.err
        assert server.requests[-1][0] == "/rerank"
        server.stop()
        gone = run("search", "Borea")
        assert gone.code != 0
        assert "No server answers at" in gone.err
        server.start(0)


def test_rest(make_candor: Callable[..., Candor], folder: Path, server: EmbeddingServer) -> None:
    settings = server.settings("openai", retries=0)
    candor = make_candor(
        store=VectorStoreSettings(embedding=settings), research=ResearchSettings(rerank=server.rerank_settings())
    )
    candor.embedder = make_embedder(settings)
    run_ingest(candor, [folder], "papers", progress=False)
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        query = {"query": "lentils for minutes", "collection": "papers"}
        plain = http.post("/v1/search", json=query)
        assert "Server-Timing" not in plain.headers
        reranked = http.post("/v1/search", json=query | {"rerank": True})
        assert reranked.headers["Server-Timing"].startswith("rerank;dur=")
        assert "lentils" in reranked.json()[0]["text"]
        server.faults += [Fault(500, {"error": "out of memory"})] * 2
        failed = http.post("/v1/search", json=query | {"mode": "words", "rerank": True})
        assert failed.status_code == 503
        assert "out of memory" in failed.json()["detail"]
    with candor.collections.open_library("papers") as library:
        assert library.index()["reranker"] == "endpoint"
        assert library.search(["lentils for minutes"], 1)[0].score == 2, "agents get the order of the reranker"


def test_a_collection_moves_to_an_endpoint_and_back(
    make_candor: Callable[..., Candor], folder: Path, server: EmbeddingServer
) -> None:
    def found(candor: Candor) -> list[str]:
        return [hit.chunk.name for hit in timed_search(candor.collections, "papers", "lentils", 2).hits]

    old = make_candor()
    run_ingest(old, [folder], "papers", progress=False)
    settings = server.settings("openai", retries=0, wait_s=0, batch_passages=1, parallel=1)
    new = make_candor(store=VectorStoreSettings(embedding=settings))
    new.embedder = make_embedder(settings)
    with pytest.raises(CollectionMismatch, match="CANDOR_STORE__EMBEDDING__MODEL=all-MiniLM-L6-v2"):
        found(new)
    assert new.embedder.dimension == server.dimension
    server.texts.clear()
    server.faults += [Fault(200, {"data": [{"embedding": [1.0] * 24}]}), AWAY]
    with pytest.raises(EndpointError, match="the model is loading"):
        run_ingest(new, [folder], "papers", progress=False)
    assert found(old)[0] == "soup.txt", "it is searched until all is embedded"
    run_ingest(new, [folder], "papers", progress=False)
    assert set(Counter(server.texts).values()) == {1}
    assert len(server.texts) == 1, "what was embedded before the fault is not embedded again"
    assert set(found(new)) == {"soup.txt", "pumps.md"}
    with pytest.raises(CollectionMismatch, match='`provider = "openai"` and `model = "tiny-embed"`'):
        found(old)
    run_ingest(old, [folder], "papers", progress=False)
    assert found(old)[0] == "soup.txt"


def test_a_key_is_not_sent_to_an_address_of_another_source(
    tmp_path: Path, configure: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "team.toml"
    monkeypatch.setenv("CANDOR_CONFIG", str(file))
    for table, provider in (("store.embedding", "openai"), ("research.rerank", "endpoint")):
        file.write_text(f'[{table}]\nprovider = "{provider}"\nmodel = "m"\nbase_url = "https://team.example/v1/"\n')
        configure(table, api_key="secret")
        with pytest.raises(SettingsError, match=rf"`base_url` under \[{table}\] is set in .*team\.toml"):
            load_settings(tmp_path)
        monkeypatch.delenv(f"CANDOR_{table.replace('.', '__')}__API_KEY".upper())
        load_settings(tmp_path)
    configure("store.embedding", api_key="env:NOT_SET")
    with pytest.raises(SettingsError, match="'NOT_SET', which should contain a key, is not set"):
        load_settings(tmp_path)


def test_arguments_of_a_class_may_name_variables_and_doctor_hides_them(
    make_candor: Callable[..., Candor], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SIZE", "hunter2")
    monkeypatch.setenv("CANDOR_STORE__EMBEDDING__PROVIDER", "llama_index")
    monkeypatch.setenv("CANDOR_STORE__EMBEDDING__MODEL", "llama_index.core.embeddings.MockEmbedding")
    monkeypatch.setenv("CANDOR_STORE__EMBEDDING__ARGUMENTS", '{"embed_dim": 5, "model_name": "env:SIZE"}')
    settings = load_settings(tmp_path).store.embedding
    assert make_embedder(settings).dimension == 5
    assert "hunter2" not in settings.identity
    assert (
        "hunter2" not in make_candor(store=VectorStoreSettings(embedding=settings)).doctor.diagnose().model_dump_json()
    )
