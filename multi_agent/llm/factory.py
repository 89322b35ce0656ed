"""Puts a language model together from its settings."""

from __future__ import annotations

from multi_agent.llm.fitting import Fitting
from multi_agent.llm.limiting import Limiting
from multi_agent.llm.llm import LLM
from multi_agent.llm.ollama_native import OllamaNative
from multi_agent.llm.openai_compatible import OpenAICompatible
from multi_agent.llm.pacing import Pacing
from multi_agent.llm.retrying import Retrying
from multi_agent.llm.settings import EndpointSettings
from multi_agent.llm.typed import TypedLLM


def build_llm(settings: EndpointSettings) -> LLM:
    """The LLM of an endpoint. Build one and share it: the bound on parallel requests is its own.

    It belongs to the event loop that first uses it. Limiting lies inside the others, so that no pause holds a slot.
    """
    endpoint = Retrying(Pacing(Limiting(client_of(settings), settings.parallel)), settings.retries)
    return TypedLLM(Fitting(endpoint, settings), settings)


def client_of(settings: EndpointSettings) -> OllamaNative | OpenAICompatible:
    """The bare client that speaks the endpoint's protocol."""
    return OllamaNative(settings) if settings.provider == "ollama" else OpenAICompatible(settings)
