"""Several models in the settings: `candor doctor` checks each one, and `candor ask --model` selects one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from api.bootstrap import Candor
from multi_agent.llm.settings import EndpointSettings
from support.panel import Panel
from support.scripted_endpoint import always

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
