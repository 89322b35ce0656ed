"""An endpoint for embedding and reranking models: an HTTP server that behaves like Ollama, OpenAI, TEI or llama.cpp.

    with EmbeddingServer() as server:
        server.faults.append(Fault(429, {"error": "slow down"}, {"Retry-After": "0"}))
        embedder = make_embedder(server.settings("openai"))

Texts that share words have similar vectors.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections import deque
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

import numpy as np

from support.waiting import LIMIT_S
from vectorstore.settings import EmbeddingSettings, RerankSettings

JSON = {"Content-Type": "application/json"}


class Fault(NamedTuple):
    """A response in place of the next one. Without a status, the connection is cut."""

    status: int = 0
    body: Any = None
    headers: dict[str, str] = {}  # noqa: RUF012


class EmbeddingServer:
    """The server. ``texts`` has what it embedded, ``requests`` path, body and headers of every request."""

    def __init__(self, *, dimension: int = 24, batch: int = 1000, window: int = 10_000, key: str = "") -> None:
        """``batch`` is the maximum of texts of a request, ``window`` of characters of a text, both refused with 413."""
        self.dimension, self.batch, self.window, self.key = dimension, batch, window, key
        self.tei = False
        """Whether its reranker takes and returns TEI's form."""
        self.faults: deque[Fault] = deque()
        self.rows: list[Any] | None = None
        """Vectors to return in place of the right ones."""
        self.requests: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.texts: list[str] = []
        self.peak = self._active = 0
        self.together = 1
        """Requests that have to be there before any is answered."""
        self._lock = threading.Condition()
        self.start(0)

    def start(self, port: int) -> None:
        """Listen. Requests fail before, and after ``stop``."""
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                headers = {name.title(): value for name, value in self.headers.items()}
                answer = server.answer(self.path, body, headers)
                if not answer.status:
                    self.connection.close()
                    return
                content = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
                self.send_response(answer.status)
                for name, value in {"Content-Length": len(content), **JSON, **answer.headers}.items():
                    self.send_header(name, str(value))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """End. The port can be used again."""
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def settings(self, provider: str, **changes: Any) -> EmbeddingSettings:
        """Return the settings of this endpoint."""
        url = self.url if provider == "ollama" else f"{self.url}/v1"
        given = {"provider": provider, "base_url": url, "model": "tiny-embed", "retries": 1, **changes}
        return EmbeddingSettings.model_validate(given)

    def rerank_settings(self, **changes: Any) -> RerankSettings:
        """Return the settings of the reranker of this endpoint."""
        return RerankSettings.model_validate({"provider": "endpoint", "base_url": self.url, "retries": 1, **changes})

    def answer(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> Fault:
        with self._lock:
            self.requests.append((path, body, headers))
            self._active += 1
            self.peak = max(self.peak, self._active)
            self._lock.notify_all()
            self._lock.wait_for(lambda: self.peak >= self.together, timeout=LIMIT_S)
        try:
            return self._answer(path, body, headers)
        finally:
            with self._lock:
                self._active -= 1

    def _answer(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> Fault:
        if self.faults:
            return self.faults.popleft()
        if self.key and headers.get("Authorization") != f"Bearer {self.key}":
            return Fault(401, {"error": {"message": "invalid key"}})
        if path.endswith("/rerank"):
            return self._rerank(body)
        texts = body["input"]
        if len(texts) > self.batch:
            message = f"batch size {len(texts)} > maximum allowed batch size {self.batch}"
            return Fault(413, {"error": message, "error_type": "Validation"})
        if any(len(text) > self.window for text in texts):
            return self._too_long(path, body)
        self.texts += texts
        rows = self.rows or [vector(text, body.get("dimensions") or self.dimension) for text in texts]
        if path == "/api/embed":
            return Fault(200, {"model": body["model"], "embeddings": rows})
        if body.get("encoding_format") == "base64":
            rows = [base64.b64encode(np.array(row, "<f4").tobytes()).decode() for row in rows]
        data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
        return Fault(200, {"object": "list", "data": data[::-1], "model": body["model"]})

    def _too_long(self, path: str, body: dict[str, Any]) -> Fault:
        if path != "/api/embed":  # as llama.cpp says it
            message = "input (900 tokens) is too large to process. increase the physical batch size"
            return Fault(500, {"error": {"code": 500, "message": message, "type": "server_error"}})
        if body.get("truncate") is False:
            return Fault(400, {"error": "the input length exceeds the context length"})
        raise AssertionError("Ollama would cut the text and say nothing")

    def _rerank(self, body: dict[str, Any]) -> Fault:
        field = "texts" if self.tei else "documents"
        if field not in body:
            return Fault(422, {"error": f"missing field `{field}`", "error_type": "Deserialization"})
        if len(body[field]) > self.batch:
            return Fault(413, {"error": "batch size is too large", "error_type": "Validation"})
        wanted = set(body["query"].casefold().split())
        scored = [(len(wanted & set(text.casefold().split())), index) for index, text in enumerate(body[field])]
        ranked = sorted(scored, key=lambda pair: -pair[0])
        if self.tei:
            return Fault(200, [{"index": index, "score": score} for score, index in ranked])
        return Fault(200, {"results": [{"index": index, "relevance_score": score} for score, index in ranked]})


def vector(text: str, dimension: int) -> list[float]:
    """Return a vector that texts with the same words have in common."""
    found = np.full(dimension, 0.01)
    for word in _words(text):
        found[int(hashlib.sha256(word.encode()).hexdigest(), 16) % dimension] += 1
    return [float(number) for number in found]


def _words(text: str) -> Sequence[str]:
    return "".join(sign if sign.isalnum() else " " for sign in text.casefold()).split()
