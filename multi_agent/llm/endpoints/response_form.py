"""The forms in which a request tells an OpenAI-compatible endpoint the JSON schema of its response."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

from multi_agent.llm.endpoint import JsonSchema
from multi_agent.llm.endpoints.memory import EndpointMemory
from multi_agent.llm.settings import EndpointSettings, ResponseForm

FORMS: tuple[ResponseForm, ...] = get_args(ResponseForm)
"""All forms, from the strictest to the one that every endpoint accepts."""
ENFORCED: tuple[ResponseForm, ...] = ("json_schema", "guided_json", "tools")
"""The forms with which an endpoint can enforce the schema. With the others, only the prompt names it."""


def fields(form: ResponseForm, schema: JsonSchema) -> dict[str, Any]:
    """Return the fields of the request that carry the schema."""
    name = _name(schema)
    match form:
        case "json_schema":
            return {"response_format": {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}}
        case "guided_json":
            return {"guided_json": schema}
        case "tools":
            tool = {"name": name, "description": "Give the answer.", "parameters": schema}
            choice = {"type": "function", "function": {"name": name}}
            return {"tools": [{"type": "function", "function": tool}], "tool_choice": choice}
        case "json_object":
            return {"response_format": {"type": "json_object"}}
        case "none":
            return {}


def _name(schema: JsonSchema) -> str:
    """Return the title of the schema, restricted to the characters that the protocol allows in a name."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", str(schema.get("title", "Response")))[:64]


class ResponseForms:
    """The forms to try with one model. Stores the form that worked in a JSON file for later processes."""

    def __init__(self, settings: EndpointSettings, folder: Path | None) -> None:
        self.candidates = FORMS if settings.response_format == "auto" else (settings.response_format,)
        """The forms that the settings allow, the strictest first."""
        self._memory = EndpointMemory(settings, folder, "response_forms.json")
        kept = self._memory.recall()
        self._remembered = next((form for form in FORMS if form == kept), None)

    def to_try(self) -> tuple[ResponseForm, ...]:
        """Return the candidates, the remembered one first."""
        return tuple(sorted(self.candidates, key=lambda form: form != self._remembered))

    def remember(self, form: ResponseForm) -> None:
        """Use this form from now on."""
        if form == (self._remembered or self.candidates[0]):
            return
        self._remembered = form
        self._memory.keep(form)
