"""Finds the facts of documents with the default language model during an ingest."""

import asyncio
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from api.services.documents.default_model import DefaultModel
from ingest.errors import ModelFailed, ModelUnavailable
from ingest.facts.stated import StatedFact
from multi_agent.errors import LLMError
from multi_agent.llm.probe import require_reachable
from multi_agent.prompt import Prompt

_WITHOUT = 'To find facts without a model, set `facts` under [ingest] to "rules".'


class ShownFact(BaseModel):
    # No docstring: the schema would show it to the model.
    model_config = ConfigDict(extra="forbid")

    fact: Literal["title", "kind", "issuer", "period", "currency", "date"]
    line: int = Field(description="the number of the line that shows it")
    value: str


class DocumentFacts(BaseModel):
    model_config = ConfigDict(extra="forbid")

    facts: list[ShownFact] = Field(description="what the document states; facts that it does not state are left out")


class ModelFactFinder(DefaultModel):
    """Finds facts for ``FactsParser``."""

    def check(self) -> None:
        try:
            asyncio.run(require_reachable(self._settings, self._shared))
        except LLMError as error:
            raise ModelUnavailable(f"The model cannot find facts of documents. {error} {_WITHOUT}") from error

    def find(self, lines: Sequence[str]) -> list[StatedFact]:
        numbered = "\n".join(f"[{number}] {line}" for number, line in enumerate(lines, start=1))
        try:
            found = self.ask(Prompt.shipped("document_facts").render(lines=numbered), DocumentFacts)
        except LLMError as error:
            raise ModelFailed(f"The model did not find the facts of the document. {error} {_WITHOUT}") from error
        return [StatedFact(each.fact, each.value, each.line) for each in found.facts]
