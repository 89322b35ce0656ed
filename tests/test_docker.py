"""The Dockerfile and the compose file. No image is built here: the tests read the files and run their commands."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.waiting import LIMIT_S, until
from test_wheel import PACKAGES

ROOT = Path(__file__).parent.parent


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile with their arguments."""
    lines = (line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.startswith("#"))
    joined = "\n".join(lines).replace("\\\n", " ")
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def final_stage() -> dict[str, str]:
    """Return the last instruction of each kind in the final stage."""
    found = instructions()
    start = max(number for number, (name, _) in enumerate(found) if name == "FROM")
    return dict(found[start:])


def variables() -> dict[str, str]:
    """Return the variables that the image sets."""
    return dict(each.split("=", 1) for each in shlex.split(final_stage()["ENV"]))


@pytest.fixture(scope="module")
def service() -> dict[str, Any]:
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return dict(compose["services"]["candor"], declared=compose["volumes"])


def test_everything_that_is_copied_exists_and_reaches_the_build() -> None:
    copied = [each.split()[:-1] for name, each in instructions() if name == "COPY" and "--from" not in each]
    sources = {source for each in copied for source in each}
    assert sources >= {*PACKAGES, "pyproject.toml", "constraints.txt"}
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    for source in sources:
        assert (ROOT / source).exists()
        assert f"!{source}" in ignored, "the build does not see it"


def test_the_image_runs_as_a_user_with_a_data_volume_and_a_health_check() -> None:
    stage = final_stage()
    assert f"useradd --uid {int(stage['USER'])} " in stage["RUN"]
    assert int(stage["USER"]) > 0
    assert f"-o candor -g candor {stage['VOLUME']}" in stage["RUN"]
    assert variables()["CANDOR_HOME"] == stage["VOLUME"]
    assert variables()["CANDOR_SERVICE__PORT"] == stage["EXPOSE"]
    assert f":{stage['EXPOSE']}/healthz" in stage["HEALTHCHECK"]
    assert json.loads(stage["ENTRYPOINT"]) + json.loads(stage["CMD"]) == ["candor", "serve"]
    for _, image in (each for each in instructions() if each[0] == "FROM"):
        assert re.match(r"python:3\.(1[1-9])-slim", image)


def test_the_compose_file_publishes_to_this_machine_only_and_keeps_the_data(service: dict[str, Any]) -> None:
    assert service["ports"] == [f"127.0.0.1:{final_stage()['EXPOSE']}:{final_stage()['EXPOSE']}"]
    assert f"data:{final_stage()['VOLUME']}" in service["volumes"]
    assert "data" in service["declared"]
    [documents] = json.loads(service["environment"]["CANDOR_SERVICE__INGEST_ROOTS"])
    assert f"./documents:{documents}:ro" in service["volumes"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The variables of the image, with a free port and a folder as the volume."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    own = {name: value for name, value in variables().items() if name != "PATH"}
    return os.environ | own | {
        "CANDOR_HOME": str(tmp_path / "data"), "CANDOR_SERVICE__PORT": port, "PYTHONPATH": str(ROOT)
    }  # fmt: skip


@pytest.fixture
def started(environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """The command of the image, after a key was added as the compose file says."""
    added = candor(environment, "keys", "add", "me", "--right", "*=admin", "--json")
    assert added.returncode == 0, added.stderr
    command = json.loads(final_stage()["CMD"])
    with subprocess.Popen(
        [sys.executable, "-m", "api.cli", *command], env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.terminate()
        process.communicate(timeout=LIMIT_S)


def test_the_service_of_the_image_is_healthy(environment: dict[str, str], started: subprocess.Popen[str]) -> None:
    written = final_stage()["HEALTHCHECK"].partition("CMD ")[2]
    check = json.loads(written.replace(final_stage()["EXPOSE"], environment["CANDOR_SERVICE__PORT"]))
    check[0] = sys.executable

    def healthy() -> bool:
        assert started.poll() is None, "the service has ended"
        return subprocess.run(check, env=environment, capture_output=True).returncode == 0

    until(healthy)


def test_without_a_key_it_says_which_command_makes_one(environment: dict[str, str]) -> None:
    refused = candor(environment, "serve")
    assert refused.returncode == 2
    assert "candor keys add" in refused.stderr


def candor(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "api.cli", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_S)
