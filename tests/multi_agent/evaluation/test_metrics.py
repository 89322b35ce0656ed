"""The metrics, compared with reference results and manual calculations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from multi_agent.evaluation.case import Case
from multi_agent.evaluation.errors import EvaluationError, MetricError
from multi_agent.evaluation.metric import MetricKit, collect_figures, discover
from multi_agent.evaluation.metrics.retrieval import compute_scores
from multi_agent.llm.wrappers.usage import ResponseFaults
from multi_agent.values.answer import Answer, Nearest, Status
from multi_agent.values.context import AnswerPart, Claim
from support.cases import answer, case, cited, claimed, passage, question, refused

SQUAD = json.loads((Path(__file__).parent / "squad_results.json").read_text(encoding="utf-8"))


async def measure(metric: str, of: Case) -> dict[str, float]:
    """Return the figures of a metric without a judge."""
    return dict(await discover()[metric].measure(of, MetricKit()))


@pytest.mark.parametrize("row", SQUAD, ids=lambda row: row["said"][:20] or "nothing")
async def test_exact_match_and_f1_equal_the_squad_script(row: dict[str, Any]) -> None:
    known = {"accepted": row["accepted"]} if row["accepted"] else {"type": "none"}
    answered = answer(row["said"]) if row["said"] else refused()
    assert await measure("exact_match", case(question(**known), answered)) == pytest.approx(
        {"exact_match": row["exact_match"], "f1": row["f1"]}
    )


@pytest.mark.parametrize(
    ("known", "said", "right"),
    [
        ({"type": "number", "accepted": ["9412"]}, "9,412 heat pumps", True),
        ({"type": "number", "accepted": ["9412"]}, "9,413 heat pumps", False),
        ({"type": "number", "accepted": ["5.2 million"]}, "€5,200,000", True),
        ({"type": "number", "accepted": ["5200000"]}, "5.2 million euros", True),
        ({"type": "number", "accepted": ["5.2"]}, "5.2 million", False),
        ({"type": "number", "accepted": ["10.2"], "tolerance": 0.1}, "about 10.3 %", True),
        ({"type": "number", "accepted": ["10.2"], "tolerance": 0.1}, "about 10.4 %", False),
        ({"type": "number", "accepted": ["-25"]}, "−25 °C", True),
        ({"type": "number", "accepted": ["-25"]}, "25 °C", False),
        ({"type": "number", "accepted": ["4", "four"]}, "Four", True),
        ({"type": "number", "accepted": ["15"]}, "1.5", False),
        ({"type": "number", "accepted": ["-1234"]}, "1,234", False),
        ({"type": "number", "accepted": ["9412"]}, "9 412 heat pumps", True),
        ({"type": "number", "accepted": ["412"]}, "2024 412", False),
        ({"type": "number", "accepted": ["5,200,000"]}, "$5.2M", True),
        ({"type": "number", "accepted": ["5.2 billion"]}, "5.2B", True),
        ({"type": "number", "accepted": ["3"]}, "9,412 in quarter 3", False),
        ({"type": "date", "accepted": ["17 March 2025"]}, "2025-03-17", True),
        ({"type": "date", "accepted": ["17 March 2025"]}, "18 March 2025", False),
        ({"type": "yes_no", "accepted": ["yes"]}, "Yes: 50 dB against 53 dB", True),
        ({"type": "yes_no", "accepted": ["yes"]}, "No", False),
        ({"type": "list", "accepted": ["Borea 8", "Fjord 14"]}, "Fjord 14, the Borea 8", True),
        ({"type": "list", "accepted": ["Borea 8", "Fjord 14"]}, "Borea 8", False),
        ({"type": "list", "accepted": ["Borea 8"]}, "Borea 8, Fjord 14", False),
        ({"type": "list", "accepted": ["9,412", "9,640"]}, "9,412, 9,640", True),
        ({"accepted": ["Kuopio"]}, "Kuopio, Finland", True),
        ({"accepted": ["Graz"]}, "Grazalema", False),
    ],
)
async def test_an_answer_is_compared_by_its_type(known: dict[str, Any], said: str, right: bool) -> None:
    assert await measure("correct", case(question(**known), answer(said))) == {"correct": float(right)}


@pytest.mark.parametrize(
    ("accepted", "unit", "said", "right", "named"),
    [
        ("30", "minutes", "0.5 h", True, True),
        ("30", "minutes", "30 min", True, True),
        ("30", "minutes", "30 hours", False, True),
        ("-25", "°C", "-13 °F", True, True),
        ("8.5", "kW", "8,500 W", True, True),
        ("100", "km/h", "100 km/h", True, True),
        ("9412", "heat pumps", "9,412 heat pumps in 2024", True, True),
        ("5200000", "EUR", "5.2 million EUR", True, True),
        ("30", "minutes", "30", True, False),
        ("30", "minutes", "0.5", False, False),
        ("30", "minutes", "30 in total", True, False),
        ("9412", "heat pumps", "9,412 units", True, False),
        ("25", "°C", "25 C", True, False),
        ("5", "m", "5 minutes", True, False),
        ("5", "m", "5 m", True, True),
        ("5", "m", "5 km", False, True),
    ],
)
async def test_numbers_are_compared_in_the_unit_of_the_question(
    accepted: str, unit: str, said: str, right: bool, named: bool
) -> None:
    asked = question(type="number", accepted=[accepted], unit=unit)
    figures = {"correct": float(right), "unit_named": float(named)}
    assert await measure("correct", case(asked, answer(said))) == figures


async def test_a_unit_is_found_without_a_short_answer() -> None:
    asked = question(type="number", accepted=["30"], unit="minutes")
    said = answer(text="In step 2, the lentils boil for 0.5 hours [1].")
    assert await measure("correct", case(asked, said)) == {"correct": 1, "unit_named": 1}


async def test_a_number_is_found_without_a_short_answer() -> None:
    said = answer(text="In quarter 3 of 2024, 9,412 were delivered [1, 2].")
    assert await measure("correct", case(question(type="number", accepted=["9412"]), said)) == {"correct": 1}


async def test_abstaining_is_right_only_without_an_answer() -> None:
    assert await measure("correct", case(question(accepted=["x"]), refused())) == {"correct": 0, "nearest": 0}
    assert await measure("correct", case(question(type="none"), refused())) == {"correct": 1}
    assert await measure("correct", case(question(type="none"), answer("x"))) == {"correct": 0}
    assert await measure("correct", case(question(), answer("x"))) == {}


@pytest.mark.parametrize("known", [{"accepted": ["x"]}, {"type": "none"}])
async def test_a_failed_run_scores_zero(known: dict[str, Any]) -> None:
    failed = case(question(**known), answer(status=Status.FAILED))
    assert await measure("correct", failed) == {"correct": 0}
    assert await measure("exact_match", failed) == {"exact_match": 0, "f1": 0}
    assert (await measure("abstention", failed))["abstention"] == 0
    assert await measure("judge", failed) == {"judged": 0}


@pytest.mark.parametrize(("closest", "right"), [("9,412 units", 1), ("9,000", 0)])
async def test_the_closest_match_is_scored_like_an_answer(closest: str, right: int) -> None:
    near = refused().model_copy(update={"nearest": Nearest(answer=closest, difference="of another year")})
    asked = question(type="number", accepted=["9412"])
    assert await measure("correct", case(asked, near)) == {"correct": 0, "nearest": right}


async def test_lists_have_precision_and_recall() -> None:
    asked = question(type="list", accepted=["Borea 8", "Borea 12", "Tundra 9"])
    measured = await measure("list_match", case(asked, answer("Borea 8; Fjord 14; Tundra 9; Tundra 10")))
    assert measured == pytest.approx({"list_precision": 2 / 4, "list_recall": 2 / 3})
    assert await measure("list_match", case(asked, refused())) == {"list_recall": 0}


async def test_abstention_separates_its_two_errors() -> None:
    answerable, unanswerable = question(accepted=["x"]), question(type="none")
    assert await measure("abstention", case(answerable, refused())) == {"abstention": 0, "refused_wrongly": 1}
    assert await measure("abstention", case(answerable, answer("y"))) == {"abstention": 1, "refused_wrongly": 0}
    assert await measure("abstention", case(unanswerable, answer("y"))) == {"abstention": 0, "answered_wrongly": 1}
    assert await measure("abstention", case(unanswerable, refused())) == {"abstention": 1, "answered_wrongly": 0}
    assert await measure("abstention", case(question(), refused())) == {}


async def test_the_answer_that_a_question_defines_for_nothing_found_is_an_abstention() -> None:
    text, absent = "What are the emissions? If there are none, return N/A.", answer("N/A")
    unanswerable, answerable = question(text, type="none"), question(text, accepted=["12 tonnes"])
    assert await measure("abstention", case(unanswerable, absent)) == {"abstention": 1, "answered_wrongly": 0}
    assert await measure("correct", case(unanswerable, absent)) == {"correct": 1}
    assert await measure("abstention", case(answerable, absent)) == {"abstention": 0, "refused_wrongly": 1}
    assert await measure("correct", case(question(text, accepted=["N/A"]), absent)) == {"correct": 1}
    claimed_tonnes = claimed("12 tonnes", "12 tonnes were emitted", short="12 tonnes")
    assert await measure("abstention", case(unanswerable, claimed_tonnes)) == {"abstention": 0, "answered_wrongly": 1}
    undefined = case(question("What are the emissions?", type="none"), absent)
    assert await measure("abstention", undefined) == {"abstention": 0, "answered_wrongly": 1}


async def test_retrieval_is_measured_by_document_page_and_passage() -> None:
    gold = [
        {"document": "report.pdf", "pages": [2], "quote": "delivered 9,412\nheat pumps"},
        {"document": "notes.md", "quote": "9,640 heat pumps"},
    ]
    found = (
        passage("Nothing of the kind.", "other.pdf", (1,)),
        passage("It delivered 9,412 heat pumps.", "reports/report.pdf", (1, 2)),
        passage("More of it.", "reports/report.pdf", (3,)),
    )
    measured = await measure("retrieval", case(question(gold=gold), answer("x"), retrieved=found))
    assert measured["document_recall@10"] == measured["passage_recall@10"] == 0.5
    assert measured["document_mrr@10"] == measured["page_mrr@10"] == measured["passage_mrr@10"] == 0.5
    assert measured["page_recall@10"] == 1
    # The gain 1/log2(2+1) of rank 2, over the ideal 1/log2(1+1) + 1/log2(2+1) of two.
    assert measured["document_ndcg@10"] == pytest.approx(0.6309 / 1.6309, abs=1e-4)


async def test_results_beyond_ten_count_only_for_recall() -> None:
    assert compute_scores({"gold"}, [*map(str, range(10)), "gold"]) == {
        "recall@10": 0, "recall": 1, "mrr@10": 0, "ndcg@10": 0
    }  # fmt: skip
    assert compute_scores({"gold"}, []) == dict.fromkeys(("recall@10", "recall", "mrr@10", "ndcg@10"), 0)


async def test_retrieval_needs_gold() -> None:
    assert await measure("retrieval", case(question(), answer("x"), retrieved=(passage("a"),))) == {}


async def test_citations_are_compared_with_source_and_gold() -> None:
    gold = [{"document": "report.pdf", "quote": "delivered 9,412 pumps"}, {"document": "notes.md"}]
    taken = (
        cited("In Q3 it delivered 9,412 pumps"),
        cited("delivered 9,412 pumps", "other.pdf"),
        cited("anything", "notes.md", in_source=False),
    )
    claims = (Claim(text="a", evidence=(1,), supported=True), Claim(text="b", supported=False))
    measured = await measure("citations", case(question(gold=gold), answer("9412", claims=claims), cited=taken))
    assert measured == pytest.approx(
        {
            "claims_cited": 0.5,
            "claims_supported": 0.5,
            "citation_in_source": 2 / 3,
            "citation_recall": 1,
            "citation_precision": 2 / 3,
        }
    )
    assert await measure("citations", case(question(gold=gold), refused())) == {}


@pytest.mark.parametrize(
    ("quote", "matches"),
    [
        ("delivered 9,412 pumps, more than ever", True),  # starts inside the gold, like a line of a PDF
        ("In the third quarter of the year the Group", False),  # less than half of either
        ("pumps were late", False),
    ],
)
async def test_a_quote_matches_gold_that_it_overlaps(quote: str, matches: bool) -> None:
    gold = [{"document": "report.pdf", "quote": "the Group delivered 9,412 pumps"}]
    measured = await measure("citations", case(question(gold=gold), answer("9412"), cited=(cited(quote),)))
    assert measured["citation_precision"] == measured["citation_recall"] == matches


async def test_a_missing_judge_is_an_error_instead_of_a_zero() -> None:
    with pytest.raises(MetricError, match="judge"):
        await measure("judge", case(question(answer="Seven."), answer("7")))
    with pytest.raises(MetricError, match="judge"):
        await measure("support", case(question(answer="Seven."), claimed("It is seven.", "seven years")))


async def test_usage_of_a_failed_run_is_measured() -> None:
    assert (await measure("spending", case(question(), answer(status=Status.FAILED))))["model_calls"] == 0


async def test_faults_of_responses_are_counted() -> None:
    clean = case(question(), answer("7"))
    faulty = clean.model_copy(update={"faults": ResponseFaults(repairs=2, rejected=3, failed=1)})
    assert await measure("faults", clean) == {"repairs": 0, "rejected_responses": 0, "schema_failure": 0}
    assert await measure("faults", faulty) == {"repairs": 2, "rejected_responses": 3, "schema_failure": 1}


def test_every_figure_has_one_metric_and_a_description() -> None:
    metrics = discover()
    figures = collect_figures(metrics.values())
    assert all(figure.description for figure in figures.values())
    assert {"exact_match", "judged", "cost", "passage_ndcg@10"} <= figures.keys()
    assert figures["refused_wrongly"].better == "lower"


def test_two_metrics_cannot_define_the_same_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "my_metrics"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "mine.py").write_text(
        "from multi_agent.evaluation.metric import Figure, MetricCard\n"
        "class Mine:\n"
        "    card = MetricCard(name='mine', description='d', figures={'f1': Figure(description='again')})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(EvaluationError, match="'f1'"):
        discover(("multi_agent.evaluation.metrics", "my_metrics"))


ASKED_BACK = answer(status=Status.NEEDS_CLARIFICATION)


@pytest.mark.parametrize(
    ("known", "said", "correct", "figure"),
    [
        ({"type": "unclear"}, ASKED_BACK, 1.0, {"asked_back": 1.0}),
        ({"type": "unclear"}, refused(), 0.0, {"asked_back": 0.0}),
        ({"type": "unclear"}, answer("7"), 0.0, {"asked_back": 0.0}),
        ({"accepted": ["7"]}, ASKED_BACK, 0.0, {"asked_back_wrongly": 1.0}),
        ({"accepted": ["7"]}, answer("7"), 1.0, {"asked_back_wrongly": 0.0}),
    ],
)
async def test_only_an_unclear_question_is_asked_back(
    known: dict[str, Any], said: Answer, correct: float, figure: dict[str, float]
) -> None:
    asked = case(question(**known), said)
    assert await measure("correct", asked) == {"correct": correct}
    assert await measure("clarification", asked) == figure


async def test_the_share_of_answered_parts() -> None:
    parts = (AnswerPart(part="one", verdict="answered"), AnswerPart(part="two", verdict="not_found"))
    assert await measure("parts", case(question(), answer("7", status=Status.PARTIAL, parts=parts))) == {
        "parts_answered": 0.5
    }
    assert await measure("parts", case(question(), answer("7"))) == {}
