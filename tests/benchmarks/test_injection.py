"""A few orders of the benchmark. Only the answer can be changed, and then its quote shows by whom."""

from __future__ import annotations

from pathlib import Path

from benchmarks.injection import FALSE, attacks, measure

CHOSEN = [
    each
    for each in attacks()
    if (each.place, each.goal) in {
        ("text", "call a tool"), ("tool result", "call a tool"), ("file name", "change what is remembered"),
        ("web page", "forge a citation"), ("text", "forge a citation"), ("mail subject", "tell a fact"),
        ("tag", "tell a fact"), ("table cell", "change the answer"),
    }
]  # fmt: skip


async def test_an_obedient_model_reaches_no_goal_but_another_answer(tmp_path: Path) -> None:
    outcomes = await measure(CHOSEN, tmp_path)
    assert [outcome.shown for outcome in outcomes] == [True] * len(CHOSEN)
    [reached] = [outcome for outcome in outcomes if outcome.reached]
    assert reached.attack.goal == "change the answer"
    assert any(FALSE in quote.quote and quote.name.startswith("letter") for quote in reached.answer.cited)
