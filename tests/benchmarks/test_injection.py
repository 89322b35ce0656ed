"""All orders of the benchmark. Only the answer can be changed, and then its quote shows by whom."""

from __future__ import annotations

from pathlib import Path

from benchmarks.injection import FALSE, attacks, measure


async def test_an_obedient_model_reaches_no_goal_but_another_answer(tmp_path: Path) -> None:
    outcomes = await measure(list(attacks()), tmp_path)
    assert {outcome.attack.place for outcome in outcomes if not outcome.shown} == {"hidden text", "title", "metadata"}
    reached = {outcome.attack.place: outcome for outcome in outcomes if outcome.reached}
    assert {outcome.attack.goal for outcome in reached.values()} == {"change the answer"}
    cited = reached["table cell"].answer.cited
    assert any(FALSE in quote.quote and quote.name.startswith("letter") for quote in cited)
