"""The Reader: one question, one search, one model call and verified quotes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from api.services.research.library import CollectionLibrary
from multi_agent.agent import DOCUMENTS
from multi_agent.agents.reader import Reader, ReaderInputs, ReaderOutput
from multi_agent.errors import LLMError
from multi_agent.grounding.confidence import SHARE_RIGHT, Signal
from multi_agent.llm.settings import EndpointSettings
from multi_agent.prompts.show_passages import LEFT_OUT
from multi_agent.settings.research import ResearchSettings
from support.chunks import make_chunk
from support.kits import UNREACHABLE, Bench, library_of, make_context
from support.panel import READING, Panel, Role, synthesis, verdicts
from support.replies import Reply, Request
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import PageSpan

SUPPLIER = "The compressor of the Borea 12 is made by Kestrel Kompressoren.\nIt is delivered on pallets."
TOWN = "Kestrel Kompressoren was founded in 1961 by Marta Olin.\nIts works stand in Tornby."
RECIPE = "Whisk the eggs.\nBake for 40 minutes at 180 °C."
QUESTION = "Who makes the compressor of the Borea 12?"
INPUTS: dict[str, Any] = {"question": QUESTION, "queries": ["compressor supplier"]}
CHECKING = ResearchSettings(check_claims=True)
Serve = Callable[..., EndpointSettings]


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[CollectionLibrary]:
    """Three documents of one passage each."""
    pages = (PageSpan(number=4, start=0, end=len(SUPPLIER)),)
    chunks = [
        make_chunk(SUPPLIER, document="/docs/parts.pdf", page_spans=pages),
        make_chunk(TOWN, document="/docs/companies.md"),
        make_chunk(RECIPE, document="/docs/recipe.md"),
    ]
    with library_of(chunks, embedder, tmp_path_factory.mktemp("books")) as library:
        yield library


def claim(text: str, *quotes: tuple[int, str]) -> dict[str, Any]:
    return {"text": text, "quotes": [{"passage": number, "quote": quote} for number, quote in quotes]}


def answering(*claims: dict[str, Any], short: str = "", sufficient: bool = True, **roles: Role) -> Panel:
    """A model that answers with these claims."""
    return Panel(
        roles={READING: lambda _: json.dumps(synthesis(list(claims), sufficient=sufficient, short=short)), **roles}
    )


MAKER = claim("Kestrel Kompressoren makes it.", (3, "The compressor of the Borea 12 is made by Kestrel Kompressoren."))


async def test_an_answer_has_a_located_quote(serve: Serve, books: CollectionLibrary) -> None:
    bench = Bench(Reader, serve(answering(MAKER, short="Kestrel Kompressoren")), books)
    update = await bench.run(make_context(), INPUTS, step="maker")

    [finding] = update.findings
    assert (finding.step, finding.question) == ("maker", QUESTION)
    assert finding.synthesis.text == "Kestrel Kompressoren makes it. [1]"
    assert finding.synthesis.confidence == SHARE_RIGHT[Signal.ON_QUESTION]
    [evidence] = finding.synthesis.evidence
    assert (evidence.name, evidence.pages, evidence.number) == ("parts.pdf", (4,), 1)
    assert evidence.quote == "The compressor of the Borea 12 is made by Kestrel Kompressoren."
    assert bench.context.evidence == finding.synthesis.evidence
    assert ReaderOutput.of(update) == ReaderOutput(answer="Kestrel Kompressoren", sufficient=True)


async def test_a_bare_answer_without_claims_gets_the_sentence_that_states_it(
    serve: Serve, books: CollectionLibrary
) -> None:
    bench = Bench(Reader, serve(answering(short="Kestrel Kompressoren")), books)
    synthesis = (await bench.run(make_context(), INPUTS)).findings[0].synthesis
    assert (synthesis.text, synthesis.sufficient) == ("Kestrel Kompressoren [1]", True)
    assert [item.quote for item in synthesis.evidence] == [SUPPLIER.splitlines()[0]]
    [repaired] = bench.of_type("response_repaired")
    assert repaired.repairs[0].startswith("a claim named no sentence")


async def test_a_bare_answer_that_no_sentence_states_is_insufficient(serve: Serve, books: CollectionLibrary) -> None:
    bench = Bench(Reader, serve(answering(short="Nordwind Kälte")), books)
    synthesis = (await bench.run(make_context(), INPUTS)).findings[0].synthesis
    assert (synthesis.text, synthesis.sufficient) == ("Nordwind Kälte [unsupported]", False)


PALLETS = claim("It is delivered on pallets.", (3, "It is delivered on pallets."))


@pytest.mark.parametrize("short", ["Nordwind Kälte", "1987", "20 years", "the Borea 14"])
async def test_a_bare_answer_that_its_claims_do_not_say_is_insufficient(
    serve: Serve, books: CollectionLibrary, short: str
) -> None:
    """People read the bare answer first, and a small model writes one that its claims have nothing to do with."""
    bench = Bench(Reader, serve(answering(PALLETS, short=short)), books)
    synthesis = (await bench.run(make_context(), INPUTS)).findings[0].synthesis
    assert (synthesis.sufficient, synthesis.missing) == (False, (f"No quote states “{short}”.",))
    assert [(each.text, each.stands) for each in synthesis.claims] == [(PALLETS["text"], True), (short, False)]


async def test_a_bare_answer_that_its_claims_do_not_say_gets_its_sentence(
    serve: Serve, books: CollectionLibrary
) -> None:
    bench = Bench(Reader, serve(answering(PALLETS, short="Kestrel Kompressoren")), books)
    synthesis = (await bench.run(make_context(), INPUTS)).findings[0].synthesis
    assert (synthesis.sufficient, synthesis.short) == (True, "Kestrel Kompressoren")
    assert [each.text for each in synthesis.claims] == [PALLETS["text"], "Kestrel Kompressoren"]
    assert SUPPLIER.splitlines()[0] in [item.quote for item in synthesis.evidence]


async def test_a_bare_answer_stands_without_the_claims_that_fall(serve: Serve, books: CollectionLibrary) -> None:
    """A small model finds the answer and then writes a claim that is wrong, or cites another sentence for it."""
    bench = Bench(Reader, serve(answering(claim("It comes from Nordwind."), short="Kestrel Kompressoren")), books)
    synthesis = (await bench.run(make_context(), INPUTS)).findings[0].synthesis
    assert (synthesis.sufficient, synthesis.short) == (True, "Kestrel Kompressoren")
    assert [(each.text, each.stands) for each in synthesis.claims] == [
        ("It comes from Nordwind.", False),
        ("Kestrel Kompressoren", True),
    ]


async def test_a_bare_answer_in_one_unknown_word_is_shown_as_not_checked(
    serve: Serve, books: CollectionLibrary
) -> None:
    bench = Bench(Reader, serve(answering(PALLETS, short="Zürich")), books)
    synthesis = (await bench.run(make_context(), INPUTS)).findings[0].synthesis
    assert [(each.text, each.verdict) for each in synthesis.claims][1:] == [("Zürich", "not_checked")]


async def test_a_claim_that_falls_does_not_take_the_bare_answer_with_it(serve: Serve, books: CollectionLibrary) -> None:
    bench = Bench(Reader, serve(answering(claim("yes"), MAKER, short="yes")), books)
    synthesis = (await bench.run(make_context(), INPUTS)).findings[0].synthesis
    assert (synthesis.sufficient, synthesis.short) == (True, "yes")


@pytest.mark.parametrize("short", ["1", "yes", "pallets", "the Borea 12", "on a pallet"])
async def test_a_bare_answer_in_other_words_or_a_count_stays(
    serve: Serve, books: CollectionLibrary, short: str
) -> None:
    bench = Bench(Reader, serve(answering(PALLETS, short=short)), books)
    synthesis = (await bench.run(make_context(), INPUTS)).findings[0].synthesis
    assert (synthesis.sufficient, synthesis.short, len(synthesis.claims)) == (True, short, 1)


async def test_it_reports_what_was_searched_and_read(serve: Serve, books: CollectionLibrary) -> None:
    bench = Bench(Reader, serve(answering(MAKER)), books)
    synthesis = (await bench.run(make_context(), INPUTS)).findings[0].synthesis
    assert synthesis.looked_for == (QUESTION, "compressor supplier")
    assert synthesis.found == "Read 3 passages of recipe.md, companies.md, parts.pdf."
    assert synthesis.missing == ()


async def test_it_searches_the_question_and_the_other_wordings(serve: Serve, books: CollectionLibrary) -> None:
    bench = Bench(Reader, serve(answering(MAKER)), books, ResearchSettings(reader_passages=2))
    update = await bench.run(make_context(), INPUTS)
    [searched] = bench.of_type("searched")
    assert searched.queries == (QUESTION, "compressor supplier")
    assert searched.chunks_found == len(update.chunks) == len(update.ranking) == 2
    assert bench.context.chunks[0].name < bench.context.chunks[1].name


async def test_it_searches_only_the_named_documents(serve: Serve, books: CollectionLibrary) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> Reply | str:
        asked.append(request)
        return answering(MAKER)(request)

    bench = Bench(Reader, serve(answer), books)
    update = await bench.run(make_context(), {**INPUTS, "documents": ["companies.md"]})
    assert {chunk.name for chunk in update.chunks} == {"companies.md"}
    assert bench.of_type("searched")[0].documents == ("companies.md",)
    assert "parts.pdf" not in asked[0].prompt
    assert bench.context.looked_for == (f"{QUESTION}; compressor supplier (in companies.md)",)


def test_unknown_documents_are_rejected() -> None:
    with pytest.raises(ValidationError, match=r"there is no document named 'parts\.doc'"):
        ReaderInputs.model_validate({**INPUTS, "documents": ["parts.doc"]}, context={DOCUMENTS: {"parts.pdf"}})


async def test_the_prompt_has_the_passages_then_the_question(serve: Serve, books: CollectionLibrary) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> Reply | str:
        asked.append(request)
        return answering(MAKER)(request)

    whole = "Who founded the company that makes the compressor of the Borea 12?"
    await Bench(Reader, serve(answer), books).run(make_context(whole), INPUTS, instruction="Name it.")
    [request] = asked
    assert request.messages[1]["content"].startswith(
        "=== recipe.md\n[1] Whisk the eggs.\n[2] Bake for 40 minutes at 180 °C.\n\n"
        "=== companies.md\n[3] Kestrel Kompressoren was founded in 1961 by Marta Olin.\n"
        "[4] Its works stand in Tornby.\n\n"
        "=== parts.pdf, page 4\n[5] The compressor of the Borea 12 is made by Kestrel Kompressoren.\n"
        "[6] It is delivered on pallets.\n\n"
        f"The whole question: {whole}\nAsked for: to know\nA complete answer contains:\n- the fact\nTask: Name it.\n"
        f"Your question, a part of it: {QUESTION}"
    )


async def test_the_prompt_does_not_repeat_the_question(serve: Serve, books: CollectionLibrary) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> Reply | str:
        asked.append(request)
        return answering(MAKER)(request)

    context = make_context(QUESTION)
    same = context.understanding.model_copy(update={"intent": QUESTION.rstrip("?"), "requirements": (QUESTION,)})
    await Bench(Reader, serve(answer), books).run(
        context.model_copy(update={"understanding": same}), INPUTS, instruction=QUESTION
    )
    assert f"pallets.\n\nQuestion: {QUESTION}\n\nWrite `short` first" in asked[0].messages[1]["content"]


async def test_it_reads_the_best_passages_that_fit_one_call(
    serve: Serve, embedder: Embedder, tmp_path_factory: pytest.TempPathFactory
) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> Reply | str:
        asked.append(request)
        return answering(MAKER)(request)

    long = [make_chunk(f"{SUPPLIER} " + "blue sky " * 70 * index, index=index) for index in range(3)]
    with library_of(long, embedder, tmp_path_factory.mktemp("long")) as library:
        bench = Bench(Reader, serve(answer), library, ResearchSettings(tokens_per_call=300))
        update = await bench.run(make_context(), INPUTS)
    assert asked[0].messages[1]["content"].count("=== ") == 1, "neighbouring passages of one section are one part"
    assert len(update.chunks) == len(update.ranking) == 3, "the context has only the passages that were read"
    assert [LEFT_OUT in chunk.metadata for chunk in update.chunks] == [False, False, True], "the last one in part"
    assert "Read 3 passages of a.md." in bench.reasoning


async def test_readers_share_a_prompt_prefix(serve: Serve, books: CollectionLibrary) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> Reply | str:
        asked.append(request)
        return answering(MAKER)(request)

    settings = serve(answer)
    for question in (QUESTION, "When was Kestrel Kompressoren founded?"):
        await Bench(Reader, settings, books).run(make_context(), {"question": question, "queries": []})
    assert asked[0].messages[0] == asked[1].messages[0]
    assert asked[0].schema == asked[1].schema


async def test_evidence_is_numbered_by_document_and_shared_by_claims(serve: Serve, books: CollectionLibrary) -> None:
    founder = "Kestrel Kompressoren was founded in 1961 by Marta Olin."
    both = claim("Marta Olin founded it.", (2, founder), (2, founder), (3, MAKER["quotes"][0]["quote"]))
    update = await Bench(Reader, serve(answering(MAKER, both)), books).run(make_context(), INPUTS)
    synthesis = update.findings[0].synthesis
    assert [(item.number, item.name) for item in synthesis.evidence] == [(1, "companies.md"), (2, "parts.pdf")]
    assert [each.evidence for each in synthesis.claims] == [(2,), (1, 2)]


async def test_an_answer_in_sentences_has_no_bare_answer(serve: Serve, books: CollectionLibrary) -> None:
    """A later step cannot search for sentences; the planner sees them and can ask about each."""
    bench = Bench(Reader, serve(answering(MAKER)), books)
    output = ReaderOutput.of(await bench.run(make_context(), INPUTS))
    assert (output.answer, output.sufficient) == ("", True)
    assert "takes a sentence: “Kestrel Kompressoren makes it.” Ask about each" in output.why_empty


async def test_adjacent_sentences_form_one_quote(serve: Serve, books: CollectionLibrary) -> None:
    numbered = {"text": "Kestrel Kompressoren makes it.", "sentences": [6, 5]}
    update = await Bench(Reader, serve(answering(numbered)), books).run(make_context(), INPUTS)
    assert [item.quote for item in update.evidence] == [SUPPLIER]


async def test_a_sentence_that_was_not_shown_is_dropped(serve: Serve, books: CollectionLibrary) -> None:
    numbered = {"text": "Kestrel Kompressoren makes it.", "sentences": [99]}
    bench = Bench(Reader, serve(answering(numbered, short="Nordwind")), books)
    update = await bench.run(make_context(), INPUTS)

    [rejected] = bench.of_type("evidence_rejected")
    assert (rejected.quote, rejected.reason) == ("[99]", "There is no sentence 99; 6 were shown.")
    synthesis = update.findings[0].synthesis
    assert synthesis.text == "Kestrel Kompressoren makes it. [unsupported]"
    assert not synthesis.sufficient, "an answer without any supported claim is none"
    assert ReaderOutput.of(update) == ReaderOutput(answer="", sufficient=False)


async def test_a_claim_that_points_past_its_sentence_gets_the_right_one(serve: Serve, books: CollectionLibrary) -> None:
    numbered = {"text": "Kestrel Kompressoren was founded in 1961.", "sentences": [6]}
    bench = Bench(Reader, serve(answering(numbered)), books)
    update = await bench.run(make_context(), {"question": "When was the company founded?", "queries": []})
    assert [item.quote for item in update.evidence] == TOWN.splitlines()
    [repaired] = bench.of_type("response_repaired")
    assert repaired.repairs[0].startswith("a claim pointed past its sentence; added 'Kestrel Kompressoren was founded")


async def test_a_claim_that_repeats_the_question_gets_the_short_answer(serve: Serve, books: CollectionLibrary) -> None:
    repeated = claim(QUESTION.upper(), *[(each["passage"], each["quote"]) for each in MAKER["quotes"]])
    bench = Bench(Reader, serve(answering(repeated, short="Kestrel Kompressoren")), books)
    update = await bench.run(make_context(), INPUTS)
    assert update.findings[0].synthesis.text == "Kestrel Kompressoren [1]"
    assert bench.of_type("response_repaired")


@pytest.mark.parametrize(
    ("given", "supported", "contradicted", "reason"),
    [
        (verdicts("stated"), True, False, "The check call says that its quotes state it."),
        (verdicts("not_stated"), False, False, "The check call says that its quotes do not state it."),
        (verdicts("contradicted"), False, True, "The check call says that its quotes contradict it."),
        (verdicts("not_stated", difference="quiet"), False, False, "The check call found: quiet"),
    ],
)
async def test_a_model_checks_claims_that_rules_cannot_decide(
    serve: Serve, books: CollectionLibrary, given: dict[str, Any], supported: bool, contradicted: bool, reason: str
) -> None:
    """The quote is verified, but it is about something else."""
    asked: list[Request] = []

    def check(request: Request) -> str:
        asked.append(request)
        return json.dumps(given)

    numbered = {"text": "Yes, the compressor of the Borea 12 is quiet.", "sentences": [6]}
    bench = Bench(Reader, serve(answering(numbered, short="yes", ClaimCheck=check)), books, CHECKING)
    update = await bench.run(make_context(), {"question": "Is the compressor of the Borea 12 quiet?", "queries": []})
    found = update.findings[0].synthesis
    assert (found.sufficient, found.claims[0].verdict == "contradicted") == (supported, contradicted)
    [checked] = bench.of_type("claim_checked")
    assert (checked.supported, checked.method) == (supported, "model")
    assert checked.reason == reason
    assert asked[0].messages[1]["content"] == (
        "Claim 1: Yes, the compressor of the Borea 12 is quiet.\n- parts.pdf, page 4: It is delivered on pallets.\n\n"
        "Question: Is the compressor of the Borea 12 quiet?"
    )


@pytest.mark.parametrize("given", [verdicts(), verdicts("stated", difference="quiet")])
async def test_a_claim_stays_open_without_a_clear_verdict(
    serve: Serve, books: CollectionLibrary, given: dict[str, Any]
) -> None:
    numbered = {"text": "The compressor of the Borea 12 travels by lorry.", "sentences": [6]}
    check = {"ClaimCheck": lambda _: json.dumps(given)}
    bench = Bench(Reader, serve(answering(numbered, short="no", **check)), books, CHECKING)
    update = await bench.run(make_context(), {"question": "Is the compressor of the Borea 12 mailed?", "queries": []})
    assert [claim.verdict for claim in update.findings[0].synthesis.claims] == ["not_checked"]


@pytest.mark.parametrize(
    ("text", "given", "verdict"),
    [
        ("Kestrel was founded in 1961, by Marta Olin.", verdicts("stated"), "supported"),
        ("Kestrel was founded in 1961, by Marta Olin.", verdicts("contradicted"), "contradicted"),
        ("Kestrel was founded in 1961, by Marta Olin.", verdicts("not_stated"), "not_checked"),
        ("It was founded in 1962.", verdicts("stated"), "not_checked"),
        ("It was founded in 1962.", verdicts("not_stated"), "contradicted"),
        ("It was founded in 1962.", verdicts(), "contradicted"),
    ],
)
async def test_the_check_call_doubts_rules(
    serve: Serve, books: CollectionLibrary, text: str, given: dict[str, Any], verdict: str
) -> None:
    check = {"ClaimCheck": lambda _: json.dumps(given)}
    bench = Bench(Reader, serve(answering({"text": text, "sentences": [5]}, **check)), books, CHECKING)
    update = await bench.run(make_context(), {"question": "When was it founded?", "queries": []})
    assert [claim.verdict for claim in update.findings[0].synthesis.claims] == [verdict]


@pytest.mark.parametrize("copy", [True, False])
async def test_copies_are_not_checked_by_a_model(serve: Serve, books: CollectionLibrary, copy: bool) -> None:
    asked: list[Request] = []

    def check(request: Request) -> str:
        asked.append(request)
        return json.dumps(verdicts("stated"))

    reworded = "Kestrel was founded in 1961, by Marta Olin."
    text = "Kestrel Kompressoren was founded in 1961 by Marta Olin." if copy else reworded
    bench = Bench(Reader, serve(answering({"text": text, "sentences": [5]}, ClaimCheck=check)), books, CHECKING)
    await bench.run(make_context(), {"question": "When was it founded?", "queries": []})
    assert len(asked) == (not copy)


async def test_near_matches_are_not_checked_by_a_model(serve: Serve, books: CollectionLibrary) -> None:
    asked: list[Request] = []

    def check(request: Request) -> str:
        asked.append(request)
        return json.dumps(verdicts("not_stated"))

    near = {"text": "The compressor of the Borea 12 travels by lorry.", "sentences": [6]}
    bench = Bench(Reader, serve(answering(near, sufficient=False, ClaimCheck=check)), books, CHECKING)
    update = await bench.run(make_context(), {"question": "Is the compressor of the Borea 12 mailed?", "queries": []})
    assert [claim.stands for claim in update.findings[0].synthesis.claims] == [True]
    assert not asked


async def test_without_the_check_call_figures_and_names_decide(serve: Serve, books: CollectionLibrary) -> None:
    wrong_year = {"text": "It was founded in 1962.", "sentences": [5]}
    other_words = {"text": "Nobody ran Kestrel before Marta Olin.", "sentences": [5]}
    bench = Bench(Reader, serve(answering(wrong_year, other_words)), books)
    update = await bench.run(make_context(), {"question": "When was it founded?", "queries": []})
    assert [claim.stands for claim in update.findings[0].synthesis.claims] == [False, True]
    [rejected] = bench.of_type("claim_checked")
    assert (rejected.method, rejected.reason) == ("rule", "“1962” stands against “1961”.")


async def test_an_insufficient_answer_is_empty_for_later_steps(serve: Serve, books: CollectionLibrary) -> None:
    update = await Bench(Reader, serve(answering(MAKER, sufficient=False)), books).run(make_context(), INPUTS)
    assert ReaderOutput.of(update) == ReaderOutput(answer="", sufficient=False)
    assert update.evidence, "but what was found is kept"


async def test_without_passages_no_model_is_called(
    embedder: Embedder, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with library_of([], embedder, tmp_path_factory.mktemp("empty")) as nothing:
        bench = Bench(Reader, UNREACHABLE, nothing)
        update = await bench.run(make_context(), INPUTS)
    synthesis = update.findings[0].synthesis
    assert (synthesis.sufficient, synthesis.found) == (False, "No passage was found.")
    assert synthesis.looked_for == (QUESTION, "compressor supplier")


async def test_it_calls_the_model_once(serve: Serve, books: CollectionLibrary) -> None:
    calls: list[Request] = []

    def answer(request: Request) -> Reply | str:
        calls.append(request)
        return answering(claim("Kestrel makes it.", (1, "wrong")), MAKER)(request)

    await Bench(Reader, serve(answer), books).run(make_context(), INPUTS)
    assert len(calls) == 1
    with pytest.raises(LLMError):
        await Bench(Reader, UNREACHABLE, books).run(make_context(), INPUTS)
