"""Caches findings about the models of endpoints in JSON files that all processes share.

Among them is the form in which a request tells an OpenAI-compatible endpoint the JSON schema of its response.
"""

import json
import os
import re
from pathlib import Path
from typing import Any, get_args

from multi_agent.llm.endpoint import JsonSchema
from multi_agent.llm.settings import EndpointSettings, ResponseForm

Finding = str | bool
CLAIM_CHECKS = "claim_verdicts.json"
"""The file with the models that may check claims. ``grounding/claim_trial.py`` writes it."""


class EndpointMemory:
    """Caches one finding about one model. All models share the file. Without a folder, nothing is stored."""

    def __init__(self, settings: EndpointSettings, folder: Path | None, file: str) -> None:
        self._key = f"{settings.address} {settings.model}"
        self._file = folder / file if folder else None

    def recall(self) -> Finding | None:
        """Return the stored finding about the model, or None."""
        return self._read().get(self._key)

    def keep(self, finding: Finding) -> None:
        """Store the finding for later processes. Raises OSError."""
        if self._file:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            temporary = self._file.with_suffix(f".{os.getpid()}")
            temporary.write_text(json.dumps(self._read() | {self._key: finding}, indent=1), encoding="utf-8")
            temporary.replace(self._file)

    def _read(self) -> dict[str, Finding]:
        """Return the findings in the file. A damaged file has none."""
        try:
            entries = json.loads(self._file.read_bytes()) if self._file else {}
        except (FileNotFoundError, ValueError):
            return {}
        return entries if isinstance(entries, dict) else {}


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
