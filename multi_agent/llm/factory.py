"""Puts a language model together from its settings."""

from __future__ import annotations

from pathlib import Path

from multi_agent.llm.concurrency import ConcurrencyLimit
from multi_agent.llm.context_window import ContextWindowCheck
from multi_agent.llm.cross_process_limit import CrossProcessLimit
from multi_agent.llm.llm import LLM
from multi_agent.llm.ollama_native import OllamaNative
from multi_agent.llm.openai_compatible import OpenAICompatible
from multi_agent.llm.reply_queue import ReplyQueue
from multi_agent.llm.retry import RetryingEndpoint
from multi_agent.llm.settings import EndpointSettings
from multi_agent.llm.typed import TypedLLM


def build_llm(settings: EndpointSettings, shared: Path | None = None) -> LLM:
    """The LLM of an endpoint. Build one and share it: the bound on parallel requests is its own, or that of all who
    name the same folder ``shared``, in whatever process.

    It belongs to the event loop that first uses it. Limiting lies inside the others, so that no pause holds a slot.
    """
    client = client_of(settings)
    bounded = ConcurrencyLimit(CrossProcessLimit(client, shared, settings) if shared else client, settings.parallel)
    endpoint = RetryingEndpoint(ReplyQueue(bounded), settings.retries)
    return TypedLLM(ContextWindowCheck(endpoint, settings), settings)


def client_of(settings: EndpointSettings) -> OllamaNative | OpenAICompatible:
    """The bare client that speaks the endpoint's protocol."""
    return OllamaNative(settings) if settings.provider == "ollama" else OpenAICompatible(settings)
