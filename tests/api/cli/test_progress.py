"""Live progress of ``candor ask``: a plain line in a file, and a line that counts the time on a terminal."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console
from rich.live import Live

from api.cli.render.run_events import LiveProgress, live_progress, time_left
from multi_agent.llm.settings import EndpointSettings
from multi_agent.model import Usage
from multi_agent.values.events import (
    ApprovalDecided,
    ApprovalRequested,
    Body,
    Event,
    ModelAsked,
    ModelCalled,
    StepFailed,
)
from multi_agent.values.evidence_events import FoundPassage, Searched
from support.panel import PLANNER, Panel
from support.replies import held_until
from support.waiting import LIMIT_S

QUESTION = "Down to which temperature does the Borea 12 work?"


def passage(number: int) -> FoundPassage:
    return FoundPassage(
        chunk_id=str(number), document_id="1", name="pumps.pdf", pages=(3,), start=0, end=9, excerpt=f"Words {number}"
    )


TIME = re.compile(rb"Planner asks scripted \xc2\xb7 [1-9]\d* s")


def in_terminal(*arguments: str, counted: threading.Event) -> tuple[int, bytes]:
    """Run ``candor`` with standard error on a terminal. Return its exit code and what the terminal got.

    ``counted`` is set when the terminal has shown the time of a call.
    """
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "api.cli", *arguments]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=follower)
    os.close(follower)
    received = b""
    with suppress(OSError):  # Linux raises it when the command has closed the terminal
        while part := os.read(leader, 4096):
            received += part
            if TIME.search(received):
                counted.set()
    os.close(leader)
    return process.wait(LIMIT_S), received


def searched(*numbers: int) -> Searched:
    passages = tuple(map(passage, numbers))
    return Searched(method="search", queries=("q",), chunks_found=len(passages), documents_found=1, passages=passages)


def asked(caller: str, expected: float | None = 40.0) -> ModelAsked:
    return ModelAsked(caller=caller, model="small", prompt_tokens=900, expected_seconds=expected, tokens_per_second=5)


def called(caller: str, seconds: float) -> ModelCalled:
    usage = Usage(model_calls=1, prompt_tokens=900, completion_tokens=50, seconds=seconds)
    return ModelCalled(caller=caller, model="small", key="k", occurrence=0, replayed=False, usage=usage)


async def shown(*bodies: Body, step: str = "", steps: bool = False) -> tuple[LiveProgress, str]:
    """Return the progress after these events, and what it printed."""
    out = io.StringIO()
    progress = LiveProgress(Console(file=out), steps=steps)
    for number, body in enumerate(bodies, 1):
        await progress.listen(Event(run_id="r", number=number, at=datetime.now(UTC), step=step, body=body))
    return progress, out.getvalue()


async def test_steps_are_printed_only_if_they_are_wanted() -> None:
    _, printed = await shown(searched(0), steps=True)
    assert printed.splitlines() == ["  search: 1 passage in 1 document", "  q", "  pumps.pdf, page 3: Words 0"]
    error = StepFailed(agent="Reader", error_type="LLMUnreachable", error="No server answers.")
    assert (await shown(error, steps=True))[1] == "  Reader failed\n  No server answers.\n"
    assert (await shown(searched(0), error))[1] == ""


async def test_the_line_counts_the_call_in_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.cli.render.run_events.time", SimpleNamespace(monotonic=lambda: 0.0))
    progress, _ = await shown(asked("Reader"))
    assert progress.line().plain == "  Reader asks small · 0 s · about 40 s left · 0 s in all"
    progress, _ = await shown(asked("Extractor"), asked("Extractor"))
    assert "2 calls at once" in progress.line().plain
    progress, printed = await shown(asked("Reader"), called("Reader", 10))
    assert progress.line().plain == "  Searching · 0 s in all"
    progress, _ = await shown(searched(1))
    assert progress.line().plain == "  Working · 0 s in all"
    assert printed == ""
    progress, _ = await shown(called("Reader", 10), asked("Reader", None))
    assert progress.line().plain == (
        "  Reader asks small · 0 s · no estimate before the first call ends · 5.0 tokens/s · 0 s in all"
    )
    progress, _ = await shown(asked("Reader"), StepFailed(agent="Reader", error_type="E", error="It failed."))
    assert "asks" not in progress.line().plain


def test_an_estimate_counts_down_and_ends() -> None:
    assert time_left(asked("Reader", 130), 5) == "about 2:05 min left"
    assert time_left(asked("Reader", 40), 39.5) == "longer than usual (40 s)"
    assert time_left(asked("Reader", None), 5).startswith("no estimate")


def test_lines_are_plain_without_a_terminal_and_nothing_is_shown_with_json(
    run: Callable, folder: Path, serve: Callable[..., EndpointSettings], use_model: Callable
) -> None:
    use_model(serve(Panel("-25 °C")))
    run("ingest", folder)
    progress, hint = run("ask", QUESTION).err.splitlines()
    assert (progress, hint.startswith("`candor doctor`, or “Try it”")) == ("  Searching papers …", True)
    lines = run("ask", QUESTION, "-v").err.splitlines()
    assert lines[:2] == ["  Searching papers …", "  search: 2 passages in 2 documents"]
    assert not any("in all" in line for line in lines)
    assert run("ask", QUESTION, "--json").err == ""


def test_a_terminal_shows_the_time_while_the_model_works(
    run: Callable, folder: Path, serve: Callable[..., EndpointSettings], use_model: Callable
) -> None:
    counted = threading.Event()
    held = {PLANNER: lambda request: held_until(counted, json.dumps(Panel().play(request)))}
    use_model(serve(Panel("-25 °C", roles=held)))
    run("ingest", folder)
    code, printed = in_terminal("ask", QUESTION, "-v", counted=counted)
    assert code == 0
    assert printed.index(b"pumps.md") < printed.index(b"Planner asks")


async def test_the_line_waits_for_all_open_approvals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    shown: list[str] = []
    for name in ("start", "stop"):
        monkeypatch.setattr(Live, name, lambda *_, name=name, **__: shown.append(name))
    requested = [
        ApprovalRequested(approval_id=each, agent="Analyst", tool="run_python", arguments={}, reason="")
        for each in "ab"
    ]
    decided = [ApprovalDecided(approval_id=each, decision="approved", by="me", arguments={}) for each in "ab"]
    with live_progress("papers", steps=False) as listen:
        for body in (*requested, *decided):
            await listen(Event(run_id="r", number=1, at=datetime.now(UTC), step="", body=body))
    assert shown == ["start", "stop", "stop", "start", "stop"]
