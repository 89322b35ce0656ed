"""A Qdrant server that is down, rejects the key, or has collections of other programs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from httpx import Headers
from pydantic import SecretStr, ValidationError
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from support.chunks import SPEC
from support.qdrant import memory_server, memory_store
from vectorstore.errors import CollectionMismatch, CollectionNotFound, StoreUnavailable
from vectorstore.qdrant_server.store import ServerStore, connect
from vectorstore.settings import VectorStoreSettings

NO_COLLECTIONS = b'{"result": {"collections": []}, "status": "ok", "time": 0}'
VERSION = b'{"title": "qdrant - vector search engine", "version": "%s"}'


class KeyRequiredHandler(BaseHTTPRequestHandler):
    """A server with no collections, for requests without a key or with the right one."""

    version = b"1.16.0"

    def do_GET(self) -> None:
        allowed = self.headers.get("api-key") in (None, "right")
        self.send_response(200 if allowed else 403)
        self.end_headers()
        body = NO_COLLECTIONS if self.path == "/collections" else VERSION % self.version
        self.wfile.write(body if allowed else b"Forbidden")

    def log_message(self, *_: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def url() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), KeyRequiredHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_the_error_for_a_server_that_is_down_says_what_to_start() -> None:
    store = ServerStore(connect("http://127.0.0.1:1", None, retry_s=0))
    with pytest.raises(StoreUnavailable, match="docker run"):
        store.list()
    with pytest.raises(StoreUnavailable, match="docker run"):
        store.create(SPEC)


@pytest.mark.filterwarnings("error")
def test_a_wrong_api_key_raises(url: str) -> None:
    assert ServerStore(connect(url, SecretStr("right"))).list() == []
    with pytest.raises(StoreUnavailable, match="API key"):
        ServerStore(connect(url, SecretStr("wrong"))).list()


def test_collections_of_other_programs_are_ignored() -> None:
    client = QdrantClient(":memory:")
    client.create_collection("papers", models.VectorParams(size=4, distance=models.Distance.DOT))
    store = memory_store(client)
    assert store.list() == []
    with pytest.raises(CollectionMismatch, match="did not create"):
        store.create(SPEC)
    with pytest.raises(CollectionNotFound):
        store.drop("papers")
    assert client.collection_exists("papers")


@pytest.mark.parametrize(
    ("status", "message", "kind", "says"),
    [
        (500, "Service internal error: No space left on device: WAL buffer size exceeds available disk space",
         StoreUnavailable, "no free disk space. Enlarge its volume"),
        (500, "Service internal error: Waiting for consensus operation commit failed. Timeout set at: 10 seconds",
         StoreUnavailable, "More than half of its nodes must run"),
        (500, "Service internal error: 1 of 1 read operations failed:\n  Service internal error: Tonic status error: "
         'status: Unavailable, message: "error trying to connect: tcp connect error: Connection refused (os error '
         '111)", details: [], metadata: MetadataMap { headers: {} }', StoreUnavailable, "Start the node"),
        (400, "Wrong input: Vector dimension error: expected dim: 8, got 4", CollectionMismatch, "expected dim: 8"),
        (409, "Wrong input: Collection `papers` already exists!", CollectionMismatch, "Choose another name"),
        (404, "Not found: Collection `papers` doesn't exist!", CollectionNotFound, "no collection 'papers'"),
        (408, "Request took too long", StoreUnavailable, "raise `store.timeout_s`"),
        (413, "Payload too large", StoreUnavailable, "because of its size"),
        (418, "Something new", StoreUnavailable, r"\(status 418\): Something new"),
    ],
)  # fmt: skip
def test_errors_of_the_server_come_with_a_remedy(status: int, message: str, kind: type[Exception], says: str) -> None:
    body = json.dumps({"status": {"error": message}, "time": 0.1}).encode()

    def fail(_: QdrantClient) -> None:
        raise UnexpectedResponse(status, "reason", body, Headers())

    with pytest.raises(kind, match=says) as raised:
        memory_server().call(fail)
    assert "MetadataMap" not in str(raised.value)
    assert "b'" not in str(raised.value)


def test_a_body_that_is_not_json_is_shown(url: str) -> None:
    def fail(_: QdrantClient) -> None:
        raise UnexpectedResponse(502, "Bad Gateway", b"<h1>nginx</h1>", Headers())

    with pytest.raises(StoreUnavailable, match=r"status 502.*nginx"):
        memory_server().call(fail)


def test_a_server_that_is_too_old_is_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KeyRequiredHandler, "version", b"1.15.4")
    with pytest.raises(StoreUnavailable, match=r"has version 1\.15\.4, but Candor needs 1\.16 or later"):
        ServerStore(connect(url, None)).create(SPEC)


def test_a_server_that_is_not_qdrant_is_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KeyRequiredHandler, "version", b'"}<html>')
    with pytest.raises(StoreUnavailable, match=r"does not answer as Qdrant does.*Correct `store\.url`"):
        ServerStore(connect(url, None)).list()


def test_more_confirmations_than_copies_are_rejected() -> None:
    with pytest.raises(ValidationError, match="must not be greater than replicas"):
        VectorStoreSettings(replicas=1, write_consistency=2)
    with pytest.raises(ValidationError, match="no empty ones"):
        VectorStoreSettings(url="http://a:6333,,http://b:6333")
