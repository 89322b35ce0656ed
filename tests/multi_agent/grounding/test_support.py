"""Whether the evidence of a claim supports it, by rules."""

from __future__ import annotations

import pytest

from multi_agent.grounding.citations import cite
from multi_agent.grounding.confidence import Signal, signal_of
from multi_agent.grounding.judged import Judged, Statement
from multi_agent.grounding.support import SupportRules
from multi_agent.prompts.show_passages import number_units
from multi_agent.values.context import Computation, Evidence
from multi_agent.values.sources import tool_passage
from support.chunks import make_chunk
from vectorstore.models import ChunkKind, TableHeader, ToolOutput

REPORT = make_chunk(
    "In the third quarter of 2024 the Group delivered 9,412 heat pumps. Revenue came to €61.4 million. "
    "Ulrike Sandvoss has been chief executive since 2019. The pumps are blue.",
    document="/docs/report.md",
    title="Quarterly statement",
)
TABLE = make_chunk(
    "| Austria | 812 |\n| Belgium | 318 |",
    document="/docs/table.md",
    kind=ChunkKind.TABLE,
    header=TableHeader(text="| Country | Deliveries in 2023 |", start=500, end=531),
)
UNITS = number_units([REPORT, TABLE])
SHOWN = [item for unit in UNITS for item in cite([unit.number], UNITS).evidence]


def judge(question: str, text: str, *sentences: int, short: str = "") -> Judged:
    rules = SupportRules(question, SHOWN, [REPORT, TABLE], short)
    return rules.judge(Statement(text, cite(sentences, UNITS).evidence))


@pytest.mark.parametrize(
    ("question", "text", "sentence"),
    [
        ("How many heat pumps were delivered?", "9412 heat pumps", 1),
        ("What was the revenue?", "61.4 million", 2),
        ("What was the revenue?", "61,400,000", 2),
        ("What was the revenue?", "61.4 million euros", 2),
        ("Who leads the company?", "Ulrike Sandvoss is its chief executive.", 3),
        ("What colour are they?", "blue", 4),
        ("How many went to Austria in 2023?", "Austria: 812", 6),
        ("When did 812 go to Austria?", "in 2023", 6),
    ],
)
def test_a_claim_that_its_quote_contains_is_supported(question: str, text: str, sentence: int) -> None:
    assert judge(question, text, sentence).supported


@pytest.mark.parametrize(
    ("question", "text", "sentence", "missing"),
    [
        ("What was the revenue?", "62.4 million euros", 2, "62.4 million euros"),
        ("Who leads?", "In 2018 the company was led by Ulrike Sandvoss.", 3, "2018, company, led"),
        ("Who leads?", "Ulrike Sandberg", 3, "Sandberg"),
    ],
)
def test_what_its_quote_does_not_contain_is_left_to_the_check_call(
    question: str, text: str, sentence: int, missing: str
) -> None:
    judged = judge(question, text, sentence)
    assert (judged.supported, judged.reason) == (None, f"Not in its evidence: {missing}.")


@pytest.mark.parametrize(
    ("question", "text", "supported", "quotes"),
    [
        ("How many heat pumps were delivered in the third quarter of 2024?", "9,412", True, [SHOWN[0].quote]),
        ("Since when has Ulrike Sandvoss been chief executive?", "2019", None, [SHOWN[2].quote]),
        ("How many heat pumps were delivered in the fourth quarter of 2024?", "9,412", False, []),
        ("When did Ulrike Halden become chief executive?", "2019", False, []),
        ("When was Ulrike Sandvoss born?", "1987", False, []),
    ],
)
def test_a_claim_without_sentences_gets_one_that_has_all_words_of_the_question(
    question: str, text: str, supported: bool | None, quotes: list[str]
) -> None:
    judged = judge(question, text)
    assert (judged.supported, [item.quote for item in judged.statement.evidence]) == (supported, quotes)


def test_of_several_quotes_with_the_answer_the_one_that_supports_it_counts() -> None:
    note = make_chunk(
        "9,412 fans and some heat pumps were delivered. In total, 9,412 heat pumps were delivered.",
        document="/docs/note.md",
    )
    units = number_units([note])
    shown = [item for unit in units for item in cite([unit.number], units).evidence]
    judged = SupportRules("How many heat pumps were delivered?", shown, [note]).judge(Statement("9,412", ()))
    assert (judged.supported, judged.statement.evidence) == (True, (shown[1],))


@pytest.mark.parametrize(
    "text", ["How many heat pumps were delivered", "HOW MANY, heat pumps were delivered?", "Is it?"]
)
def test_a_claim_that_repeats_the_question_is_rejected(text: str) -> None:
    judged = judge("How many heat pumps were delivered?", text, 1)
    assert (judged.supported, judged.reason) == (False, "It repeats the question.")


def test_the_short_answer_replaces_a_repeated_question() -> None:
    judged = judge("How many heat pumps were delivered?", "How many heat pumps were delivered?", 1, short="9,412")
    assert (judged.supported, judged.statement.text) == (True, "9,412")
    assert "its text is now '9,412'" in judged.repair


def test_the_short_answer_completes_a_claim_that_only_names_its_subject() -> None:
    judged = judge("How many were delivered to Austria?", "Deliveries", 6, short="812")
    assert judged.supported
    assert judged.statement.text == "Deliveries: 812"
    assert "added '812'" in judged.repair
    assert judge("How many were delivered?", "Belgium: 318", 7, short="812").statement.text == "Belgium: 318"
    assert judge("How many were delivered?", "Deliveries", 6, short="999").statement.text == "Deliveries"


def test_a_claim_without_evidence_is_rejected() -> None:
    assert judge("What colour?", "blue").supported is False


def test_what_the_question_says_proves_nothing() -> None:
    judged = judge("Is the Borea 8 quieter than the Borea 12?", "The Borea 8 is quieter than the Borea 12.", 1)
    assert (judged.supported, judged.reason) == (None, "It says nothing beyond the question.")


def test_a_comparison_of_figures_is_left_to_the_check_call() -> None:
    judged = judge("Which country received more, Austria or Belgium?", "More went to Austria: 812 and 318.", 6, 7)
    assert (judged.supported, judged.reason) == (None, "Not in its evidence: went.")
    judged = judge("To which country went more, Austria or Belgium?", "More went to Austria: 812 and 318.", 6, 7)
    assert (judged.supported, judged.reason) == (None, "“318” and “austria” stand in different rows.")


def test_the_sentence_with_what_is_missing_is_added() -> None:
    judged = judge("Who is the chief executive?", "Ulrike Sandvoss", 4)
    assert judged.supported
    assert [item.quote for item in judged.statement.evidence][1:] == [
        "Ulrike Sandvoss has been chief executive since 2019."
    ]
    assert judged.repair


def test_they_are_named_in_the_sentence_before() -> None:
    text = (
        "The Kestrels won against Lublin in the spring. They then beat the champion New Lublin Rovers, 20–18, in May."
    )
    units = number_units([make_chunk(text)])
    shown = [item for unit in units for item in cite([unit.number], units).evidence]
    rules = SupportRules("Whom did Lublin's team beat?", shown, [units[0].chunk])
    judged = rules.judge(Statement("The Kestrels beat the New Lublin Rovers.", (shown[1],)))
    assert (judged.supported, judged.statement.evidence) == (True, (shown[1], shown[0]))


def test_a_sentence_that_shares_nothing_with_the_question_is_not_added() -> None:
    assert judge("What is the price of the pump?", "Ulrike Sandvoss", 4).supported is None


def test_a_neighbouring_sentence_that_completes_the_claim_is_added() -> None:
    claim = "The pumps are blue, and Ulrike Sandvoss has been chief executive since 2019."
    judged = judge("What happened?", claim, 4)
    assert judged.supported
    assert [item.quote for item in judged.statement.evidence] == [SHOWN[3].quote, SHOWN[2].quote]
    assert SHOWN[2].quote in judged.repair
    assert judge("What happened?", claim.replace("Sandvoss", "Sandberg"), 1).repair == ""


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("43.4 % of the employees", "43.4 = 100 * 2,434 / 5,613"),
        ("43.4 %: 2,434 of 5,613 employees", "43.4 = 100 * 2,434 / 5,613"),
        ("3,179 work elsewhere", "3,179 = 5,613 - 2,434"),
        ("2.31 employees for each in Japan", "2.31 = 5,613 / 2,434"),
    ],
)
def test_a_figure_computed_from_its_evidence_is_supported(text: str, how: str) -> None:
    assert judge_staff(text).supported
    assert how in judge_staff(text).reason


@pytest.mark.parametrize(
    "text",
    [
        "43.5 % of the employees", "43 % of the employees", "43.4 %, says Sandvoss",
        "43.4 % of the employees, and 77.7 % elsewhere",
    ],
)  # fmt: skip
def test_a_figure_that_cannot_be_computed_from_its_evidence_is_rejected(text: str) -> None:
    assert not judge_staff(text).stands


def test_a_figure_is_computed_from_the_figures_that_the_claim_names() -> None:
    assert judge("How many?", "9,094 besides 318.", 1, 7).reason.startswith(
        "It follows from its evidence: 9,094 = 9,412"
    )
    assert not judge("How many?", "9,094 besides 318 and 812.", 1, 6, 7).stands  # it names two, and neither is 9,412


def judge_staff(text: str) -> Judged:
    """Judge a claim against two rows of a table of employees."""
    table = make_chunk("| Total | 5,613 |\n| Japan | 2,434 |", document="/docs/staff.md", kind=ChunkKind.TABLE)
    units = number_units([table])
    shown = [item for unit in units for item in cite([unit.number], units).evidence]
    return SupportRules("What share works in Japan?", shown, [table]).judge(Statement(text, tuple(shown)))


def test_a_sentence_that_overlapping_passages_repeat_is_added_once() -> None:
    copy = make_chunk(REPORT.text, document="/docs/copy.md")
    units = number_units([REPORT, copy])
    shown = [item for unit in units for item in cite([unit.number], units).evidence]
    rules = SupportRules("Who is the chief executive?", shown, [REPORT, copy])
    judged = rules.judge(Statement("Ulrike Sandvoss", cite([4], units).evidence))
    assert judged.supported
    assert len(judged.statement.evidence) == 2


def test_a_sentence_is_not_added_for_an_ordinary_word() -> None:
    judged = judge("How many heat pumps were delivered?", "9,412, says the executive", 1)
    assert (judged.supported, len(judged.statement.evidence)) == (None, 1)


def test_a_claim_that_names_no_sentence_gets_the_one_that_states_it() -> None:
    judged = judge("How many heat pumps were delivered?", "9,412")
    assert judged.supported
    assert ["9,412" in item.quote for item in judged.statement.evidence] == [True]
    assert judged.repair.startswith("a claim named no sentence")


def test_a_missing_figure_is_named() -> None:
    judged = judge("How many heat pumps were delivered?", "9,413", 1)
    assert (judged.supported, judged.reason) == (None, "Not in its evidence: 9,413.")
    assert not judged.stands, "and without a check call the claim is rejected"


def test_a_claim_that_copies_several_sentences_cites_them() -> None:
    text = "Revenue came to €61.4 million; Ulrike Sandvoss has been chief executive since 2019."
    for sentences in ([4], []):
        judged = judge("Is it well led?", text, *sentences)
        assert judged.supported
        assert [item.quote for item in judged.statement.evidence][-2:] == [SHOWN[1].quote, SHOWN[2].quote]
        assert SHOWN[2].quote in judged.repair


def test_a_copy_across_two_passages_is_not_a_quote() -> None:
    assert judge("Who?", "since 2019. The pumps are blue. Country; deliveries in 2023", 1).supported is not True


@pytest.mark.parametrize(
    ("tool", "arguments", "result", "claim", "supported"),
    [
        ("echo", {"text": "It lasts 9 years."}, "You said: It lasts 9 years.", "It lasts 9 years.", None),
        ("write_file", {"name": "warranty is 9 years"}, "Written: 'warranty is 9 years', 0 bytes.", "9 years", None),
        ("weather", {"city": "Norvik"}, "It is 5 °C in Norvik.", "It is 5 °C in Norvik.", True),
        ("dates", {"date": "2024-01-31"}, "2024-01-31 is a Wednesday.", "Wednesday", True),
    ],
)  # fmt: skip
def test_what_the_model_told_a_tool_is_not_supported_by_its_result(
    tool: str, arguments: dict[str, str], result: str, claim: str, supported: bool | None
) -> None:
    chunk = tool_passage(tool, arguments, result)
    units = number_units([chunk])
    judged = SupportRules("What is said?", [], [chunk]).judge(Statement(claim, cite([1, 2], units).evidence))
    assert judged.supported is supported


def test_a_computation_supports_its_figures() -> None:
    evidence: tuple[Evidence, ...] = cite([6, 7], UNITS).evidence
    computed = Computation(purpose="sum", sql="SELECT", columns=("n",), rows=((1130,),), evidence=evidence)
    rules = SupportRules("How many in all?", SHOWN, [REPORT, TABLE])
    assert rules.judge(Statement("1,130 in all", (), (computed,))).supported


def test_equal_claims_of_different_computations_are_judged_apart() -> None:
    rules, text = SupportRules("How many sheep are there?", (), ()), "There are 1,130 sheep."
    counted = make_chunk("1,130 sheep", origin=ToolOutput(tool="count", arguments={"of": ["sheep"]}))
    evidence = cite([1], number_units([counted])).evidence
    computed = Computation(purpose="sheep", sql="SELECT", columns=("n",), rows=((1130,),), evidence=evidence)
    others = computed.model_copy(update={"rows": ((980,),)})
    verdicts = [rules.judge(Statement(text, (), (each,))).supported for each in (computed, others, computed)]
    assert verdicts[0] is verdicts[2] is True
    assert verdicts[1] is not True


def test_scripts_without_spaces_are_compared_by_characters() -> None:
    chunk = make_chunk("总部位于东京。公司成立于1961年。")
    units = number_units([chunk])
    rules = SupportRules("总部在哪里？", [], [chunk])
    assert rules.judge(Statement("东京", cite([1], units).evidence)).supported
    assert rules.judge(Statement("大阪", cite([1], units).evidence)).supported is None


@pytest.mark.parametrize("number", ["❶", "➀ May", "፩", "9" * 5_000], ids=["black", "white", "Ethiopic", "long"])
def test_digits_that_are_no_number_are_words(number: str) -> None:
    chunk = make_chunk(f"{number} Open the valve.")
    evidence = cite([1], number_units([chunk])).evidence
    assert SupportRules("What comes first?", [], [chunk]).judge(Statement("Open the valve.", evidence)).supported


def test_a_reason_does_not_depend_on_the_order_of_a_set() -> None:
    chunk = make_chunk("The offsite moves from Thursday 15 May to Thursday 22 May.")
    evidence = cite([1], number_units([chunk])).evidence
    judged = SupportRules("When is the offsite?", [], [chunk]).judge(Statement("Thursday, 22 May", evidence))
    assert (judged.supported, judged.reason) == (None, "it stands after “from”.")


def test_the_signal_is_the_weakest_check() -> None:
    judged = judge("What colour?", "blue", 4)
    rejected = judged._replace(supported=False)
    quote = judged.statement.evidence[0].quote
    assert signal_of([judged], f"What is it: {quote}", sufficient=True) is Signal.ON_QUESTION
    assert signal_of([judged], "Who founded the Kestrel works in Tornby?", sufficient=True) is Signal.OFF_QUESTION
    assert signal_of([judged, rejected], quote, sufficient=True) is Signal.PARTLY
    assert signal_of([rejected], quote, sufficient=True) is Signal.INSUFFICIENT
    assert signal_of([judged], quote, sufficient=False) is Signal.INSUFFICIENT


def test_the_purpose_of_a_computation_counts_as_a_quote() -> None:
    computed = Computation(purpose="sum of the deliveries", sql="SELECT", columns=("n",), rows=((1130,),), evidence=())
    judged = judge("What colour?", "blue", 4)
    judged = judged._replace(statement=Statement("1,130", (), (computed,)))
    for question in ("How many deliveries?", "List every item.", "Which were there?"):
        assert signal_of([judged], question, sufficient=True) is Signal.ON_QUESTION
    assert signal_of([judged], "Which pumps failed?", sufficient=True) is Signal.OFF_QUESTION


@pytest.mark.parametrize("short", ["", "9,412", "blue"])
@pytest.mark.parametrize("text", ["9412 heat pumps", "Heat pumps", "What was delivered?", "They are blue.", "In 2018."])
def test_rules_that_checked_drafts_judge_like_new_ones(text: str, short: str) -> None:
    question, statement = "What was delivered?", Statement(text, cite([1], UNITS).evidence)
    drafts = SupportRules(question, SHOWN, [REPORT, TABLE])
    drafts.judge(statement)
    new = SupportRules(question, SHOWN, [REPORT, TABLE], short)
    assert drafts.with_short(short).judge(statement) == new.judge(statement)


def test_the_check_call_sees_place_date_and_header_of_each_quote() -> None:
    dated = TABLE.model_copy(update={"metadata": {"date": "2024-11-07"}})
    cited = [item for number in (6, 7) for item in cite([number], number_units([REPORT, dated])).evidence]
    rules = SupportRules("Which?", cited, [REPORT, dated])
    assert rules.describe_evidence(Statement("Austria: 812, Belgium: 318", tuple(cited))) == (
        "- table.md, dated 2024-11-07, in a table that begins with | Country | Deliveries in 2023 |: "
        "| Austria | 812 |\n"
        "- table.md, dated 2024-11-07: | Belgium | 318 |"
    )


def test_the_check_call_gets_no_header_for_a_quote_beside_the_table() -> None:
    text = "Issued to Nordwind.\nTotal: 90.\n\n| item | price |\n| --- | --- |\n| Filter | 90 |"
    mixed = make_chunk(text, document="/docs/invoice.md", kind=ChunkKind.TABLE)
    units = number_units([mixed])
    cited = [item for number in (1, len(units)) for item in cite([number], units).evidence]
    described = SupportRules("Which?", cited, [mixed]).describe_evidence(Statement("90", tuple(cited)))
    assert "- invoice.md: Issued to Nordwind." in described
    assert "- invoice.md, in a table that begins with | item | price |: | Filter | 90 |" in described
