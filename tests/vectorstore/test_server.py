"""A Qdrant server that is down, rejects the key, or has collections of other programs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from pydantic import SecretStr
from qdrant_client import QdrantClient, models

from support.chunks import SPEC
from vectorstore.errors import CollectionMismatch, CollectionNotFound, StoreUnavailable
from vectorstore.server import ServerStore, connect


class KeyRequiredHandler(BaseHTTPRequestHandler):
    """A server with one valid key and no collections."""

    def do_GET(self) -> None:
        allowed = self.headers.get("api-key") == "right"
        self.send_response(200 if allowed else 403)
        self.end_headers()
        self.wfile.write(b'{"result": {"collections": []}, "status": "ok", "time": 0}' if allowed else b"Forbidden")

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
    store = ServerStore(connect("http://127.0.0.1:1", None))
    with pytest.raises(StoreUnavailable, match="docker run"):
        store.list()
    with pytest.raises(StoreUnavailable, match="docker run"):
        store.create(SPEC)


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
def test_a_wrong_api_key_raises(url: str) -> None:
    assert ServerStore(connect(url, SecretStr("right"))).list() == []
    with pytest.raises(StoreUnavailable, match="API key"):
        ServerStore(connect(url, SecretStr("wrong"))).list()


def test_collections_of_other_programs_are_ignored() -> None:
    client = QdrantClient(":memory:")
    client.create_collection("papers", models.VectorParams(size=4, distance=models.Distance.DOT))
    store = ServerStore(client)
    assert store.list() == []
    with pytest.raises(CollectionMismatch, match="did not create"):
        store.create(SPEC)
    with pytest.raises(CollectionNotFound):
        store.drop("papers")
    assert client.collection_exists("papers")
