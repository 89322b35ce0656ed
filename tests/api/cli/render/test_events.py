"""Rendering of events."""

from __future__ import annotations

import io
from datetime import UTC, datetime

from rich.console import Console

from api.cli.render.run_events import show_event, show_faults
from multi_agent.llm.wrappers.usage import ResponseFaults
from multi_agent.values.events import Event, ResponseRepaired


def make_console() -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, width=100), file


def test_a_repaired_response_shows_each_repair() -> None:
    console, file = make_console()
    body = ResponseRepaired(caller="Reader", repairs=("dropped the unknown field 'note'", "read '3' as 3"))
    show_event(console, Event(run_id="run_1", number=7, at=datetime.now(UTC), step="read", body=body))
    assert "read: response to Reader repaired" in file.getvalue()
    assert "dropped the unknown field 'note'" in file.getvalue()
    assert "read '3' as 3" in file.getvalue()


def test_faults_are_counted_if_there_are_any() -> None:
    console, file = make_console()
    show_faults(console, ResponseFaults())
    assert file.getvalue() == ""
    show_faults(console, ResponseFaults(repairs=2, rejected=1))
    assert "repairs: 2, rejected responses: 1, failed calls: 0" in file.getvalue()
