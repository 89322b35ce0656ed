"""The models of a panel, which are a default model and others by the names of their endpoints.

models = Models(build_llm(settings.llm, folder), settings.llms, folder)
models.get("")          # the default model
models.get("small")     # the model of the table [llms.small] in the settings
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from multi_agent.errors import UnknownModel
from multi_agent.llm.factory import build_llm
from multi_agent.llm.settings import EndpointSettings
from multi_agent.llm.wrappers.pace import Pace
from multi_agent.llm.wrappers.request_limit import MakeLocks
from multi_agent.model import LLM


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
