"""A hostile working folder: no command and no process that it starts runs a module of the folder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from multi_agent.llm.settings import EndpointSettings
from support.service import QUESTION, ServiceProcess, model
from support.waiting import LIMIT_S, until

ROOT = Path(__file__).parents[3]
MODULES = ("json", "fcntl", "pydantic", "numpy", "dbos", "ingest", "sitecustomize", "usercustomize")
TRAP = "import os, sys\nos.mkdir(os.path.join(os.path.dirname(__file__), f'ran-{os.getpid()}'))\nsys.exit(3)\n"


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with modules that leave a trace when they run."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name in MODULES:
        (folder / f"{name}.py").write_text(TRAP)
    (folder / "candor.toml").write_text("noise")
    (folder / "pumps.md").write_text("# Pumps\n\nThe Borea 12 works down to -25 °C.\n")
    monkeypatch.chdir(folder)
    return folder


def candor(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run the command as its script does, without the working folder among the paths of modules."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "api.cli", *arguments, "--home", str(home)],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip


def test_no_command_runs_a_module_of_it(hostile: Path, tmp_path: Path) -> None:
    ingested = candor("ingest", ".", "-c", "papers", home=tmp_path / "home")  # starts a parser
    assert ingested.returncode == 0, ingested.stderr
    assert not list(hostile.glob("ran-*"))


def test_no_process_of_the_service_runs_a_module_of_it(
    hostile: Path, tmp_path: Path, serve: Callable[..., EndpointSettings]
) -> None:
    settings = serve(model)
    environment = {
        "CANDOR_LLM__PROVIDER": "openai", "CANDOR_LLM__BASE_URL": settings.address,
        "CANDOR_LLM__MODEL": settings.model, "CANDOR_LLM__CONTEXT_WINDOW": "32000", "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    process = ServiceProcess(tmp_path / "home", **environment)
    process._command.insert(1, "-P")
    with process as service:
        files = {"files": ("pumps.md", (hostile / "pumps.md").read_text())}
        ended(service.http, service.http.post("/v1/collections/papers/documents", files=files).json()["id"])
        asked = {"question": QUESTION, "collection": "papers", "wait": False}
        ended(service.http, service.http.post("/v1/research", json=asked).json()["run_id"])
    assert not list(hostile.glob("ran-*"))


def ended(http: httpx.Client, job: str) -> None:
    """Wait until the job is done: parser, search and research process have run."""
    until(lambda: http.get(f"/v1/jobs/{job}").json()["status"] not in ("waiting", "running"))
    assert http.get(f"/v1/jobs/{job}").json()["status"] == "done"
