"""API keys of tools: settings refer to them by name, tools send them, and no trace or error contains them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api.errors import SettingsError
from api.settings import load_settings
from multi_agent.llm.settings import EndpointSettings
from support.handyman import calls, done
from support.panel import Panel, role_of
from support.replies import Request
from support.scripted_endpoint import ScriptedEndpoint
from support.web import Page, Web

Run = Callable[..., Any]
SERVER = Path(__file__).parents[3] / "support" / "mcp_server.py"
SECRET = "s3cret-of-the-garden"
GARDEN = f"""
[keys]
garden = "env:THE_GARDEN_KEY"
search = "{SECRET}"

[tools]
allow_private_addresses = true
web_search_url = "URL"
web_search_key = "search"

[[tools.mcp_servers]]
name = "garden"
command = {json.dumps(sys.executable)}
args = [{json.dumps(str(SERVER))}]
safe = ["tell"]
key = "garden"
key_as = "GARDEN_KEY"
"""
AGENT = """
name = "Scout"
description = "Asks the garden and the web."
prompt = '''
# System
You look around.
# User
$question
'''
tools = ["garden.tell", "web_search"]
"""


def write_settings(tmp_path: Path, text: str) -> Path:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    (home / "candor.toml").write_text(text)
    return home


@pytest.fixture
def garden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_GARDEN_KEY", SECRET)


@pytest.mark.usefixtures("garden")
def test_tools_get_their_keys_and_no_trace_has_them(
    run: Run, folder: Path, tmp_path: Path, use_model: Callable[[EndpointSettings], None]
) -> None:
    def model(request: Request) -> str:
        if role_of(request) == "Remarks":
            return json.dumps({"reasoning": "Told.", "notes": ["It was told."]})
        if role_of(request) != "ToolTurn":
            return json.dumps(Panel().play(request))
        wanted = calls(("garden.tell", {}), ("web_search", {"query": "pumps"}))
        return done() if any(message["role"] == "assistant" for message in request.messages) else wanted

    with Web() as web, ScriptedEndpoint(model) as endpoint:
        web.pages["/search"] = Page(b'{"results": []}', "application/json")
        use_model(endpoint.settings("openai"))
        home = write_settings(tmp_path, GARDEN.replace("URL", web.url("/search")))
        (home / "agents").mkdir()
        (home / "agents" / "scout.toml").write_text(AGENT)
        run("ingest", folder)
        asked = run("ask", "What grows?", "--agent", "Scout", "--json", "--sources", "documents,web,tools")
        traced = run("trace", asked.json["run_id"], "--prompts", "--json")
        assert web.authorizations == [f"Bearer {SECRET}"]
        shown = run("tools", "show", "garden.tell")
        listed = run("tools", "list", "--servers", "--json")
        unknown = run("tools", "show", "garden.fly")
    results = {call["tool"]: call["result"]["text"] for call in traced.json["tool_calls"]}
    assert results["garden.tell"] == "The key is [key]."
    assert "Key: garden." in shown.out
    assert next(each for each in listed.json if each["name"] == "garden.tell")["key"] == "garden"
    assert "has no tool 'fly'" in unknown.err
    printed = (asked, traced, shown, listed, unknown)
    assert not any(SECRET in text for each in printed for text in (each.out, each.err))
    assert not any(SECRET in request.prompt for request in endpoint.requests)


@pytest.mark.usefixtures("garden")
def test_the_error_of_a_server_does_not_repeat_its_key(run: Run, tmp_path: Path) -> None:
    write_settings(tmp_path, GARDEN.replace("URL", "http://127.0.0.1:9").replace('.py"]', '.py", "--dead"]'))
    listed = run("tools", "list", "--servers", "--json")
    [whole] = [each for each in listed.json if each["name"] == "garden.*"]
    assert "no seeds in the shed [key]" in whole["unavailable"]
    assert SECRET not in listed.out + listed.err


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ('[tools]\nweb_search_key = "brave"\n', "there is no key 'brave' in the table [keys], which contains: none"),
        ('[keys]\nbrave = "env:NOT_SET"\n', "the variable 'NOT_SET', which should contain a key, is not set"),
        (f"[keys]\nbrave = ['{SECRET}']\n", "keys.brave"),
        ("[[tools.mcp_servers]]\nname='a'\ncommand='b'\nkey='c'\n", "set its environment variable in `key_as`"),
    ],
)
def test_wrong_settings_are_named_without_the_key(tmp_path: Path, settings: str, reason: str) -> None:
    home = write_settings(tmp_path, settings)
    with pytest.raises(SettingsError) as caught:
        load_settings(home)
    assert reason in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_server_over_http_gets_the_key_as_bearer_token(tmp_path: Path) -> None:
    settings = load_settings(
        write_settings(tmp_path, f"[keys]\na = '{SECRET}'\n[[tools.mcp_servers]]\nname='a'\nurl='http://x'\nkey='a'\n")
    )
    assert settings.tools.bearer("a") == {"Authorization": f"Bearer {SECRET}"}
    assert SECRET not in repr(settings)
