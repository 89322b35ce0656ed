"""The clients of embedding models: Ollama's, OpenAI's, and classes of LlamaIndex."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence

import numpy as np
from pydantic import BaseModel

from base.counts import count
from vectorstore.endpoint import Endpoint, load_class
from vectorstore.errors import EndpointError
from vectorstore.settings import EmbeddingSettings

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
        api_key=settings.api_key.get_secret_value() if settings.api_key else "none",  # servers without keys ignore it
        max_retries=0,
        http_client=httpx.Client(**endpoint.client_options()),  # type: ignore[arg-type] # declared as httpx2
    )

    def send(body: dict[str, object]) -> Rows:
        try:  # its own method reads one of the two forms of vectors only
            response = client.post("/embeddings", cast_to=object, body=body)
        except openai.APIConnectionError as error:
            raise (error.__cause__ or error) from None  # its message is only "Connection error."
        found = _Vectors.model_validate(response).data
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
