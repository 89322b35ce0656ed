"""The reranker of searches. With ``provider = "llm"``, each search asks the default language model once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from api.settings import Settings
from multi_agent.errors import LLMError
from vectorstore.errors import RerankError
from vectorstore.reranking import Reranker, make_reranker

if TYPE_CHECKING:
    from multi_agent.llm.wrappers.requests import MakeLocks


def load_reranker(settings: Settings, make_locks: MakeLocks | None = None) -> Reranker | None:
    """Return the reranker of the settings. None if there is none. ``build_llm`` describes ``make_locks``."""
    research = settings.research

    def score(query: str, texts: Sequence[str]) -> Sequence[float]:
        from multi_agent.llm.models import build_llm
        from multi_agent.prompts.reranking import model_scores

        llm = build_llm(settings.llm, settings.home / "endpoints", make_locks)  # belongs to the event loop of this call
        read = texts[: research.rerank.candidates]
        try:
            return asyncio.run(model_scores(llm, (query,), read, research.tokens_per_call))
        except LLMError as error:
            raise RerankError(str(error)) from error

    return make_reranker(research.rerank, score)
