"""Embedding models behind an endpoint, and embedding classes of LlamaIndex.

The clients send the requests. ``EndpointEmbedder`` adds the texts that the model expects, batches, concurrent requests
and the checks of what comes back.
"""

import base64
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property

import numpy as np
from pydantic import BaseModel

from base.counts import count
from base.tokens import estimate_tokens
from vectorstore.endpoint import Endpoint, load_class
from vectorstore.errors import EndpointError
from vectorstore.settings import EmbeddingSettings
from vectorstore.store import Vectors

TABLE = "store.embedding"

Rows = Sequence[Sequence[float]]
Embed = Callable[[Sequence[str], bool], Rows]
"""Returns the vectors of texts as the model computes them. The flag is whether they are queries. Raises
EndpointError."""


def make_client(settings: EmbeddingSettings) -> Embed:
    """Return the client of the provider. Sends no request. Raises EmbeddingModelError."""
    match settings.provider:
        case "ollama":
            return _ollama(settings)
        case "openai":
            return _openai(settings)
    return _llama_index(settings)


def _ollama(settings: EmbeddingSettings) -> Embed:
    import ollama

    endpoint = Endpoint(settings, settings.url, TABLE)
    client = ollama.Client(host=settings.url, **endpoint.client_options())

    def embed(texts: Sequence[str], query: bool) -> Rows:
        return endpoint.request(lambda: client.embed(
            settings.model, texts, truncate=False, keep_alive=settings.keep_alive, dimensions=settings.dimensions,
        )).embeddings  # fmt: skip

    return embed


class _Vector(BaseModel):
    embedding: list[float | None] | str
    """A list, or base64 of float32. JSON has no NaN, so some servers write null."""
    index: int = 0

    @property
    def numbers(self) -> list[float]:
        if isinstance(self.embedding, str):
            return [float(number) for number in np.frombuffer(base64.b64decode(self.embedding), "<f4")]
        return [float("nan") if number is None else number for number in self.embedding]


class _Vectors(BaseModel):
    data: list[_Vector]


def _openai(settings: EmbeddingSettings) -> Embed:
    import httpx
    import openai

    endpoint = Endpoint(settings, settings.url, TABLE)
    client = openai.OpenAI(
        base_url=settings.url,
        api_key=endpoint.key or "none",  # servers without keys ignore it
        max_retries=0,
        http_client=httpx.Client(**endpoint.client_options()),  # type: ignore[arg-type] # declared as httpx2
    )

    def send(body: dict[str, object]) -> Rows:
        try:  # its own method reads one of the two forms of vectors only
            response = client.post("/embeddings", cast_to=object, body=body)
        except openai.APIConnectionError as error:
            raise (error.__cause__ or error) from None  # its message is only "Connection error."
        found = _Vectors.model_validate(response).data
        if len({each.index for each in found}) not in (0, 1, len(found)):  # some servers write 0 everywhere
            raise ValueError("vectors with the same index")
        return [each.numbers for each in sorted(found, key=lambda each: each.index)]

    def embed(texts: Sequence[str], query: bool) -> Rows:
        body: dict[str, object] = {
            "model": settings.model, "input": list(texts), "encoding_format": settings.encoding_format,
        }  # fmt: skip
        size = {"dimensions": settings.dimensions} if settings.dimensions else {}
        return endpoint.request(lambda: send({**body, **size}))

    return embed


def _llama_index(settings: EmbeddingSettings) -> Embed:
    """Return the client of a ``BaseEmbedding``, which adds its own texts before queries and passages."""
    from llama_index.core.base.embeddings.base import BaseEmbedding

    model: BaseEmbedding = load_class(settings.model, settings.arguments, BaseEmbedding, TABLE)

    def embed(texts: Sequence[str], query: bool) -> Rows:
        try:
            if query:
                return [model.get_query_embedding(text) for text in texts]
            return model.get_text_embedding_batch(list(texts))
        except Exception as error:  # every integration has its own
            problem = f"{settings.model} could not embed {count(len(texts), 'text')}: {error!r}. Check `[{TABLE}]`."
            raise EndpointError(problem, away=_is_away(error)) from error

    return embed


def _is_away(error: Exception) -> bool:
    """Return whether the same request may succeed later, as far as an integration's own exception shows it."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return status == 429 or status >= 500
    return isinstance(error, OSError) or any(part in type(error).__name__ for part in ("Connect", "Timeout"))


_PROBE = "dimension"


class EndpointEmbedder:
    """Implements ``Embedder``. The error of a failed call carries the vectors that were computed before it."""

    languages: frozenset[str] | None = None

    def __init__(self, settings: EmbeddingSettings) -> None:
        self.model, self.max_tokens = settings.identity, settings.max_tokens
        self._settings = settings
        self._client = make_client(settings)
        self._query_prefix, self._passage_prefix = settings.prefixes
        self._threads = ThreadPoolExecutor(settings.parallel, thread_name_prefix="embedding")

    @cached_property
    def dimension(self) -> int:
        """The dimension of the vectors, found with a request."""
        found = len(self._rows([_PROBE], query=True)[0])
        if self._settings.dimensions not in (None, found):
            raise self._wrong(f"{found} dimensions, not the {self._settings.dimensions} of `dimensions`")
        return found

    def embed_query(self, text: str) -> tuple[Vectors, None]:
        return self._checked(self._rows([self._query_prefix + text], query=True)).reshape(-1), None

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        batches = list(self._batches(texts))
        requests = [self._threads.submit(self._embed, batch) for batch in batches]
        failures = [error for each in requests if isinstance(error := each.exception(), EndpointError)]
        if failures:
            raise self._with_others(min(failures, key=lambda error: error.away), batches, requests)
        return np.concatenate([each.result() for each in requests])

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [estimate_tokens(text) for text in texts]

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        tokens = 0
        for text in texts:
            added = estimate_tokens(self._passage_prefix + text)
            full = len(batch) >= self._settings.batch_passages or tokens + added > self._settings.batch_tokens
            if batch and full:
                yield batch
                batch, tokens = [], 0
            batch.append(text)
            tokens += added
        yield batch

    def _embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of a batch. If it is too large for the endpoint, send it in halves."""
        try:
            return self._checked(self._rows([self._passage_prefix + text for text in texts], query=False))
        except EndpointError as error:
            if error.status not in (413, 422) or len(texts) == 1:
                raise
        middle = len(texts) // 2
        return np.concatenate([self._embed(texts[:middle]), self._embed(texts[middle:])])

    def _rows(self, texts: Sequence[str], *, query: bool) -> Vectors:
        """Return a row per text, of length 1. Raises EndpointError unless the endpoint sent exactly that."""
        rows = self._client(texts, query)
        if len(rows) != len(texts):
            raise self._wrong(f"{count(len(rows), 'vector')} for {count(len(texts), 'text')}")
        if not all(map(len, rows)) or len({len(row) for row in rows}) > 1:
            raise self._wrong(f"vectors with {sorted({len(row) for row in rows})} numbers")
        vectors: Vectors = np.asarray(rows, np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise self._wrong("a vector with numbers that are not finite, or all zero")
        vectors /= lengths
        return vectors

    def _checked(self, vectors: Vectors) -> Vectors:
        if vectors.shape[1] != self.dimension:
            raise self._wrong(f"vectors with {vectors.shape[1]} numbers, but {self.dimension} at first")
        return vectors

    def _wrong(self, what: str) -> EndpointError:
        return EndpointError(
            f"The embedding model {self.model!r} returned {what}. Check that it is an embedding model, and look at the "
            f"log of its endpoint. Its settings are in `[{TABLE}]`."
        )

    def _with_others(
        self, error: EndpointError, batches: Sequence[Sequence[str]], requests: Sequence[Future[Vectors]]
    ) -> EndpointError:
        """Return the error with the vectors of the batches that succeeded."""
        error.wait_s = self._settings.wait_s
        done = ((batch, each.result()) for batch, each in zip(batches, requests, strict=True) if not each.exception())
        error.embedded = {text: row for batch, rows in done for text, row in zip(batch, rows, strict=True)}
        return error
