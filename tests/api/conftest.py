"""The command line, called as a shell would, in this process (the embedding library is loaded only once)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from api.cli import main
from multi_agent.llm.settings import EndpointSettings


class Result(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be one JSON value and nothing else."""
        return json.loads(self.out)


Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """``run("ask", "Why?", "--json")``."""

    def call(*arguments: str | Path) -> Result:
        monkeypatch.setattr(sys, "argv", ["candor", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        code = ended.value.code
        return Result(code if isinstance(code, int) else 0 if code is None else 1, captured.out, captured.err)

    return call


@pytest.fixture
def use_model(monkeypatch: pytest.MonkeyPatch) -> Callable[[EndpointSettings], None]:
    """Points the command line at an endpoint, through the environment."""

    def use(settings: EndpointSettings) -> None:
        for name in ("provider", "base_url", "model"):
            monkeypatch.setenv(f"CANDOR_LLM__{name.upper()}", getattr(settings, name))
        monkeypatch.setenv("CANDOR_LLM__RETRIES", "1")

    return use


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two small documents."""
    documents = tmp_path / "papers"
    documents.mkdir()
    (documents / "pumps.md").write_text("# Pumps\n\n## Limits\n\nThe Borea 12 works down to -25 °C.\n")
    (documents / "soup.txt").write_text("Boil the lentils for 20 minutes.\n")
    return documents
