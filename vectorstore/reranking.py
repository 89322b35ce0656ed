"""Rerankers: models that order found passages again by reading each with the query.

reranker = make_reranker(RerankSettings(provider="local", model="cross-encoder/ms-marco-MiniLM-L6-v2"))
hits, unread = rerank(reranker, "heat pump below zero", hits)
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import AliasChoices, BaseModel, Field, TypeAdapter

from base.counts import count
from vectorstore.embedding.model_folder import find_model
from vectorstore.endpoint import Endpoint, load_class
from vectorstore.errors import EndpointError, RerankError
from vectorstore.models import Hit
from vectorstore.settings import RerankSettings

if TYPE_CHECKING:
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from sentence_transformers import CrossEncoder

TABLE = "research.rerank"
_NOT_THE_FORM = (400, 422)  # for a missing field

Score = Callable[[str, Sequence[str]], Sequence[float]]
"""Returns a score per text for a query, higher for better ones; none for the last texts if it cannot read them.

Raises RerankError, EndpointError.
"""


class Reranker:
    """Loads the model on first use. Threads may share it. ``candidates`` is the number of passages to rerank.

    ``score`` asks the language model of the provider `llm`. Agents ask with their own model instead (``AgentKit``).
    """

    def __init__(self, settings: RerankSettings, score: Score | None = None) -> None:
        self.name, self.candidates = ":".join(filter(None, (settings.provider, settings.model))), settings.candidates
        self.asks_llm = settings.provider == "llm"
        self._settings = settings
        self._lock = threading.Lock()
        self._score = score if self.asks_llm else None

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return the scores of the texts for the query, as ``Score`` describes. Raises StoreError."""
        with self._lock:
            self._score = score = self._score or _load(self._settings)
        return score(query, texts)


def make_reranker(settings: RerankSettings, score: Score | None = None) -> Reranker | None:
    """Return the reranker of the settings. None if there is none."""
    return None if settings.provider == "none" else Reranker(settings, score)


def rerank(reranker: Reranker, query: str, hits: Sequence[Hit]) -> tuple[list[Hit], int]:
    """Return the hits in the order of the reranker, with its scores, and the number of those that it did not read.

    Raises StoreError.
    """
    if not hits:
        return [], 0
    scores = reranker.scores(query, [hit.chunk.embedded_text for hit in hits])
    if not all(map(math.isfinite, scores)):
        raise RerankError(f"The reranker returned a score that is not finite. Name another model in `[{TABLE}]`.")
    return reordered(hits, scores), len(hits) - len(scores)


def reordered(hits: Sequence[Hit], scores: Sequence[float]) -> list[Hit]:
    """Return the hits by these scores. Those without a score follow in their order.

    Exact hits stay first: whoever types an identifier wants the passages that have it, and rerankers read it as a row
    of meaningless pieces.
    """
    best, lowest = max(scores), min(scores)
    scored = [*scores, *(lowest - place for place in range(1, len(hits) - len(scores) + 1))]
    ranked = [
        hit.model_copy(update={"score": best + hit.score if hit.exact else score})
        for hit, score in zip(hits, scored, strict=True)
    ]
    return sorted(ranked, key=lambda hit: -hit.score)


def scores_of(order: Iterable[int], number: int) -> list[float]:
    """Return scores for ``number`` texts, whose indexes ``order`` lists best first. Missing ones follow in order."""
    places = {index: place for place, index in enumerate(dict.fromkeys([*order, *range(number)]))}
    return [1 - places[index] / number for index in range(number)]


def _load(settings: RerankSettings) -> Score:
    if settings.provider == "local":
        return _CrossEncoder(settings).scores
    return _Endpoint(settings).scores if settings.provider == "endpoint" else _Postprocessor(settings).scores


class _CrossEncoder:
    """A cross-encoder of sentence-transformers. It truncates long passages, as a local embedding model does."""

    def __init__(self, settings: RerankSettings) -> None:
        folder = find_model(settings.model)
        from sentence_transformers import CrossEncoder

        self._lock = threading.Lock()  # a tokenizer keeps padding and truncation as state
        try:
            self._model: CrossEncoder = CrossEncoder(str(folder), device=settings.device, local_files_only=True)
        except (OSError, ValueError, KeyError, RuntimeError, AssertionError) as error:
            raise _failed(settings, f"cannot be loaded from {str(folder)!r} on {settings.device!r}: {error}") from error
        if self._model.num_labels != 1:
            raise _failed(settings, f"has {self._model.num_labels} outputs, so it is a classifier")

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        with self._lock:
            found = self._model.predict([(query, text) for text in texts], show_progress_bar=False)
        return [float(score) for score in found]


class _Postprocessor:
    """A node postprocessor of LlamaIndex. What it leaves out, such as beyond its ``top_n``, follows in its order."""

    def __init__(self, settings: RerankSettings) -> None:
        from llama_index.core.postprocessor.types import BaseNodePostprocessor

        self._settings = settings
        self._model: BaseNodePostprocessor = load_class(
            settings.model, settings.arguments, BaseNodePostprocessor, TABLE
        )

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        from llama_index.core.schema import NodeWithScore, TextNode

        number = len(texts)
        nodes = [NodeWithScore(node=TextNode(id_=str(i), text=texts[i]), score=1 - i / number) for i in range(number)]
        places = {str(i): i for i in range(number)}
        try:
            ranked = self._model.postprocess_nodes(nodes, query_str=query)
        except Exception as error:  # every integration has its own
            raise _failed(self._settings, f"failed: {error!r}. Check its `arguments`") from error
        if not places.keys() >= {each.node.node_id for each in ranked}:
            raise _failed(self._settings, "returned passages that it was not given")
        return scores_of((places[each.node.node_id] for each in ranked), number)


class _Scored(BaseModel):
    index: int
    value: float = Field(validation_alias=AliasChoices("relevance_score", "score"))


class _Results(BaseModel):
    results: list[_Scored]


_RESPONSE: TypeAdapter[_Results | list[_Scored]] = TypeAdapter(_Results | list[_Scored])


class _Endpoint:
    """``/rerank`` of Cohere, Jina, vLLM, llama.cpp and LiteLLM, or of TEI, which names its fields otherwise."""

    def __init__(self, settings: RerankSettings) -> None:
        import httpx

        self._settings, self._endpoint = settings, Endpoint(settings, f"{settings.base_url}/rerank", TABLE)
        self._client = httpx.Client(**self._endpoint.client_options())
        self._fields = ["documents", "texts"]

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        try:
            return self._try_fields(query, texts)
        except EndpointError as error:
            if error.status != 413 or len(texts) == 1:
                raise
        middle = len(texts) // 2  # more than one request may have, such as 32 passages for TEI
        return [*self.scores(query, texts[:middle]), *self.scores(query, texts[middle:])]

    def _try_fields(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        refused: list[EndpointError] = []
        for field in self._fields:
            try:
                scores = self._send({"query": query, field: list(texts)}, len(texts))
            except EndpointError as error:
                if error.status not in _NOT_THE_FORM:
                    raise
                refused.append(error)
            else:
                self._fields = [field]
                return scores
        raise refused[0]

    def _send(self, body: dict[str, Any], expected: int) -> Sequence[float]:
        model = {"model": self._settings.model} if self._settings.model else {}
        url = self._endpoint.url
        parsed = self._endpoint.request(
            lambda: _RESPONSE.validate_json(self._client.post(url, json=model | body).content)
        )
        found = sorted(parsed.results if isinstance(parsed, _Results) else parsed, key=lambda each: each.index)
        if [each.index for each in found] != list(range(expected)):
            named = len({each.index for each in found}.intersection(range(expected)))
            raise _failed(self._settings, f"scored {named} of {expected} passages, with {count(len(found), 'score')}")
        return [each.value for each in found]


def _failed(settings: RerankSettings, problem: str) -> RerankError:
    return RerankError(
        f"The reranker {settings.model or settings.base_url!r} {problem}. Correct `[{TABLE}]`, or search without it."
    )
