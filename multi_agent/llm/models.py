"""The models that a panel asks: one unless another is named, and others by the name of their endpoint.

    models = Models(build_llm(settings.llm, folder), settings.llms, folder)
    models.get("")          # the one that is asked where no other is named
    models.get("small")     # the one of the settings' table [llms.small]

Each endpoint's bound on parallel requests is its own, and that of all who name the same folder. It belongs to one
event loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from multi_agent.errors import UnknownModel
from multi_agent.llm.factory import build_llm
from multi_agent.llm.llm import LLM
from multi_agent.llm.settings import EndpointSettings


class Models:
    """Language models by name; each is made when it is first asked for."""

    def __init__(
        self, default: LLM, endpoints: Mapping[str, EndpointSettings] | None = None, shared: Path | None = None
    ) -> None:
        self._made = {"": default}
        self._endpoints = endpoints or {}
        self._shared = shared

    @property
    def default(self) -> LLM:
        """The one that is asked where no other is named."""
        return self._made[""]

    def get(self, name: str) -> LLM:
        """The model of that endpoint; the default one for an empty name. Raises UnknownModel."""
        self.require(name)
        if name not in self._made:
            self._made[name] = build_llm(self._endpoints[name], self._shared)
        return self._made[name]

    def require(self, name: str, whose: str = "") -> None:
        """Raises UnknownModel, naming those there are and ``whose`` it was to be, unless it is there."""
        if name in self._made or name in self._endpoints:
            return
        asked = f" ({whose} is to ask it)" if whose else ""
        known = f"there are {', '.join(sorted(self._endpoints))}" if self._endpoints else "none has a name yet"
        raise UnknownModel(
            f"There is no model endpoint {name!r}{asked}; {known}. Describe it under [llms.{name}] in candor.toml "
            f"(CANDOR_LLMS__{name.upper()}__MODEL and its like), or leave the name out to ask the default one ([llm])."
        )
