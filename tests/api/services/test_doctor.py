"""Several models in the settings: `candor doctor` checks each one, and `candor ask --model` selects one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from api.bootstrap import Candor
from multi_agent.llm.settings import EndpointSettings
from multi_agent.settings.tools import McpServer, ToolSettings
from support.panel import Panel
from support.replies import always

GREEN = '{"colour": "green", "certain": true}'


def test_every_endpoint_is_checked_and_named_in_its_remedy(
    make_candor: Callable[..., Candor], serve: Callable[..., EndpointSettings]
) -> None:
    dead = EndpointSettings(base_url="http://127.0.0.1:9").in_table("llms.small")
    diagnosis = make_candor(llm=serve(always(GREEN)), llms={"small": dead}).doctor.diagnose()
    checks = {check.name: check for check in diagnosis.checks}
    assert checks["llm structured output"].ok
    assert not checks["llms.small endpoint"].ok
    assert "CANDOR_LLMS__SMALL__BASE_URL" in checks["llms.small endpoint"].remedy


def test_no_password_of_an_address_is_shown(make_candor: Callable[..., Candor]) -> None:
    endpoint = EndpointSettings(base_url="http://ann:hunter2@127.0.0.1:9")
    server = McpServer(name="garden", url="http://ann:hunter2@127.0.0.1:9/mcp")
    diagnosis = make_candor(llm=endpoint, tools=ToolSettings(mcp_servers=(server,))).doctor.diagnose()
    assert "http://***@127.0.0.1:9" in diagnosis.model_dump_json()
    assert "hunter2" not in diagnosis.model_dump_json()


def test_a_failed_run_keeps_no_password_of_the_address(run: Callable, folder: Path, use_model: Callable) -> None:
    use_model(EndpointSettings(base_url="http://ann:hunter2@127.0.0.1:9", retries=0))
    run("ingest", folder)
    failed = run("ask", "Down to which temperature?", "--json")
    assert failed.code != 0
    shown = failed.out + failed.err + run("runs", "--json").out + run("doctor", "--json").out
    assert "hunter2" not in shown
    assert "http://***@127.0.0.1:9" in shown
    home = Path(os.environ["CANDOR_HOME"])
    assert not [file for file in home.rglob("*") if file.is_file() and b"hunter2" in file.read_bytes()]


def test_a_question_can_select_its_model(
    run: Callable, folder: Path, serve: Callable[..., EndpointSettings], use_model: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    use_model(serve(always("never asked")))
    small = serve(Panel("-25 °C"))
    for name in ("provider", "base_url", "model"):
        monkeypatch.setenv(f"CANDOR_LLMS__SMALL__{name.upper()}", getattr(small, name))
    run("ingest", folder)
    assert run("ask", "Down to which temperature?", "--model", "small", "--json").json["status"] == "answered"
    refused = run("ask", "Down to which temperature?", "--model", "huge")
    assert refused.code == 1
    assert "There is no model endpoint 'huge'. Known: small." in refused.err
