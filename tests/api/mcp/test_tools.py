"""Tests of Candor's MCP server with the official MCP client, over HTTP and stdio."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from httpx2 import AsyncClient
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from api.auth.keys import KeyRequest
from api.auth.permissions import Right
from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.llm.settings import EndpointSettings
from multi_agent.values.request import Request
from support.service import QUESTION, RunningService, model

TOOLS = {"collections", "search", "research", "read_document", "runs", "run"}
INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}  # fmt: skip


@pytest.fixture
def over_http(service_url: str) -> Callable[[], Any]:
    return lambda: Client(f"{service_url}/mcp")


@pytest.fixture
def over_stdio(make_candor: Callable[..., Candor], serve: Callable[..., EndpointSettings], folder: Path) -> Any:
    """Return a factory of MCP clients that start ``candor mcp`` as a subprocess."""
    endpoint = serve(model)
    candor = make_candor(llm=endpoint)
    run_ingest(candor, [folder], "papers", progress=False)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "CANDOR_HOME": str(candor.settings.home),
        "CANDOR_LLM__PROVIDER": endpoint.provider,
        "CANDOR_LLM__BASE_URL": endpoint.base_url,
        "CANDOR_LLM__MODEL": endpoint.model,
        "CANDOR_STORE__EMBEDDING__PRECISION": "float32",
    }
    command = StdioServerParameters(command=sys.executable, args=["-m", "api.cli", "mcp"], env=environment)
    return lambda: Client(command)


async def _call_every_tool(client: Client) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == TOOLS
    assert all(tool.description and tool.output_schema for tool in tools.values())
    assert tools["search"].annotations.read_only_hint

    found = (await client.call_tool("collections")).structured_content["result"]
    assert "papers" in [each["name"] for each in found]

    hits = await client.call_tool("search", {"query": "cold weather", "collection": "papers", "limit": 2})
    [best, *_] = hits.structured_content["passages"]
    assert (best["name"], len(hits.structured_content["passages"])) == ("pumps.md", 2)

    chosen = {"query": "cold weather", "collection": "papers", "filter": {"type": ["txt"]}}
    hits = (await client.call_tool("search", chosen)).structured_content["passages"]
    assert {hit["name"].rpartition(".")[2] for hit in hits} == {"txt"}
    refused = await client.call_tool(
        "research", {"question": QUESTION, "collection": "papers", "filter": {"tags": ["x"]}}
    )
    assert refused.is_error
    assert "meets the condition 'tag x'" in refused.content[0].text

    whole = await client.call_tool("read_document", {"document": best["document"], "collection": "papers"})
    text = whole.structured_content["text"]
    assert whole.structured_content["next_start"] is None
    part = (
        await client.call_tool(
            "read_document", {"document": best["document"], "collection": "papers", "start": 2, "length": 5}
        )
    ).structured_content
    assert (part["text"], part["next_start"], part["characters"]) == (text[2:7], 7, len(text))

    messages: list[str] = []

    async def record(_: float, __: float | None, message: str | None) -> None:
        messages.append(message or "")

    asked = await client.call_tool("research", {"question": QUESTION, "collection": "papers"}, progress_callback=record)
    answer = asked.structured_content
    assert not asked.is_error
    assert answer["status"] == "answered"
    [cited] = answer["evidence"]
    assert text[cited["start"] : cited["end"]] == cited["quote"] == "The Borea 12 works down to -25 °C."
    assert (cited["mark"], cited["where"]) == ("[1]", "pumps.md, § Limits")
    assert "Plan (high): QueryPlanner → Retriever → DataInspector" in " ".join(messages)
    assert "Synthesizer …" in messages

    listed = (await client.call_tool("runs", {"text": "borea", "limit": 1})).structured_content["result"]
    assert [each["run_id"] for each in listed] == [answer["run_id"]]
    assert (await client.call_tool("run", {"run_id": answer["run_id"]})).structured_content == answer

    for name, arguments, message in (
        ("search", {"query": "x", "collection": "none"}, "No such collection: There is no collection 'none'"),
        ("read_document", {"document": "none", "collection": "papers"}, "No such document"),
        ("run", {"run_id": "run_none"}, "No such run"),
        ("research", {"question": " ", "collection": "papers"}, "The question is empty"),
        ("search", {"query": "x", "limit": 0}, "limit"),
    ):
        refused = await client.call_tool(name, arguments)
        assert refused.is_error
        assert message in refused.content[0].text


async def test_every_tool_works_over_http(over_http: Callable[[], Any]) -> None:
    async with over_http() as client:
        await _call_every_tool(client)


async def test_every_tool_works_over_stdio(over_stdio: Callable[[], Any], folder: Path) -> None:
    """The client parses all of standard output as protocol messages, so any other output fails the test."""
    async with over_stdio() as client:
        await _call_every_tool(client)


async def test_passages_that_the_client_has_are_cited(over_http: Callable[[], Any]) -> None:
    note = {"text": "On the roof it ran at -25 °C.", "source": "field notes"}
    asked = {"question": QUESTION, "collection": "papers", "mode": "fast", "passages": [note]}
    async with over_http() as client:
        answer = (await client.call_tool("research", asked)).structured_content
        refused = await client.call_tool("research", {**asked, "passages": [{**note, "text": " "}]})
    assert {each["where"].partition(", file of")[0]: each["quote"] for each in answer["evidence"]} == {
        "field notes, given with the question": note["text"],
        "pumps.md, § Limits": "The Borea 12 works down to -25 °C.",
    }
    assert answer["did"]["Steps"] == "1 done, 0 skipped, 0 failed"
    assert answer["did"]["Given passages"] == "1 of 1 read, 1 cited"
    assert refused.is_error
    assert "Passage 1 of `rag_results` has a blank text" in refused.content[0].text


async def test_other_processes_can_ingest_between_two_stdio_calls(
    over_stdio: Callable[[], Any], make_candor: Callable[..., Candor], tmp_path: Path
) -> None:
    async with over_stdio() as client:
        await client.call_tool("search", {"query": "lentils"})
        later = tmp_path / "later.txt"
        later.write_text("The zephyr turbine hums.\n")
        run_ingest(make_candor(), [later], "papers", progress=False)
        found = (await client.call_tool("search", {"query": "zephyr turbine"})).structured_content["passages"]
    assert found[0]["name"] == "later.txt"


def test_web_pages_of_other_origins_cannot_call_tools(http: httpx.Client) -> None:
    accept = {"Accept": "application/json, text/event-stream"}
    assert http.post("/mcp", json=INITIALIZE, headers=accept).status_code == 200
    foreign = http.post("/mcp", json=INITIALIZE, headers=accept | {"Origin": "https://example.com"})
    assert (foreign.status_code, foreign.headers["content-type"]) == (403, "application/problem+json")
    rebound = http.post("/mcp", json=INITIALIZE, headers=accept | {"Host": "candor.example.com"})
    assert rebound.status_code == 421


async def test_the_tools_return_only_what_the_key_can_read(
    make_candor: Callable[..., Candor], serve: Callable[..., EndpointSettings], folder: Path
) -> None:
    candor = make_candor(llm=serve(model), service={"require_key": True})
    for name in ("papers", "letters"):
        run_ingest(candor, [folder], name, progress=False)
    candor.trace.start("run_papers", Request(question=QUESTION), "papers", "scripted")
    candor.trace.start("run_letters", Request(question=QUESTION), "letters", "scripted")
    key = candor.keys.add(KeyRequest(name="an agent's", rights={"letters": Right.READ})).secret
    with RunningService(candor) as service:
        url = f"{service.url}/mcp"
        http = AsyncClient(headers={"Authorization": f"Bearer {key}"})
        async with http, Client(streamable_http_client(url, http_client=http)) as client:
            found = await client.call_tool("collections")
            assert [each["name"] for each in found.structured_content["result"]] == ["letters"]
            hits = await client.call_tool("search", {"query": "lentils"})
            assert hits.structured_content["passages"], "the only readable collection is the default"
            every = await client.call_tool("search", {"query": "lentils", "collection": "*"})
            assert every.structured_content == hits.structured_content
            foreign = "Wer kocht an diesem Abend die Linsen für alle Gäste?"
            noted = await client.call_tool("search", {"query": foreign, "collection": ["letters"]})
            assert "in German, the documents are in English" in noted.structured_content["note"]
            runs = await client.call_tool("runs")
            assert [run["run_id"] for run in runs.structured_content["result"]] == ["run_letters"]
            for name, arguments, message in (
                ("search", {"query": "lentils", "collection": "papers"}, "There is no collection 'papers'"),
                ("search", {"query": "lentils", "collection": ["letters", "papers"]}, "no collection 'papers'"),
                ("search", {"query": "lentils", "collection": "nothing"}, "There is no collection 'nothing'"),
                ("research", {"question": QUESTION, "collection": "papers"}, "There is no collection 'papers'"),
                ("read_document", {"document": "x", "collection": "papers"}, "There is no collection 'papers'"),
                ("run", {"run_id": "run_papers"}, "There is no run 'run_papers'"),
            ):
                refused = await client.call_tool(name, arguments)
                assert refused.is_error
                assert message in refused.content[0].text
