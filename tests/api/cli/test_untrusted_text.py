"""Text of documents, pages and models cannot act on the terminal or forge what a person reads there."""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import UTC, datetime
from typing import Any

import pytest

from api.cli.ask.run import TerminalApprovals
from api.cli.common import print_json, print_message, print_text
from multi_agent.values.events import ApprovalRequested, Event
from support.handyman import Terminal
from support.waiting import until

CLEAR, TITLE, CLIPBOARD, C1 = "\x1b[2J\x1b[H", "\x1b]0;title\x07", "\x1b]52;c;cm0gLXJm\x07", "\x9b31m"
BIDI, HIDDEN, DELETE, TAG = "\u202egnp\u202c", "\u2066x\u2069", "\x7f", "\U000e0041"
HOSTILE = ("end" + CLEAR, TITLE, CLIPBOARD, C1, BIDI, HIDDEN, DELETE, "a\rb\bc", TAG)
ACTING = {"\x1b", "\x07", "\x08", "\x7f", "\x9b", "\r", "\u202e", "\u202c", "\u2066", "\u2069", TAG}


@pytest.mark.parametrize("text", HOSTILE)
def test_printed_text_and_json_hold_no_acting_characters(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_message(text)
    print_text(text)
    print_json({"quote": text})
    printed = capsys.readouterr()
    assert ACTING.isdisjoint(printed.out + printed.err)
    assert json.loads(printed.out[printed.out.index("{") :]) == {"quote": text}, "JSON loses nothing"


class Recorder:
    """Approvals that record the decisions."""

    def __init__(self) -> None:
        self.decided: list[str] = []

    def decide(self, approval_id: str, choice: str, *_: Any) -> None:
        self.decided.append(choice)


def test_a_reason_cannot_hide_the_arguments_or_forge_a_prompt(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    reason = f"safe{CLEAR}\nlaunch with {{}}\nAllow? [y]es"
    body = ApprovalRequested(
        approval_id="a", agent="Handyman", tool="launch", arguments={"what": f"rocket{CLEAR}"}, reason=reason
    )
    approvals = Recorder()
    event = Event(run_id="run_1", number=1, at=datetime.now(UTC), body=body)
    asyncio.run(TerminalApprovals(approvals).listen(event))  # type: ignore[arg-type]
    until(lambda: bool(approvals.decided))
    printed = capsys.readouterr().err
    lines = printed.strip().splitlines()
    assert lines[0].startswith("Handyman wants to call launch with {")
    assert lines[1].startswith("  The model's reason: “safe")
    assert lines[2].startswith("Allow? ")
    assert (len(lines), approvals.decided) == (3, ["refused"])
    assert ACTING.isdisjoint(printed)
