"""Describes the figures of pages with the default language model during an ingest."""

from pydantic import BaseModel, ConfigDict, Field

from api.services.documents.default_model import DefaultModel
from ingest.errors import ModelFailed, ModelUnavailable
from multi_agent.errors import LLMError
from multi_agent.model import Message, Picture
from multi_agent.prompt import Prompt

_WITHOUT = "To index only the text, set `describe_figures` under [ingest] to false."


class FigureDescription(BaseModel):
    # No docstring: the schema would show it to the model.
    model_config = ConfigDict(extra="forbid")

    description: str = Field(description="the description; empty if there is no figure")


class ModelDescriber(DefaultModel):
    """Describes figures for ``DescribingParser``."""

    def check(self) -> None:
        try:
            takes = self.takes_pictures()
        except LLMError as error:
            raise ModelUnavailable(f"The model cannot describe figures. {error} {_WITHOUT}") from error
        if not takes:
            setting = self._settings.setting
            raise ModelUnavailable(
                f"`describe_figures` under [ingest] is true, but the {self._settings.name} does not support pictures, "
                f"or {setting('vision')} is 'off'. Set {setting('model')} to a model that supports pictures. "
                f"{_WITHOUT}"
            )

    def describe(self, picture: bytes, text: str) -> str:
        system, user = Prompt.shipped("figure_description").render(text=text or "(none)")
        message = Message(role="user", content=user.content, pictures=(Picture.of(picture),))
        try:
            return self.ask([system, message], FigureDescription).description
        except LLMError as error:
            raise ModelFailed(f"A figure could not be described. {error} {_WITHOUT}") from error
