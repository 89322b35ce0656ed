"""``candor compare``: two runs side by side, and the first event in which they differ."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from api.services.research.compare import match_claims
from multi_agent.llm.settings import EndpointSettings
from multi_agent.values.answer import Answer, Quote, Status
from multi_agent.values.context import Claim
from support.panel import Panel
from support.service import QUESTION

Run = Callable[..., Any]


def test_two_runs_are_compared(
    run: Run, folder: Path, serve: Callable[..., EndpointSettings], use_model: Callable[..., None]
) -> None:
    use_model(serve(Panel("-25 °C")))
    run("ingest", folder, "-c", "pumps")
    first, again = (run("ask", QUESTION, "-c", "pumps", "--mode", "fast", "--json").json["run_id"] for _ in range(2))
    use_model(serve(Panel("lentils")))
    other = run("ask", QUESTION, "-c", "pumps", "--mode", "fast", "--json").json["run_id"]

    same = run("compare", first, again, "--json").json
    assert same["difference"] is None
    assert same["same_plan"] is True
    assert (same["evidence"]["lost"], same["evidence"]["won"]) == ([], [])
    assert "All events are the same." in run("compare", first, again).out

    compared = run("compare", first, other, "--json").json
    [lost], [won] = compared["evidence"]["lost"], compared["evidence"]["won"]
    assert (lost["quote"], won["quote"]) == ("The Borea 12 works down to -25 °C.", "Boil the lentils for 20 minutes.")
    assert (compared["difference"]["type"], compared["difference"]["step"]) == ("step_finished", "answer")
    assert [each["second"] is None for each in compared["claims"]] == [True, False]
    assert compared["first"]["usage"]["model_calls"] == 2
    shown = run("compare", first, other).out
    assert shown.index("It says so: ") < shown.index("Boil the lentils") < shown.index("The runs differ first in event")
    assert "The runs differ first in event" in shown
    assert "Evidence: 0 in both, 1 lost, 1 won" in shown
    assert run("compare", first, "run_none").code == 1


def test_claims_match_by_their_words_or_by_their_evidence() -> None:
    first = answer([("It works down to -25 °C.", 1), ("It is loud.", 2)])
    second = answer([("It is loud!", 2), ("It works  down to -25 °C.", 1), ("It is red.", 3)])
    found = [(each.first, each.second, each.same_text) for each in match_claims(first, second)]
    assert found == [
        ("It works down to -25 °C.", "It works  down to -25 °C.", True),
        ("It is loud.", "It is loud!", False),
        (None, "It is red.", False),
    ]


def answer(claims: list[tuple[str, int]]) -> Answer:
    """Return an answer with these claims, each on the quote of its number."""
    quotes = [
        Quote(number=n, document="a.md", document_id="a", chunk_id=f"{n}", pages=(), start=0, end=1, quote=f"Quote {n}")
        for _, n in claims
    ]
    made = tuple(Claim(text=text, evidence=(number,), supported=True) for text, number in claims)
    return Answer(
        run_id="run_1", status=Status.ANSWERED, mode="fast", question="?", reasoning="", claims=made,
        evidence=tuple(quotes),
    )  # fmt: skip
