"""Claims that contradict the sentence that they cite, and right ones in other words, from question to answer.

``claims/contradicted.tsv`` and ``claims/right.tsv`` hold a question, a claim and the sentence that the model points at.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from api.services.research.library import CollectionLibrary
from multi_agent.grounding.citations import cite
from multi_agent.grounding.confidence import SHARE_RIGHT, Signal
from multi_agent.grounding.judged import Judged, Statement
from multi_agent.grounding.support import SupportRules
from multi_agent.llm.settings import EndpointSettings
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.prompts.show_passages import number_units
from multi_agent.values.answer import Status
from multi_agent.values.context import Claim, Computation
from multi_agent.values.request import Request as Asked
from support.chunks import make_chunk
from support.kits import library_of
from support.panel import CHECK, READING, Panel, synthesis, verdicts
from support.replies import Request
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import ChunkKind, TableHeader

FOLDER = Path(__file__).parent / "claims"
MakePanel = Callable[..., Orchestrator]
Serve = Callable[..., EndpointSettings]


def rows(name: str) -> list[list[str]]:
    return [line.split("\t") for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


WRONG, RIGHT = rows("contradicted.tsv"), rows("right.tsv")


@pytest.fixture
def library(tmp_path: Path, embedder: Embedder) -> Iterator[CollectionLibrary]:
    """One document with all sentences that the wrong claims point at."""
    sentences = dict.fromkeys(sentence for _, _, sentence in WRONG)
    chunks = [make_chunk(text, document="/docs/facts.txt", index=at) for at, text in enumerate(sentences)]
    with library_of(chunks, embedder, tmp_path / "facts") as opened:
        yield opened


def judge(question: str, claim: str, *texts: str) -> Judged:
    chunks = [make_chunk(text, document=f"/docs/{at}.md") for at, text in enumerate(texts)]
    units = number_units(chunks)
    evidence = cite((unit.number for unit in units), units).evidence
    return SupportRules(question, evidence, chunks).judge(Statement(claim, evidence))


SEGMENTS = (
    "| Segment | Q3 2024 (€ thousand) | Q3 2023 (€ thousand) |",
    "| Heat pumps | 41,870 | 37,940 |",
)
NOISE = (
    "| Model | Sound power at nominal load (dB(A)) | Sound power in night mode (dB(A)) |",
    "| Tundra 9 | 50 | 45 |",
)
INCOME = ("| (in millions) | 2023 | 2022 |", "| Net income | $ 1.2 | $ 0.8 |")


def judge_row(claim: str, head: str, row: str) -> Judged:
    other = "| Other |" + " – |" * (head.count("|") - 2)
    chunk = make_chunk(f"{head}\n|{' --- |' * (head.count('|') - 1)}\n{other}\n{row}", kind=ChunkKind.TABLE)
    units = number_units([chunk])
    evidence = cite((unit.number for unit in units if "Other" not in unit.text), units).evidence
    return SupportRules("What is said?", evidence, [chunk]).judge(Statement(claim, evidence))


@pytest.mark.parametrize(
    ("claim", "table"),
    [
        ("Heat pumps had 41,870 thousand euros in Q3 2024 and 37,940 thousand euros in Q3 2023.", SEGMENTS),
        ("In night mode the Tundra 9 has a sound power of 45 dB(A), at nominal load 50 dB(A).", NOISE),
        ("Net income was $1.2 million in 2023 and $0.8 million in 2022.", INCOME),
    ],
)
def test_figures_of_one_row_stand_in_the_columns_that_the_claim_names(claim: str, table: tuple[str, str]) -> None:
    assert judge_row(claim, *table).supported


@pytest.mark.parametrize(
    ("claim", "table"),
    [
        ("Heat pumps had 37,940 thousand euros in Q3 2024 and 41,870 thousand euros in Q3 2023.", SEGMENTS),
        ("In night mode the Tundra 9 has a sound power of 50 dB(A), at nominal load 45 dB(A).", NOISE),
        ("Net income was $0.8 million in 2023 and $1.2 million in 2022.", INCOME),
    ],
)
def test_figures_of_exchanged_columns_are_contradicted(claim: str, table: tuple[str, str]) -> None:
    assert judge_row(claim, *table).contradicted


def test_figures_that_are_named_before_their_columns_are_not_contradicted() -> None:
    judged = judge_row("Net income was $1.2 million and $0.8 million in 2023 and 2022.", *INCOME)
    assert not judged.contradicted


PRICES = ("| Zone | Adult (EUR) | Adult (CHF) | Fine (min) |", "| 2 | 7.40 | 6.80 | 38 |")
SPAN = ("| Product | Revenue (€ million) | | Margin (%) |", "| Pumps | 412 | 398 | 18 |")


@pytest.mark.parametrize(
    ("claim", "table", "verdict"),
    [
        ("The adult price is CHF 6.80.", PRICES, "not_checked"),
        ("Adult in zone 2: EUR 7.40.", PRICES, "supported"),
        ("Adult in zone 2: CHF 6.80.", PRICES, "supported"),
        ("Adult in zone 2: CHF 7.40.", PRICES, "contradicted"),
        ("Adult in zone 2: EUR 6.80.", PRICES, "contradicted"),
        ("Adult in zone 2: EUR 38.", PRICES, "not_checked"),
        ("Pumps had €398 million.", SPAN, "supported"),
        ("Pumps had a margin of 18 %.", SPAN, "supported"),
        ("Pumps had a margin of 412 %.", SPAN, "not_checked"),
    ],
)
def test_a_figure_has_the_unit_of_the_head_of_its_own_column(claim: str, table: tuple[str, str], verdict: str) -> None:
    assert judge_row(claim, *table).claim(claim, ()).verdict == verdict


CAPTION = "(in millions, except per share data)"


def judge_in_table(claim: str, caption: str, cell: str = "423.1") -> Judged:
    """Judge a claim about total liabilities. Another row has the dollar sign, and the caption has the scale."""
    above = make_chunk(caption, document="/docs/statement.pdf")
    rows = f"| Other assets | $ — | $ 0.4 |\n| Total liabilities | {cell} | 316.0 |"
    head = TableHeader(text="| | December 31, 2022 | December 31, 2021 |", start=500, end=531)
    table = make_chunk(rows, document="/docs/statement.pdf", index=1, kind=ChunkKind.TABLE, header=head)
    units = number_units([above, table])
    cited = [unit.number for unit in units if "|" not in unit.text or "Total" in unit.text]
    evidence = cite(cited, units).evidence
    question = "What were the total liabilities at December 31, 2022?"
    return SupportRules(question, evidence, [above, table]).judge(Statement(claim, evidence))


@pytest.mark.parametrize("claim", ["$423.1 million", "Total liabilities of $423.1 million at December 31, 2022"])
@pytest.mark.parametrize(
    "caption", [CAPTION, "Form 10-K, in $m", "Amounts in $m. 2 thousand shares were sold.", "Notes"]
)
@pytest.mark.parametrize("cell", ["423.1", "$423.1"])
def test_a_figure_whose_cell_tells_no_unit_is_open_and_stands(claim: str, caption: str, cell: str) -> None:
    judged = judge_in_table(claim, caption, cell)
    assert (judged.supported, judged.stands) == (None, True)
    assert judged.reason == "its cell does not tell the unit of “$ 423.1 million”."


@pytest.mark.parametrize("claim", ["€423.1 million", "$423.1 billion", "$423.1 thousand", "$423.7 million"])
def test_another_unit_than_the_passages_tell_does_not_stand(claim: str) -> None:
    assert not judge_in_table(claim, CAPTION).stands


@pytest.mark.parametrize("caption", ["(in thousands)", "$'000"])
def test_a_caption_in_thousands_tells_the_scale(caption: str) -> None:
    assert judge_in_table("$423.1 thousand", caption).stands
    assert not judge_in_table("$423.1 million", caption).stands


def test_a_claim_of_names_needs_all_of_them() -> None:
    claim = "The auditor is Marlow & Grant LLP."
    assert not judge("Who audits?", claim, "We have been the auditor since 2015.", "Marlow & Finch LLP").supported


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("Sales were 7 in 2023.", "Sales were 5 in 2023 and 7 in 2024."),
        ("Jan Orel bought the mill from Lotte Beck.", "Jan Orel sold the mill to Lotte Beck."),
        ("Lotte Beck sold the mill to Jan Orel.", "Jan Orel sold the mill to Lotte Beck."),
        ("The lake is deeper than the sea.", "The sea is deeper than the lake."),
        ("The patients received 20 mg of the drug daily.", "The patients received 40 mg of the drug daily."),
        ("Reds beat Blues in the final.", "Blues beat Reds in the final."),
        ("Basel lent Bern two million francs.", "Basel borrowed two million francs from Bern."),
        ("All clerks may sign.", "Only the clerks of the court may sign."),
        ("Stocks went down sharply.", "Stocks went up sharply."),
        ("The fee is due in no case.", "The fee is due in every case."),
    ],
)
def test_an_exchange_or_another_figure_is_contradicted(claim: str, quote: str) -> None:
    assert judge("What is said?", claim, quote).contradicted


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("In 2024 sales were 7 million, in 2023 5 million.", "Sales were 5 million in 2023 and 7 million in 2024."),
        ("The series consists of 40 short novels for adults.", "The series consists of forty short novels for adults."),
        (
            "The offices opened in 2005 in Rome and 2001 in Paris.",
            "The offices opened in 2001 in Paris and 2005 in Rome.",
        ),
        (
            "Profit was 1.25 million euros in the first half of 2020.",
            "Profit was 1,25 million euros in the first half of 2020.",
        ),
        ("The temperature went up in 2020.", "The temperature increased in 2020."),
        (
            "He was minister from 1998 to 2003 and mayor from 2004 to 2010.",
            "He was mayor from 2004 to 2010 and minister from 1998 to 2003.",
        ),
        ("Der Gewinn betrug 1,25 Millionen Euro im Jahr 2020.", "Der Gewinn betrug 1.250.000 Euro im Jahr 2020."),
        ("Sales were 5 in 2023 compared with 7 in 2024.", "Sales were 5 in 2023 and 7 in 2024."),
        (
            "Sales rose from 5 million in 2023 to 7 million in 2024.",
            "Sales rose: they were 5 million in 2023 and 7 million in 2024.",
        ),
        ("Around 1,000 soldiers were killed in the battle.", "1,012 soldiers were killed in the battle."),
        ("More than 1,000 soldiers were killed in the battle.", "1,012 soldiers were killed in the battle."),
        ("The tower in the old town is 50 m high.", "The tower in the old town is 164 ft high."),
        ("Twelve cars were sold by the dealer in 2020.", "A dozen cars were sold by the dealer in 2020."),
        ("Lotte Beck bought the mill from Jan Orel.", "Jan Orel sold the mill to Lotte Beck."),
        ("Jan Orel sold the mill to Lotte Beck.", "Lotte Beck bought the mill from Jan Orel."),
        ("The lake is shallower than the sea.", "The sea is deeper than the lake."),
        ("Bern lent Basel two million francs.", "Basel borrowed two million francs from Bern."),
        ("Reds lost to Blues in the final.", "Blues beat Reds in the final."),
        ("The tenant pays the landlord rent in advance.", "The landlord receives rent from the tenant in advance."),
        ("The company made 3.4 billion dollars in 2019.", "The company made 3.42 billion dollars in 2019."),
        ("Costs exceed the revenue of the club.", "The revenue of the club is below its costs."),
        ("The tests took place on 4 May and 7 June 2019.", "The tests took place on 7 June and 4 May 2019."),
        ("The grant of 500 euros was raised to 700 euros.", "The grant was raised from 500 euros to 700 euros."),
        (
            "The population doubled from 5,000 in 1900 to 10,000 in 1950.",
            "The population was 5,000 in 1900 and doubled to 10,000 in 1950.",
        ),
        (
            "Cash was 3.2 billion as of June 30, 2022.",
            "As of June 30, 2023 and 2022, cash was 4.1 and 3.2 billion, respectively.",
        ),
        ("Six months of training improve memory.", "Training improved memory in 6 of 12 groups."),
        ("The gene is found in skin tumors.", "The gene is found in tumor cells and needed for growth of skin."),
        (
            "Beijing, where the Moroccan ambassador represents the Government in Rabat",
            "The Moroccan ambassador in Beijing is the official representative of the Government in Rabat.",
        ),
        (
            '"Shut Up, Make Love" is a song, released in 2000, from the album "Crack a Smile", not an album.',
            '"Shut Up, Make Love" is a song; released in 2000, it was the first single from the album "Crack a Smile".',
        ),
    ],
)
def test_a_right_claim_in_other_words_or_digits_is_never_contradicted(claim: str, quote: str) -> None:
    assert not judge("What is said?", claim, quote).contradicted


async def test_no_contradicted_claim_is_shown_as_supported(panel: MakePanel, serve: Serve) -> None:
    answers = {}
    for question, claim, sentence in WRONG:
        written = [{"text": claim, "quotes": [{"passage": "facts.txt", "quote": sentence}]}]
        reading = Panel(roles={READING: lambda _, written=written: json.dumps(synthesis(written, sufficient=True))})
        answers[claim] = await panel(serve(reading)).research(Asked(question=question, mode="fast"))
    assert [claim for claim, answer in answers.items() if answer.claims[0].supported] == []
    contradicted = [answer for answer in answers.values() if answer.claims[0].verdict == "contradicted"]
    assert len(contradicted) >= len(WRONG) - 2
    assert {answer.status for answer in contradicted} == {Status.INSUFFICIENT}
    assert all("Contradict" in answer.claims[0].checked for answer in contradicted)
    weak = [answer for answer in answers.values() if answer.status is Status.ANSWERED]
    assert all(answer.basis.startswith(("Weak", "Names and figures found")) for answer in weak)
    assert all(answer.confidence < SHARE_RIGHT[Signal.ON_QUESTION] for answer in weak)


@pytest.mark.parametrize(
    ("reply", "named"),
    [
        ("banana", "The check call gave no valid response."),
        (json.dumps(verdicts()), "The check call did not judge it."),
        (json.dumps(verdicts("stated", "stated", difference="members")), "The check call found: members"),
        (json.dumps(verdicts("stated", "stated")), ""),
    ],
)
async def test_one_check_call_decides_and_nonsense_leaves_the_claims_open(
    panel: MakePanel, serve: Serve, reply: str, named: str
) -> None:
    asked: list[str] = []
    sentence = "Only members may vote."
    texts = ("Membership is a condition of the vote.", "Voting is reserved to the members.")
    written = [{"text": text, "quotes": [{"passage": "facts.txt", "quote": sentence}]} for text in texts]

    def check(request: Request) -> str:
        asked.append(request.prompt)
        return reply

    reading = {READING: lambda _: json.dumps(synthesis(written, sufficient=True)), CHECK: check}
    answer = await panel(serve(Panel(roles=reading)), check_claims=True).research(
        Asked(question="Who may vote?", mode="fast")
    )
    assert len(asked) == (3 if reply == "banana" else 1), "an invalid response is asked again twice"
    assert all(text in asked[0] for text in ("Claim 1: ", "Claim 2: "))
    assert answer.usage.model_calls == 2 + len(asked)
    if named:
        assert answer.status is Status.ANSWERED
        assert {claim.verdict for claim in answer.claims} == {"not_checked"}
        assert all(named in claim.checked for claim in answer.claims)
        assert answer.answer.count("[not checked]") == len(texts)
    else:
        assert {claim.checked for claim in answer.claims} == {"Confirmed by a check call"}


async def test_a_claim_that_the_check_call_does_not_find_in_its_quotes_is_not_supported(
    panel: MakePanel, serve: Serve
) -> None:
    question, claim, sentence = next(row for row in WRONG if row[1].startswith("Everybody"))
    written = [{"text": claim, "quotes": [{"passage": "facts.txt", "quote": sentence}]}]
    reading = {
        READING: lambda _: json.dumps(synthesis(written, sufficient=True)),
        CHECK: lambda _: json.dumps(verdicts("not_stated")),
    }
    answer = await panel(serve(Panel(roles=reading)), check_claims=True).research(Asked(question=question, mode="fast"))
    assert [claim.supported for claim in answer.claims] == [False]
    assert answer.status is Status.INSUFFICIENT


@pytest.mark.parametrize(("question", "claim", "sentence"), RIGHT)
def test_another_form_of_what_the_quote_says_is_supported(question: str, claim: str, sentence: str) -> None:
    judged = judge(question, claim, sentence)
    assert judged.supported, judged.reason


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("Zawór musi być otwarty pod ciśnieniem.", "Zawór nie może nigdy być otwarty pod ciśnieniem, musi czekać."),
        ("Venttiili on avattava paineen alla.", "Venttiiliä ei saa avata, kun se on paineen alla; se on avattava."),
    ],
)
def test_a_language_that_no_rule_knows_is_never_supported_word_by_word(claim: str, sentence: str) -> None:
    assert judge("Co?", claim, sentence).supported is None
    assert judge("Co?", sentence, sentence).supported, "a copy is a copy in every language"


def test_the_sum_of_cited_figures_is_supported() -> None:
    quotes = ["Alpha sold 120 units.", "Beta sold 230 units.", "Gamma sold 340 units.", "Delta sold 410 units."]
    judged = judge("How many units were sold in all?", "In all, 1,100 units were sold.", *quotes)
    assert judged.supported, judged.reason
    assert judge("How many units were sold in all?", "In all, 1,200 units were sold.", *quotes).supported is None


def test_a_figure_of_something_else_is_not_added_as_evidence() -> None:
    terms = make_chunk("The warranty of the Borea 12 is 7 years.", document="/docs/terms.md")
    row = make_chunk(
        "| Borea 12 | 11950 | 6900 | 9 |", document="/docs/prices.md", kind=ChunkKind.TABLE,
        header=TableHeader(text="| Model | Price | Cost | Delivery in weeks |", start=500, end=545),
    )  # fmt: skip
    units = number_units([terms, row])
    shown = [item for unit in units for item in cite([unit.number], units).evidence]
    rules = SupportRules("How long is the warranty of the Borea 12?", shown, [terms, row])
    judged = rules.judge(Statement("The warranty is 9 years.", (shown[0],)))
    assert (judged.supported, judged.contradicted, judged.repair) == (False, True, "")
    assert judged.statement.evidence == (shown[0],)


def test_a_term_of_the_heading_need_not_be_in_the_quote() -> None:
    chunk = make_chunk("It weighs 40 kg.", document="/docs/pump.md", title="Borea 12", section=("Weight",))
    units = number_units([chunk])
    evidence = cite([1], units).evidence
    rules = SupportRules("How heavy is it?", evidence, [chunk])
    assert rules.judge(Statement("The Borea 12 weighs 40 kg.", evidence)).supported


def test_claims_of_older_runs_can_be_read() -> None:
    old = Claim.model_validate({"text": "So.", "evidence": [1], "computations": [], "supported": True})
    assert (old.verdict, old.stands, old.remark, old.checked) == ("supported", True, "", "")
    doubted = Claim.model_validate({"text": "So.", "supported": False})
    assert (doubted.verdict, doubted.stands, doubted.remark) == ("not_checked", False, "unsupported")


GAP = "Gap is a 2014 film written and directed by Ann Berg and produced by Bob Vik."
ANN = "Ann Berg (born 3 May 1956) is an author, film director and entrepreneur based in Oslo."
BOB = "Bob Vik (8 April 1921 – 29 October 2003) was a producer who had a long career in Rome."


@pytest.mark.parametrize(
    "claim",
    [
        "Gap was written and directed by Ann Berg, who is based in Oslo.",
        "Ann Berg was born on 3 May 1956, while Bob Vik had a long career in Rome.",
        "Ann Berg, who was born on 3 May 1956, is an author.",
        "Gap was produced by Bob Vik, a producer who had a long career in Rome.",
    ],
)
def test_a_claim_whose_clauses_each_stand_in_a_quote_is_supported(claim: str) -> None:
    judged = judge("Who made it?", claim, GAP, ANN, BOB)
    assert (judged.supported, judged.checked) == (True, "Follows from 3 quotes"), judged.reason


@pytest.mark.parametrize(
    "claim",
    [
        "Gap was written and directed by Ann Berg, who is based in Rome.",
        "Gap, which is based in Oslo, was directed by Ann Berg.",
        "Ann Berg had a long career in Rome, while Bob Vik was born on 3 May 1956.",
        "Ann Berg was produced by Gap, which is based in Oslo.",
        "Gap was directed by Bob Vik, a producer who had a long career in Rome.",
    ],
)
def test_a_claim_that_gives_a_clause_another_subject_is_not_supported(claim: str) -> None:
    assert not judge("Who made it?", claim, GAP, ANN, BOB).supported


LETTER = "Ann Berg, the head of the museum, wrote to Cleo Voss, the mayor of Lund, who had kept the loan."
SOLD = "The company, which bought Nuance in 2022, sold its maps to Grab, a Malay firm that runs taxis, in 2023."
COACH = "The record was held by Paul Nurmi, who beat Ville Ritola in 1924 and is now a coach in Turku."
LAKE = "Lake Constance is the third-largest lake in Europe and the only lake in Austria that borders Germany."
CAMPUS = "The campus in Lawrence, a town in Kansas, is on Mount Oread, the highest elevation in Lawrence."
TRAINED = "Andrew Murray was trained by Emil Steward, and was the president of the Guyana Boxing Board."
EXCHANGE = "Warsaw's first stock exchange was opened in 1817. It was re-established in 1991."
ROAD = "Fresno is served by State Route 99, the main freeway of the valley."
OUTLOOK = (
    "For 2024 the Board expects revenue of €236 million (previously: €230 million) and deliveries of 35,500 pumps."
)
BUTTON = "Press (see Chart 2, Annex) is a manual by Carl Orff, printed in 1936 in Bonn."


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("Cleo Voss is the mayor of Lund.", LETTER),
        ("Ann Berg wrote to Cleo Voss.", LETTER),
        ("Grab is a Malay firm.", SOLD),
        ("The company sold its maps to Grab in 2023.", SOLD),
        ("Paul Nurmi beat Ville Ritola in 1924.", COACH),
        ("Paul Nurmi is now a coach in Turku.", COACH),
        ("The campus in Lawrence is on Mount Oread.", CAMPUS),
        ("The stock exchange was re-established in 1991.", EXCHANGE),
        ("State Route 99 is the main freeway of the valley.", ROAD),
        ("For 2024 the Board expects deliveries of 35,500 pumps.", OUTLOOK),
    ],
)
def test_a_part_of_a_sentence_is_supported_about_its_own_subject(claim: str, quote: str) -> None:
    judged = judge("What is said?", claim, quote)
    assert judged.supported, judged.reason


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("Ann Berg kept the loan.", LETTER),
        ("Ann Berg is the mayor of Lund.", LETTER),
        ("The company runs taxis.", SOLD),
        ("Ville Ritola is now a coach in Turku.", COACH),
        ("Lake Constance is the only lake in Europe.", LAKE),
        ("Lake Constance is the largest lake in Europe.", LAKE),
        ("Mount Oread is the highest elevation in Kansas.", CAMPUS),
        ("Emil Steward was the president of the Guyana Boxing Board.", TRAINED),
        ("Warsaw was re-established in 1991.", EXCHANGE),
        ("Carl Orff was printed in 1936 in Bonn.", BUTTON),
        ("Mora saw it as a gift to the rich.", "Mora saw it as a duty to all rather than a gift to the rich."),
        ("Members pay 10 euros.", "Members pay 5 euros and guests pay 10 euros."),
        ("As of June 30, 2023, cash was 3.2.", "As of June 30, 2023 and 2022, cash was 4.1 and 3.2, respectively."),
    ],
)
def test_a_part_of_a_sentence_is_not_supported_about_something_else(claim: str, quote: str) -> None:
    assert not judge("What is said?", claim, quote).supported


def test_values_of_different_rows_are_not_joined() -> None:
    rows = (("Austria", 812, 2023), ("Belgium", 318, 2024))
    computed = Computation(
        number=1, purpose="count", sql="SELECT", columns=("country", "sold", "year"), rows=rows, evidence=()
    )  # fmt: skip
    rules = SupportRules("How many were sold?", (), ())
    claims = ("Austria: 812, Belgium: 318", "318 were sold in Austria.", "Austria had 812 in 2024.")
    assert [rules.judge(Statement(each, (), (computed,))).supported for each in claims] == [True, None, None]


@pytest.mark.parametrize(
    ("claim", "supported"),
    [
        ("No, none of the 20,000 documents is in German.", True),
        ("There are no documents in German.", True),
        ("0 documents", True),
        ("There are 20,000 documents in German.", None),
        ("Yes, all documents are in German.", None),
        ("No document is in English.", None),
    ],
)
def test_a_result_of_zero_denies(claim: str, supported: bool | None) -> None:
    question = "Are there documents in German?"
    computed = Computation(
        number=1, purpose=question, sql="SELECT", columns=("german",), rows=((0,),), evidence=(),
        source="the catalogue of 20,000 documents",
    )  # fmt: skip
    assert SupportRules(question, (), ()).judge(Statement(claim, (), (computed,))).supported is supported


def test_a_pronoun_is_about_a_name_of_its_own_page_only() -> None:
    claim = "Anna was born in Paris and died in Rome."
    assert not judge("What became of her?", claim, "Anna was born in Paris.", "She died in Rome.").supported
    chunks = [make_chunk(text, index=at) for at, text in enumerate(("Anna was born in Paris.", "She died in Rome."))]
    units = number_units(chunks)
    evidence = cite((unit.number for unit in units), units).evidence
    judged = SupportRules("What became of her?", evidence, chunks).judge(Statement(claim, evidence))
    assert judged.supported, judged.reason


@pytest.mark.parametrize(
    ("question", "claim", "quote", "verdict"),
    [
        ("Is the pump quiet?", "Yes.", "The pump is quiet.", True),
        ("Is the pump quiet?", "Yes.", "The pump is loud.", False),
        ("Is the pump quiet?", "No.", "The pump is loud.", True),
        ("Is the pump quiet?", "No, not yet.", "The pump is not quiet.", True),
        ("Is the pump quiet?", "No.", "The pump is quiet.", False),
        ("Is the pump or the fan quiet?", "Yes.", "The pump is quiet.", None),
        ("How many sites are there?", "No, only one", "There is one site.", True),
        ("Wie viele Werke hat sie?", "Ein einziges", "Sie hat ein einziges Werk.", True),
        ("How many euros do members pay?", "5", "Members pay 5 euros and guests pay 7 euros.", True),
        ("How many euros do members pay?", "7", "Members pay 5 euros and guests pay 7 euros.", None),
        ("When was he born?", "In 1990", "He was born in 1960 and died in 1990.", None),
        ("Who bought the house?", "Ann", "Ann bought the house from Bob.", True),
        ("Who bought the house?", "Bob", "Ann bought the house from Bob.", None),
        ("How many accidents were there in 2023?", "None", "There were no accidents in 2023.", True),
        ("How many accidents were there in 2023?", "There were none.", "There were no accidents in 2023.", True),
        ("How many accidents were there in 2023?", "There were none.", "There were two accidents in 2023.", False),
    ],
)
def test_a_bare_answer_is_read_with_its_question(question: str, claim: str, quote: str, verdict: bool | None) -> None:
    judged = judge(question, claim, quote)
    assert (judged.supported, judged.contradicted) == (verdict, verdict is False)


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("Only 5 of the members voted.", "Five of the members voted."),
        ("The keys were handed over on 29 April 2024.", "The keys were counted and handed over on 29 April 2024."),
        ("Vela is a racing car driver from Portugal.", "Vela is a Portuguese racing car driver."),
        ("The proceedings are pending.", "There are pending proceedings."),
        ("Her career began in Oslo.", "She started her career in Oslo."),
        ("The profit was $7 to $11 billion.", "The profit was $7 billion to $11 billion."),
        ("Vela is a painter from Portugal.", "It is a work by Portuguese painter Vela."),
        ("Its founder, Aino Salo, was an engineer.", "Founded in 1987 by Aino Salo, an engineer."),
        ("The hall is located in Oslo.", "The hall is in Oslo."),
        ("One site made up 14 % of sales.", "A single site accounted for 14 % of sales."),
        ("The share declined to 55.1 % by 2010.", "The share declined from 75.8 % in 1970 to 55.1 % by 2010."),
    ],
)
def test_the_same_in_everyday_words_is_supported(claim: str, quote: str) -> None:
    assert judge("What is said?", claim, quote).supported


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("Profit fell by 125 million.", "Profit was 375 million in 2022 and 500 million in 2023."),
        ("The budget has €2.6 million left.", "Costs are €4.9 million of a budget of €7.5 million."),
        ("Only 5 members voted.", "At least 5 members voted."),
        ("The man opened in 1990.", "She opened the shop of a man in 1990."),
        ("The income was less than in 2022, when it was 7.", "The income was 9, compared with 7 in 2022."),
        ("The fourth artist, Orel, joined.", "It was first formed by three artists. Orel joined."),
    ],
)
def test_what_follows_only_in_part_is_left_open(claim: str, quote: str) -> None:
    judged = judge("What is said?", claim, quote)
    assert (judged.supported, judged.contradicted) == (None, False)


@pytest.mark.parametrize(
    ("claim", "supported"),
    [
        ("5 for Acme and 7 for Borg.", True),
        ("7 for Acme and 5 for Borg.", None),
        ("Acme is blue and Borg is red.", None),
    ],
)
def test_a_claim_about_two_rows_needs_the_figure_of_each(claim: str, supported: bool | None) -> None:
    rows = "| Acme | 5 | red |\n| Borg | 7 | blue |"
    assert judge_row(claim, "| Name | Price | Colour |", rows).supported is supported


REGIONS = "Sales in the north rose from 12 million to 15 million euros, while those in the south fell by 3 percent."
NOVEL = "The novel, which Karl Otto wrote in prison, was filmed in 1954 by Jean Dubois."
CHURCH = "The church burned down in 1820 and was rebuilt ten years later."


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("The firm used the last $5 million.", "The firm utilized the final $5 million."),
        ("It was the 21st season.", "It was the twenty-first season."),
        ("The fair organised by Ann was held in the centre.", "The fair organized by Ann was held in the center."),
        ("Grants stood at $5 million.", "Grants were $5 million."),
        ("Sales fell, mainly because of weak demand.", "Sales fell primarily due to weak demand."),
        ("Sales declined 3%.", "Sales fell by 3 percent."),
        ("Wind is likely.", "Rain is unlikely and wind is likely."),
        ("The helmet is compulsory.", "Helmets are mandatory."),
        ("The pond is red.", "The garden has a “red” pond."),
        ("Terry took the picture.", "Uncle Terry took the picture."),
    ],
)
def test_a_synonym_or_another_spelling_is_supported(claim: str, quote: str) -> None:
    assert judge("What is said?", claim, quote).supported


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("Southern sales declined 3%.", REGIONS),
        ("Northern sales increased by 3 million euros to 15 million euros.", REGIONS),
        ("The committee did not vote on the budget.", "The committee postponed the vote on the budget to 12 May."),
        ("The museum is closed on Mondays.", "The museum is open every day except Monday."),
        (
            "The firm was profitable in 2022 but not in 2023.",
            "The firm was profitable in 2022 and lost 1 million in 2023.",
        ),
        ("The trial lasted three months.", "The trial lasted 12 weeks."),
        ("The price rose by 10 euros.", "The price rose from 10 to 20 euros."),
        ("It is less common in women.", "It is more common in men than in women."),
        ("The novel by Karl Otto was filmed in 1954.", NOVEL),
        ("Ben does not speak Danish.", "Ann speaks Danish, but Ben does not."),
        ("Gross margin fell by 4,100 million dollars.", "Gross margin decreased $4.1 billion or 16%."),
        ("The oldest street is in New Paltz.", "The district in New Paltz is a site and contains the oldest street."),
        ("Verden lies on the Aller.", "The Aller, a tributary of the Weser, flows through Celle and Verden."),
        ("Anna Keller lived from 1921 to 1999.", "Anna Keller was born in 1921 and died in 1999."),
        ("New Paltz has the oldest street.", "The oldest street is in New Paltz."),
        (
            "It allows up to 20 images.",
            "You can include up to 20 images in a request, and requests exceeding these limits will be rejected.",
        ),
    ],
)
def test_a_right_claim_in_other_words_is_not_contradicted(claim: str, quote: str) -> None:
    assert not judge("What is said?", claim, quote).contradicted


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("The deposit is optional.", "The deposit is required; insurance is optional and costs 5 euros."),
        ("Rain is likely.", "Rain is unlikely and wind is likely."),
        ("The pump is the strongest one.", "The pump is a strong one."),
        ("Bern is in Zurich.", "Zurich is in Bern."),
        ("The novel was filmed in prison.", NOVEL),
        ("The church was rebuilt in 1820.", CHURCH),
        ("The church burned down ten years later.", CHURCH),
        ("The clinic was founded in Lima.", "Marta Ruiz, born in Lima, founded the clinic in 1971."),
        ("Lea Roth studied law in Paris.", "Lea Roth studied law in Vienna before moving to Paris."),
        ("Eva Lang was a painter.", "Eva Lang, the wife of the painter Otto Lang, taught at the school."),
        ("Hans Grube crosses the Elbe.", "The bridge, a steel arch built by Hans Grube, crosses the Elbe."),
        ("Holm has 300 inhabitants.", "With 300 inhabitants, the village is smaller than Holm, which has 900."),
        ("It is more common among women.", "It is more common in men than in women."),
        ("The pond is red.", "The town's red garden has a pond."),
        ("The company is profitable.", "The profitable unit left the company."),
        ("The office is in York.", "The firm has its office in New York."),
        ("All staff get a bonus.", "All staff except managers get a bonus."),
        ("The warranty covers damage by water.", "The warranty covers all damage except damage by water."),
        ("Revenue was $6 million in 2020.", "In 2020, revenue was $5 million, and it was $6 million in 2021."),
    ],
)
def test_words_that_the_quote_says_of_something_else_are_not_supported(claim: str, quote: str) -> None:
    assert not judge("What is said?", claim, quote).supported


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("The price rose to 10 euros.", "The price rose from 10 to 20 euros."),
        ("The lease runs for 13 months.", "The lease runs for one year."),
        ("The board approved the plan.", "The board heard the plan and rejected it."),
    ],
)
def test_a_wrong_claim_in_similar_words_is_contradicted(claim: str, quote: str) -> None:
    assert judge("What is said?", claim, quote).contradicted


MEDICI = (
    "His successor Louis XIII, under the regency of his Italian Catholic mother Marie de' Medici, became more "
    "intolerant of Protestantism."
)
RENT = "The monthly rent is EUR 2,350.00 plus EUR 410.00 for service charges."
RULING = (
    "On September 10, 2021, the District Court ruled in favor of the Company with respect to nine out of the ten "
    "counts included in Epic's claim, and in favor of the Company with respect to the Company's claims for breach."
)


@pytest.mark.parametrize(
    ("claim", "quote", "verdict"),
    [
        ("The court ruled in favor of Epic with respect to nine out of the ten counts.", RULING, "not_checked"),
        ("Marie de' Medici, the mother of Louis XIII, came from Italy.", MEDICI, "not_checked"),
        ("The rent is 2,350 euros a month without service charges.", RENT, "not_checked"),
        ("The town has a million residents.", "The town has one million residents.", "supported"),
        ("Thursday, 15 May", "The offsite moves from Thursday 15 May to Thursday 22 May.", "not_checked"),
        ("Nobody but members may vote.", "Only members may vote.", "supported"),
        ("Bob founded a bank.", "Bob established a fact about a bank.", "not_checked"),
    ],
)  # fmt: skip
def test_a_name_in_the_place_of_another_and_everyday_wordings(claim: str, quote: str, verdict: str) -> None:
    assert judge("What is said?", claim, quote).claim(claim, ()).verdict == verdict


SONG = "“Gap” is a song, not an album."
MAYOR = "The mayor did not resign in March but in April."
TBS = "Diabetes was associated with a lower score in women but not in men."


@pytest.mark.parametrize(
    ("claim", "quote", "verdict"),
    [
        ("“Gap” is an album, not a song.", SONG, "contradicted"),
        ("“Gap” is not a song but an album.", SONG, "contradicted"),
        ("“Gap” is an album rather than a song.", SONG, "not_checked"),
        ("“Gap” is not an album but a song.", SONG, "supported"),
        ("“Gap” is a song rather than an album.", SONG, "supported"),
        ("The mayor resigned in March, not in April.", MAYOR, "contradicted"),
        ("The mayor did not resign in April but in March.", MAYOR, "contradicted"),
        ("The mayor resigned in April, not in March.", MAYOR, "supported"),
        ("In men, diabetes was not associated with a lower score.", TBS, "supported"),
        ("Diabetes was associated with a lower score in men but not in women.", TBS, "contradicted"),
        ("Visitors may not enter the hall.", "No visitor may enter the hall.", "supported"),
    ],
)
def test_a_contrast_says_which_side_holds(claim: str, quote: str, verdict: str) -> None:
    assert judge("What is said?", claim, quote).claim(claim, ()).verdict == verdict


MET = "In 1921 the Polish painter Jan Orel met the Dutch sculptor Erik Vos in Paris."
TAKEN = "The Italian firm Sella was taken over by the Spanish group Toral in 2011."
SOLD = "In 2019 the Greek club sold its Turkish striker to a Belgian team."
MIRA = "Mira Sol, a Hungarian violinist, married the Finnish conductor Timo Aho."


@pytest.mark.parametrize(
    ("claim", "quote", "verdict"),
    [
        ("The painter from the Netherlands, Jan Orel, met Erik Vos.", MET, "not_checked"),
        ("The painter from Poland, Jan Orel, met Erik Vos.", MET, "supported"),
        ("Toral comes from Italy.", TAKEN, "not_checked"),
        ("Toral is an Italian group.", TAKEN, "not_checked"),
        ("Toral comes from Spain.", TAKEN, "supported"),
        ("The Greek club sold its striker to a team from Turkey.", SOLD, "not_checked"),
        ("The Greek club sold its striker to a team from Belgium.", SOLD, "supported"),
        ("The Hungarian violinist Mira Sol married Timo Aho.", MIRA, "not_checked"),
    ],
)
def test_a_country_is_that_of_what_it_describes(claim: str, quote: str, verdict: str) -> None:
    assert judge("What is said?", claim, quote).claim(claim, ()).verdict == verdict


@pytest.mark.parametrize(
    ("claim", "quote", "verdict"),
    [
        ("Most members voted yes.", "Few members voted yes.", "not_checked"),
        ("Most members voted yes.", "Some members voted yes.", "not_checked"),
        ("Most members voted yes.", "All members voted yes.", "contradicted"),
        ("Half of the voters agreed.", "More than half of the voters agreed.", "not_checked"),
        ("Etwa die Hälfte stimmte zu.", "Weniger als die Hälfte stimmte zu.", "not_checked"),
        ("La moitié des membres ont accepté.", "Moins de la moitié des membres ont accepté.", "not_checked"),
        ("The fee is 20 to 40 euros.", "The fee is 20 or 40 euros.", "not_checked"),
        ("Water freezes at 12 degrees.", "Water freezes at 12 degrees below zero.", "contradicted"),
        ("Das Gerät arbeitet bei −12 Grad.", "Das Gerät arbeitet bei 12 Grad unter null.", "supported"),
        ("Die Frist endet am 3. Juni.", "Die Frist endet am 3. Juli.", "contradicted"),
        ("Der Arzt half dem Patienten.", "Dem Arzt half der Patient.", "not_checked"),
        ("Der Käufer verklagt den Verkäufer.", "Der Verkäufer verklagt den Käufer.", "contradicted"),
        ("Die Kosten der Reparatur trägt der Mieter.", "Der Mieter trägt die Kosten der Reparatur.", "not_checked"),
        ("Revenue rose by 5 million euros.", "Revenue rose from 10 to 15 million euros.", "not_checked"),
        ("Revenue rose by 10 million euros.", "Revenue rose from 10 to 15 million euros.", "contradicted"),
        ("The lease does not start until 1 March 2025.", "The lease starts on 1 March 2025.", "not_checked"),
        ("The shop does not open before 9 am.", "The shop opens at 9 am.", "not_checked"),
        ("The lease does not start on 1 March 2025.", "The lease starts on 1 March 2025.", "contradicted"),
        ("Sales did not fall below 5 million.", "Sales fell below 5 million.", "contradicted"),
        ("Imports were lower than exports.", "Exports exceeded imports.", "supported"),
        ("Exports were lower than imports.", "Exports exceeded imports.", "contradicted"),
        ("Tom arrived after Ann.", "Ann arrived before Tom.", "not_checked"),
        ("Tom arrived before Ann.", "Ann arrived before Tom.", "contradicted"),
        ("People under 21 may not drive it.", "Only people over 21 may drive it.", "not_checked"),
        ("He lent her 500 euros.", "She borrowed 500 euros from him.", "not_checked"),
        ("Ann is Tom's mother.", "Tom is Ann's mother.", "contradicted"),
        ("Ann is the mother of Tom.", "Ann is Tom's mother.", "supported"),
        ("The sensor measures 5 and 10 bar.", "The sensor measures 5 to 10 bar.", "not_checked"),
        ("The trial took place between 2010 and 2012.", "The trial took place in 2010 or 2012.", "not_checked"),
        ("The patient has diabetes.", "The doctor suspects that the patient has diabetes.", "not_checked"),
        ("Die Pumpe ist defekt.", "Der Wart vermutet, dass die Pumpe defekt ist.", "not_checked"),
    ],
)
def test_amounts_limits_and_articles_count(claim: str, quote: str, verdict: str) -> None:
    assert judge("What is said?", claim, quote).claim(claim, ()).verdict == verdict
