"""Files of runs come from strangers: hostile ones are refused and change nothing."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from api.bootstrap import Candor
from api.errors import UsageError
from api.services.exports.run_file import LARGEST, LARGEST_FILE, MOST_VALUES, read_run, write_run
from api.services.research.prune import Limits
from api.settings import Settings
from multi_agent.errors import RunExists
from multi_agent.llm.wrappers.journal import JournalEntry
from multi_agent.model import Message, Usage
from multi_agent.storage.recording import Recording
from multi_agent.values.events import Event, RunFinished, RunStarted
from multi_agent.values.request import Fork, Request
from support.answers import ANSWER, RUN

AT = datetime(2026, 11, 21, 10, tzinfo=UTC)
RUN_ID = "run_0123456789ab"


@pytest.fixture
def recording() -> Recording:
    body = RunFinished(status="insufficient", reason="", usage=Usage())
    call = JournalEntry(
        key="k", occurrence=0, model="m", messages=(Message.user("What?"),), response_model="Triage", value={},
        exchanges=(), usage=Usage(prompt_tokens=5), recorded_at=AT,
    )  # fmt: skip
    return Recording(
        run=RUN.model_copy(update={"run_id": RUN_ID, "status": "insufficient"}),
        answer=ANSWER.model_copy(update={"run_id": RUN_ID}),
        events=(Event(run_id=RUN_ID, number=1, at=AT, body=body),),
        calls=(call,),
        tool_calls=(),
        environment=None,
    )


@pytest.fixture
def altered(recording: Recording) -> Callable[..., bytes]:
    """Return a function that returns the file of a run with one value replaced."""

    def alter(place: str, value: Any) -> bytes:
        content = json.loads(gzip.decompress(write_run(recording, texts=True)))
        *folders, last = place.split(".")
        inner = content
        for name in folders:
            inner = inner[int(name)] if isinstance(inner, list) else inner[name]
        inner[int(last) if isinstance(inner, list) else last] = value
        return gzip.compress(json.dumps(content).encode())

    return alter


HOSTILE: dict[str, tuple[str, Any]] = {
    "a path as its id": ("recording.run.run_id", "../../x"),
    "another id in its answer": ("recording.answer.run_id", "run_000000000000"),
    "another id in an event": ("recording.events.0.run_id", "run_000000000000"),
    "too large a number of an event": ("recording.events.0.number", 2**31),
    "another status": ("recording.run.status", "failed"),
    "not ended": ("recording.run.status", "running"),
    "a path as its collection": ("recording.run.collection", "../x"),
    "a path as its origin": ("recording.run.forked_from", "../x"),
    "a long question": ("recording.run.question", "x" * 20_001),
    "a long place of its fork": ("recording.run.forked_at", "x" * 65),
    "a text in place of a fork that Postgres cannot store": ("recording.run.forked_at", "\0"),
    "a long model": ("recording.run.model", "x" * 201),
    "no number": ("recording.answer.usage.seconds", float("nan")),
    "too large a number": ("recording.calls.0.usage.prompt_tokens", 10**30),
    "a text that Postgres cannot store": ("recording.run.question", "\0"),
}


@pytest.mark.parametrize("fault", HOSTILE)
def test_a_hostile_run_is_refused(altered: Callable[..., bytes], fault: str) -> None:
    with pytest.raises(UsageError, match="The file is no run"):
        read_run(altered(*HOSTILE[fault]))


@pytest.mark.parametrize("part", ["calls", "events"])
def test_a_part_twice_is_refused(recording: Recording, part: str) -> None:
    twice = recording.model_copy(update={part: getattr(recording, part) * 2})
    with pytest.raises(UsageError, match="The file is no run"):
        read_run(write_run(twice, texts=True))


@pytest.mark.parametrize(
    ("bomb", "why"),
    [
        (gzip.compress(b" " * (LARGEST + 1)), "unpacks to more than 64 MB"),
        (gzip.compress(b"[" + b"0," * MOST_VALUES + b"0]"), "has more than .* values"),
        (gzip.compress(b'""' * (2 * MOST_VALUES + 1)), "has more than .* values"),
        (gzip.compress(b"[" * 5000), "can read"),
        (gzip.compress(b"{}")[:-1], "is incomplete"),
        (b"x" * (LARGEST_FILE + 1), "has more than 16 MB"),
    ],
    ids=["large", "many values", "many texts", "deep", "cut off", "a large file"],
)
def test_a_bomb_is_refused(bomb: bytes, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        read_run(bomb)


def test_an_import_overwrites_no_run(recording: Recording, altered: Callable[..., bytes], tmp_path: Path) -> None:
    candor = Candor(Settings(home=tmp_path / "home"))
    candor.archive.add(read_run(write_run(recording, texts=True)).recording)
    before = candor.trace.answer(RUN_ID)
    with pytest.raises(RunExists):
        candor.archive.add(read_run(altered("recording.answer.answer", "Forged.")).recording)
    assert candor.trace.answer(RUN_ID) == before
    candor.bin.delete_runs(candor.pruning.find(Limits(keep=0)), now=True)
    assert candor.trace.runs() == []
    candor.engine.dispose()


def test_the_prompts_of_a_fork_are_left_out_with_the_texts(recording: Recording) -> None:
    fork = Fork(run_id="run_1", step="answer", prompts={"Synthesizer": "secret"}, inputs={"query": "secret"})
    body = RunStarted(request=Request(question="Why?", fork=fork), collection="pumps", model="m")
    forked = recording.model_copy(update={"events": (Event(run_id=RUN_ID, number=1, at=AT, body=body),)})
    assert b"secret" in gzip.decompress(write_run(forked, texts=True))
    content = gzip.decompress(write_run(forked, texts=False))
    assert b"secret" not in content
    assert b'"step":"answer"' in content
