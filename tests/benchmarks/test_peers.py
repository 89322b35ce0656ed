"""The parts of benchmarks/peers that compute figures. No peer needs to be installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import openai
import pytest

from benchmarks.engine import longest_chain
from benchmarks.peers.__main__ import SYSTEMS
from benchmarks.peers.endpoint import QUESTIONS, RESPONDERS, calls_in, endpoint


@pytest.mark.parametrize(
    ("calls", "length"),
    [
        ([], 0),
        ([(0, 1), (0, 1), (0, 1)], 1),  # all at once
        ([(0, 1), (1, 2), (2, 3)], 3),  # one after another
        ([(0, 1), (1.1, 2.1), (1.1, 2.1), (1.2, 2.2), (2.3, 3.3)], 3),  # a plan, three parallel calls, an answer
        ([(2.3, 3.3), (0, 1), (0, 5), (1.1, 2.1)], 3),  # in any order, and one parallel to all others
        ([(0, 2), (1, 3), (2, 4)], 2),  # the middle one overlaps both
    ],
)
def test_the_longest_chain_counts_dependent_calls(calls: list[tuple[float, float]], length: int) -> None:
    assert longest_chain(calls) == length


def test_every_system_has_a_script_and_a_responder() -> None:
    for system in SYSTEMS:
        assert find_spec(f"benchmarks.peers.{system.script}"), system
        assert all(way.startswith(system.script) for way in system.ways), system
        assert system.script in RESPONDERS


def test_every_call_is_logged_with_time_and_tokens(tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"
    question = QUESTIONS["comparison"].text
    with endpoint(0.25, log) as url, openai.OpenAI(base_url=url, api_key="none") as client:
        reply = client.chat.completions.create(
            model="llamaindex-sub-questions", messages=[{"role": "user", "content": f"<User Question>\n{question}"}]
        )
    assert all(part in str(reply.choices[0].message.content) for part in QUESTIONS["comparison"].parts)
    [call] = calls_in(log)
    assert (call.model, call.ended - call.began) == ("llamaindex-sub-questions", pytest.approx(0.25))
    assert 15 < call.prompt_tokens < 40 < call.response_tokens < 100
