"""Candor as a Python library."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import CompactAndRefine

from api.errors import UsageError
from api.library import EVENT_TYPES, Home, open_home
from multi_agent.values.answer import Status
from multi_agent.values.events import Event
from support.panel import Panel
from support.scripted_endpoint import ScriptedEndpoint
from support.service import QUESTION
from vectorstore.embedding.embedder import Embedder

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


@pytest.fixture
def home(tmp_path: Path, folder: Path, embedder: Embedder) -> Iterator[Home]:
    """A data folder with two documents and a scripted model."""
    with ScriptedEndpoint(Panel("-25 °C")) as endpoint:
        home = open_home(tmp_path / "data", llm=endpoint.settings("openai").model_dump())
        home._candor.embedder = embedder
        assert home.ingest([folder], "papers").indexed == 2
        yield home


def test_a_folder_is_ingested_searched_and_asked(home: Home) -> None:
    assert home.search("Borea frost")[0].chunk.name == "pumps.md"
    answer = home.research(QUESTION, mode="high")
    assert (answer.status, [quote.name for quote in answer.cited]) == (Status.ANSWERED, ["pumps.md"])
    assert home._candor.trace.run(answer.run_id).status == "answered"


def test_listeners_get_the_events_of_their_type(home: Home) -> None:
    plans: list[Event] = []
    types: list[str] = []

    async def note(event: Event) -> None:
        types.append(event.body.type)

    home.subscribe("plan_made", plans.append)
    home.subscribe("*", note)
    answer = home.research(QUESTION, "papers")
    assert [event.body.type for event in plans] == ["plan_made"]
    assert types == [event.body.type for event in home._candor.trace.events(answer.run_id)]
    assert set(types) <= set(EVENT_TYPES)


def test_a_failing_listener_is_logged_and_not_fatal(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Event] = []
    home.subscribe("step_started", lambda event: heard[1])
    home.subscribe("step_started", heard.append)
    with caplog.at_level(logging.ERROR):
        answer = home.research(QUESTION)
    assert answer.status is Status.ANSWERED
    assert heard, "others still hear it"
    assert f"A listener of step_started events of run {answer.run_id} failed." in caplog.text
    assert "IndexError" in caplog.text


def test_a_collection_is_a_retriever_and_a_query_engine_of_llama_index(home: Home) -> None:
    retriever = home.retriever("papers", limit=1)
    [found] = retriever.retrieve("Borea frost")
    assert found.text == home.search("Borea frost", "papers")[0].chunk.reading_text
    assert (found.metadata["document"], found.score) == ("pumps.md", home.search("Borea frost")[0].score)

    response = asyncio.run(home.query_engine("papers", mode="fast").aquery(QUESTION))
    assert "-25 °C" in str(response)
    assert [(node.text, node.metadata["document"]) for node in response.source_nodes] == [
        ("The Borea 12 works down to -25 °C.", "pumps.md")
    ]
    assert response.metadata["status"] == "answered"
    assert home._candor.trace.run(response.metadata["run_id"]).status == "answered"
    # LlamaIndex's own engine combines passages of the retriever with any of its models.
    nodes = RetrieverQueryEngine(retriever, CompactAndRefine(llm=MockLLM())).query(QUESTION).source_nodes
    assert [node.metadata["document"] for node in nodes] == ["pumps.md"]


def test_a_collection_is_a_retriever_of_langchain(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    retriever = home.langchain_retriever("papers", limit=1)
    hit = home.search("Borea frost", "papers")[0]
    [found] = retriever.invoke("Borea frost")
    assert (found.id, found.page_content) == (hit.chunk.id, hit.chunk.reading_text)
    assert found.metadata == {"document": "pumps.md", "pages": ()}
    # A chain of LangChain, which calls it from asynchronous code.
    chain = retriever | (lambda passages: [passage.metadata["document"] for passage in passages])
    assert asyncio.run(chain.ainvoke("Borea frost")) == ["pumps.md"]
    monkeypatch.setitem(sys.modules, "langchain_core.retrievers", None)
    with pytest.raises(UsageError, match=r"LangChain is not installed\. .* install langchain-core"):
        home.langchain_retriever("papers")


def test_wrong_arguments_are_named(home: Home) -> None:
    with pytest.raises(UsageError, match=r"Unknown event type 'plans'.*plan_made"):
        home.subscribe("plans", print)
    with pytest.raises(UsageError, match=r"Unknown option 'modus'.*mode"):
        home.research(QUESTION, modus="high")
    with pytest.raises(UsageError, match="Invalid request: mode"):
        home.research(QUESTION, mode="quick")


def test_the_page_uses_what_there_is(home: Home) -> None:
    used = set(re.findall(r"\bhome\.(\w+)\(", PAGE.read_text()))
    assert used == {"ingest", "search", "subscribe", "research", "retriever", "query_engine", "langchain_retriever"}
    assert all(callable(getattr(home, name)) for name in used)
