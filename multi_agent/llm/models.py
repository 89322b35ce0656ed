"""The models of a panel, and the stack of wrappers around each. A call passes through these wrappers:

    per run
        RunLLM               journal, budget and events; ``wrappers/journal.py`` lists its steps
    per endpoint and process (``build_llm``)
        TypedLLM             turns text into a typed value; sends a new request after an invalid response
        PromptCheck          rejects prompts that are too long, and adds advice to the errors of requests with pictures;
                             inside TypedLLM, as corrections lengthen the prompt
        RetryingEndpoint     retries after transport errors; outside the limits, as a pause must not hold a slot
        RequestLimit         limits the requests of this process, and of all processes with the same locks
        RepetitionCheck      stops responses that repeat themselves; streams every request
        OllamaNative, OpenAICompatible or LocalModel: the client that sends the request

The demo puts ReplayingLLM in place of everything per endpoint.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from multi_agent.errors import UnknownModel
from multi_agent.llm.endpoint import Endpoint
from multi_agent.llm.endpoints.local.endpoint import LocalModel
from multi_agent.llm.endpoints.memory import CLAIM_CHECKS, EndpointMemory
from multi_agent.llm.endpoints.ollama_native import OllamaNative
from multi_agent.llm.endpoints.openai_compatible import OpenAICompatible
from multi_agent.llm.responses.typed import TypedLLM
from multi_agent.llm.settings import EndpointSettings
from multi_agent.llm.vision import Vision
from multi_agent.llm.wrappers.requests import (
    FileLocks,
    MakeLocks,
    PromptCheck,
    RepetitionCheck,
    RequestLimit,
    RetryingEndpoint,
)
from multi_agent.llm.wrappers.usage import Pace
from multi_agent.model import LLM


def build_llm(settings: EndpointSettings, shared: Path | None = None, make_locks: MakeLocks | None = None) -> LLM:
    """Return the LLM of an endpoint. Build one per endpoint and share it, because it limits concurrent requests.

    Processes with the same folder ``shared`` share what they find out about endpoints. They also share one limit,
    by files in that folder or, if it is given, by ``make_locks``. The LLM belongs to the event loop that first uses it.
    """
    endpoint: Endpoint = RepetitionCheck(build_client(settings, shared))
    if make_locks is None and shared:
        make_locks = partial(FileLocks, shared)
    endpoint = RequestLimit(endpoint, settings.parallel, make_locks(settings) if make_locks else None)
    endpoint = PromptCheck(RetryingEndpoint(endpoint, settings.retries), settings)
    claim_checks = EndpointMemory(settings, shared, CLAIM_CHECKS)
    return TypedLLM(endpoint, settings, Vision(settings, shared), claim_checks)


def build_client(
    settings: EndpointSettings, folder: Path | None = None
) -> OllamaNative | OpenAICompatible | LocalModel:
    """Return the client for the endpoint's provider, without wrappers. ``folder`` caches what clients detect."""
    match settings.provider:
        case "ollama":
            return OllamaNative(settings)
        case "openai":
            return OpenAICompatible(settings, folder)
        case "local":
            return LocalModel(settings, folder)


class Models:
    """Language models by name, built when first used. Belongs to one event loop.

    Each endpoint has its own limit of concurrent requests. ``build_llm`` describes ``shared`` and ``make_locks``.
    ``pace`` estimates the duration of calls.
    """

    def __init__(
        self,
        default: LLM,
        endpoints: Mapping[str, EndpointSettings] | None = None,
        shared: Path | None = None,
        pace: Pace | None = None,
        make_locks: MakeLocks | None = None,
    ) -> None:
        self._built = {"": default}
        self._endpoints = endpoints or {}
        self._shared, self._make_locks = shared, make_locks
        self.pace = pace or Pace()

    @property
    def default(self) -> LLM:
        """The model for callers without a named endpoint."""
        return self._built[""]

    def get(self, name: str) -> LLM:
        """Return the model of an endpoint, or the default model for an empty name. Raises UnknownModel."""
        self.require(name)
        if name not in self._built:
            self._built[name] = build_llm(self._endpoints[name], self._shared, self._make_locks)
        return self._built[name]

    def require(self, name: str, used_by: str = "") -> None:
        """Raise UnknownModel unless the endpoint exists. ``used_by`` names who needs it."""
        if name in self._built or name in self._endpoints:
            return
        user = f" (needed by {used_by})" if used_by else ""
        known = f"Known: {', '.join(sorted(self._endpoints))}" if self._endpoints else "There are no named endpoints"
        raise UnknownModel(
            f"There is no model endpoint {name!r}{user}. {known}. Add [llms.{name}] to candor.toml "
            f"(CANDOR_LLMS__{name.upper()}__MODEL etc.), or leave the name out to use the default model ([llm])."
        )
