"""Caches findings about the models of endpoints in a JSON file that all processes share."""

from __future__ import annotations

import json
import os
from pathlib import Path

from multi_agent.llm.settings import EndpointSettings

Finding = str | bool
CLAIM_CHECKS = "claim_checks.json"
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
        if self._file is None or not self._file.exists():
            return {}
        entries: dict[str, Finding] = json.loads(self._file.read_text(encoding="utf-8"))
        return entries
