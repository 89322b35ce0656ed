"""A replay gives the same events, without an endpoint; otherwise it names the first one that differs, and the cause."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from api.cli.render.past import show_replay
from api.services.research.library import CollectionLibrary
from multi_agent.errors import AgentError
from multi_agent.llm.models import Models
from multi_agent.llm.settings import EndpointSettings
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.orchestrator.rerun.difference import ChangedLine, Difference, find_causes
from multi_agent.orchestrator.rerun.replay import Replay, replay
from multi_agent.storage.recording import load_recording
from multi_agent.storage.tables import DocumentVersion, Environment
from multi_agent.storage.trace import Trace
from multi_agent.values import request as requests
from multi_agent.values.events import RunStarted
from support import replies
from support.handyman import TASK, calls, handyman, report, rounds
from support.panel import EXTRACTION, Panel, Role, role_of
from support.replies import Request
from support.runs.kinds import KINDS, QUESTION, TOOLS
from support.scripted_endpoint import ScriptedEndpoint
from support.waiting import LIMIT_S, wait_for

MakePanel = Callable[..., Orchestrator]
Serve = Callable[..., EndpointSettings]


class NoModel(Models):
    """Models that a replay must not use."""

    def __init__(self) -> None:
        super().__init__(None)  # type: ignore[arg-type]


def _first_fails(reply: Any) -> Role:
    """Return a role that gives this reply to its first request only."""
    asked: list[Request] = []

    def respond(request: Request) -> Any:
        asked.append(request)
        return reply if len(asked) == 1 else json.dumps(Panel("-25 °C").play(request))

    return respond


async def repeat(live: Orchestrator, trace: Trace, run_id: str, **changes: Any) -> Replay:
    """Replay with the models taken away."""
    parts = replace(live, models=NoModel(), **changes)
    return await asyncio.wait_for(replay(parts, load_recording(trace, live.tools.calls, run_id)), LIMIT_S)


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if not kind.fork])
async def test_every_kind_of_run_is_replayed_with_the_same_events(
    panel: MakePanel, serve: Serve, trace: Trace, name: str
) -> None:
    kind = KINDS[name]
    model = kind.model or Panel("-25 °C", roles=kind.roles)
    live = panel(serve(model, retries=0, response_retries=1), **kind.settings)
    if kind.request.agent == "Handyman":
        live.registry.register(handyman(*TOOLS))
    answer = await live.research(kind.request)
    result = await repeat(live, trace, answer.run_id)
    assert result == Replay(run_id=answer.run_id, same=True, events=result.events)
    assert result.events > 3
    assert trace.run(answer.run_id).status == answer.status.value
    assert len(trace.runs()) == 1, "a replay stores no run"


async def test_a_step_that_succeeded_at_the_second_try_is_replayed_with_its_first(
    panel: MakePanel, serve: Serve, trace: Trace
) -> None:
    fails = _first_fails(replies.server_error())
    live = panel(serve(Panel("-25 °C", roles={EXTRACTION: fails}), retries=0))
    answer = await live.research(QUESTION)
    types = [event.body.type for event in trace.events(answer.run_id)]
    assert (types.count("model_failed"), types.count("step_retried")) == (1, 1)
    assert (await repeat(live, trace, answer.run_id)).same


async def test_a_cancelled_run_is_replayed_up_to_its_end(panel: MakePanel, trace: Trace) -> None:
    with ScriptedEndpoint(Panel(roles={EXTRACTION: replies.always(replies.hang())})) as server:
        live = panel(server.settings("openai"))
        run = asyncio.create_task(live.research(QUESTION, run_id="run_cancelled"))
        await wait_for(lambda: any(role_of(request) == EXTRACTION for request in server.requests))
        run.cancel()
        await asyncio.wait({run})
    assert (await repeat(live, trace, "run_cancelled")).same


async def test_a_resumed_run_is_replayed(panel: MakePanel, trace: Trace) -> None:
    hangs = [True]
    usual = Panel("-25 °C")

    def extract(request: Request) -> Any:
        return replies.hang() if hangs else json.dumps(usual.play(request))

    with ScriptedEndpoint(Panel("-25 °C", roles={EXTRACTION: extract})) as server:
        live = panel(server.settings("openai"))
        run = asyncio.create_task(live.research(QUESTION, run_id="run_1", pausing=lambda: True))
        await wait_for(lambda: any(role_of(request) == EXTRACTION for request in server.requests))
        run.cancel()
        await asyncio.wait({run})
        hangs.clear()
        await live.research(QUESTION, run_id="run_1")
    assert (await repeat(live, trace, "run_1")).same


async def test_a_run_of_an_older_version_says_what_cannot_be_compared(
    panel: MakePanel, serve: Serve, trace: Trace
) -> None:
    """Such a run stored neither its date nor its prompts and documents."""
    live = panel(serve(Panel("-25 °C")))
    answer = await live.research(QUESTION)
    recording = load_recording(trace, live.tools.calls, answer.run_id)
    started = recording.events[0]
    assert isinstance(started.body, RunStarted)
    undated = started.model_copy(update={"body": started.body.model_copy(update={"today": ""})})
    older = recording.model_copy(update={"events": (undated, *recording.events[1:]), "environment": None})
    result = await replay(replace(live, models=NoModel()), older)
    assert result.difference
    assert result.difference.type != "run_started", "the missing date is no difference"
    assert (result.causes, "documents" in result.not_compared) == ((), True)
    console = Console(file=StringIO(), width=100)
    show_replay(console, result)
    assert "Not compared: prompts, documents, settings" in console.file.getvalue()  # type: ignore[attr-defined]


async def test_an_unfinished_run_is_not_replayed(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    trace.create("run_waiting", requests.Request(question=QUESTION), "mixed", "scripted")
    with pytest.raises(AgentError, match="has not ended"):
        load_recording(trace, panel(serve(Panel())).tools.calls, "run_waiting")


async def test_a_changed_prompt_is_named_with_its_first_differing_line(
    panel: MakePanel, serve: Serve, trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = panel(serve(Panel("-25 °C")))
    answer = await live.research(QUESTION)
    change_prompt(monkeypatch, "query_planner", "# User\n", "# User\nThink about $$ first.\n")
    result = await repeat(panel(EndpointSettings(model="none")), trace, answer.run_id)
    assert not result.same
    assert result.causes[0].kind == "prompt"
    assert result.causes[0].name == "multi_agent/prompts/query_planner.md"
    assert result.difference is not None
    assert (result.difference.type, result.difference.step) == ("model_called", "queries")
    assert result.line is not None
    assert (result.line.caller, result.line.repeated) == ("QueryPlanner", "Think about $ first.")


@pytest.mark.parametrize("change", ["has a new version", "was deleted", "was added"])
async def test_a_changed_document_is_named(panel: MakePanel, serve: Serve, trace: Trace, change: str) -> None:
    live = panel(serve(Panel("-25 °C")))
    answer = await live.research(QUESTION)
    assert isinstance(live.library, CollectionLibrary)
    entries = [each._replace(version="1") if change == "has a new version" and each.name == "manual.pdf"
               else each for each in live.library.catalogue()]  # fmt: skip
    entries = [each for each in entries if not (change == "was deleted" and each.name == "manual.pdf")]
    entries += [entries[0]._replace(id="new", name="new.md")] if change == "was added" else []
    library = ChangedLibrary(live.library, entries, shows="manual.pdf" if change != "was added" else "")
    result = await repeat(live, trace, answer.run_id, library=library)
    assert not result.same
    assert result.causes[0].kind == "document"
    assert (result.causes[0].name, result.causes[0].change) == ("new.md" if "added" in change else "manual.pdf", change)
    assert result.difference is not None
    assert result.difference.type == ("model_called" if change == "was added" else "searched")


@pytest.mark.parametrize(("line", "first"), [("- 11.md, a note", "prompt"), ("- 1.md, a note", "document")])
def test_a_document_is_named_by_its_whole_name(line: str, first: str) -> None:
    now = Environment(
        candor="1", prompts={"a.md": "new"}, documents={"d": DocumentVersion(name="1.md", version="2")}, index={},
        settings={},
    )  # fmt: skip
    old = {"prompts": {"a.md": "old"}, "documents": {"d": DocumentVersion(name="1.md", version="1")}}
    changed = ChangedLine(caller="Reader", recorded=line, repeated="- 2.md")
    difference = Difference(
        number=1, repeated_number=1, type="model_called", step="", field="", recorded="", repeated=""
    )  # fmt: skip
    assert find_causes(now.model_copy(update=old), now, difference, changed)[0].kind == first


@pytest.mark.parametrize(("kind", "cause"), [("searched", "code"), ("model_called", "prompt")])
def test_a_prompt_is_no_cause_of_another_result_of_a_search(kind: str, cause: str) -> None:
    """A run of an older version: its prompts have changed, and so has the code that searches."""
    now = Environment(candor="1", prompts={"a.md": "new"}, documents={}, index={}, settings={})
    then = now.model_copy(update={"prompts": {"a.md": "old"}})
    difference = Difference(
        number=2, repeated_number=2, type=kind, step="", field="documents_found", recorded=3, repeated=1
    )  # fmt: skip
    line = ChangedLine(caller="Reader", recorded="a", repeated="b")
    assert find_causes(then, now, difference, line)[0].kind == cause


def test_a_setting_that_no_longer_exists_is_named() -> None:
    """A replay cannot use it."""
    now = Environment(candor="1", prompts={}, documents={}, index={}, settings={"kept": 1})
    causes = find_causes(now.model_copy(update={"settings": {"kept": 1, "sql_rows": 40}}), now, None, None)
    assert [(each.kind, each.name, each.change) for each in causes[1:]] == [
        ("code", "setting sql_rows", "was 40, is gone")
    ]


async def test_a_changed_index_is_named(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    live = panel(serve(Panel("-25 °C")))
    answer = await live.research(QUESTION)
    assert isinstance(live.library, CollectionLibrary)
    library = ChangedLibrary(live.library, live.library.catalogue(), shows="manual.pdf", chunking="sections-v1/64")
    result = await repeat(live, trace, answer.run_id, library=library)
    [cause] = result.causes
    assert (cause.kind, cause.name, cause.change) == ("index", "chunking", "was 'sections-v1/256', is 'sections-v1/64'")


async def test_a_run_is_replayed_with_its_own_settings(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    live = panel(serve(Panel("-25 °C")))
    answer = await live.research(QUESTION)
    settings = live.settings.model_copy(update={"reader_passages": 1, "check_claims": True})
    assert (await repeat(live, trace, answer.run_id, settings=settings)).same


async def test_otherwise_the_code_has_changed(
    panel: MakePanel, serve: Serve, trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = panel(serve(Panel("-25 °C")))
    answer = await live.research(QUESTION)
    monkeypatch.setattr("multi_agent.values.evidence_events._EXCERPT", 10)
    result = await repeat(live, trace, answer.run_id)
    assert result.difference is not None
    assert (result.difference.type, result.difference.field) == ("searched", "passages[0].end")
    [cause] = result.causes
    assert (cause.kind, cause.name) == ("code", "Candor 0.1.0")


class ChangedLibrary(CollectionLibrary):
    """A library with another catalogue, whose searches cut the passages of a document short."""

    def __init__(
        self, library: CollectionLibrary, entries: Any, *, shows: str, chunking: str = "sections-v1/256"
    ) -> None:
        super().__init__(library.collection, lambda: entries, library.retriever)
        object.__setattr__(self, "shows", shows)
        object.__setattr__(self, "chunking", chunking)

    def index(self) -> dict[str, str]:
        return {**super().index(), "chunking": self.chunking}  # type: ignore[attr-defined]

    def search(self, queries: Any, limit: int, documents: Any = ()) -> Any:
        found = super().search(queries, limit, documents)
        return [each for each in found if each.chunk.name != self.shows]  # type: ignore[attr-defined]


def change_prompt(monkeypatch: pytest.MonkeyPatch, stem: str, old: str, new: str) -> None:
    """Change one prompt file as it is read."""
    original = Path.read_text

    def read_text(path: Path, *arguments: Any, **options: Any) -> str:
        text = original(path, *arguments, **options)
        if path.name == f"{stem}.md" and path.parent.name == "prompts":
            assert old in text
            return text.replace(old, new, 1)
        return text

    monkeypatch.setattr(Path, "read_text", read_text)


async def test_tools_are_not_called_again(panel: MakePanel, trace: Trace, tmp_path: Path) -> None:
    note = ("write_file", {"name": "note.txt", "text": "0.3"})
    text = rounds(calls(note, ("calculator", {"expression": "0.1 + 0.2"})), last=report("It is 0.3."))
    with ScriptedEndpoint(text) as server:
        live = panel(server.settings("openai"))
        live.registry.register(handyman("calculator", "write_file"))
        answer = await live.research(TASK)
    made = len(live.tools.calls.entries(answer.run_id))
    assert made == 2
    parts = replace(live, tools=replace(live.tools, sandboxes=tmp_path / "other"))
    result = await repeat(parts, trace, answer.run_id)
    assert result.same
    assert not (tmp_path / "other").exists()
    assert len(live.tools.calls.entries(answer.run_id)) == made
