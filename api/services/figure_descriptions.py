"""Describes the figures of pages with the default language model, for an ingest."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from ingest.errors import DescriberUnavailable, FigureNotDescribed
from multi_agent.errors import LLMError
from multi_agent.llm.factory import build_llm
from multi_agent.llm.llm import LLM, Message
from multi_agent.llm.picture import Picture
from multi_agent.llm.settings import EndpointSettings
from multi_agent.prompt import Prompt

_WITHOUT = "To index the text alone, set `describe_figures` under [ingest] to false."


class FigureDescription(BaseModel):
    # A docstring would be shown to the model.
    model_config = ConfigDict(extra="forbid")

    description: str = Field(description="the description; empty if there is no figure")


class ModelDescriber:
    """Implements ``ingest.pipeline.figures.FigureDescriber``."""

    def __init__(self, settings: EndpointSettings, shared: Path) -> None:
        """``shared`` is the folder with the limits of the endpoint that all processes share."""
        self._settings, self._shared = settings, shared

    @property
    def name(self) -> str:
        return self._settings.model

    def check(self) -> None:
        try:
            takes = asyncio.run(self._llm().takes_pictures())
        except LLMError as error:
            raise DescriberUnavailable(f"No figures can be described. {error} {_WITHOUT}") from error
        if not takes:
            setting = self._settings.setting
            raise DescriberUnavailable(
                f"`describe_figures` under [ingest] is true, but no pictures are sent to the {self._settings.name}: it "
                f"takes none, or {setting('vision')} is 'off'. Choose a model that does with {setting('model')}. "
                f"{_WITHOUT}"
            )

    def describe(self, picture: bytes, text: str) -> str:
        system, user = Prompt.shipped("figure_description").render(text=text or "(none)")
        message = Message(role="user", content=user.content, pictures=(Picture.of(picture),))
        try:
            return asyncio.run(self._llm().complete([system, message], FigureDescription)).value.description
        except LLMError as error:
            raise FigureNotDescribed(f"A figure could not be described. {error} {_WITHOUT}") from error

    def _llm(self) -> LLM:
        """Return a model for one call: it belongs to the event loop of the call."""
        return build_llm(self._settings, self._shared)
