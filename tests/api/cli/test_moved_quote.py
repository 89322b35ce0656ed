"""``candor show RUN N``: a quote is found again where an edit, a new reader or a new line break moved it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api.auth.permissions import LOCAL_CALLER
from api.bootstrap import Candor
from api.services.research.kept_text import RunSources, place_in
from api.services.research.surroundings import surroundings
from ingest.ledger.records import DocumentText
from multi_agent.llm.settings import EndpointSettings
from multi_agent.values.answer import Quote
from support.panel import Panel
from vectorstore.models import PageSpan

Run = Callable[..., Any]
CASE = Path(__file__).parents[1] / "cases" / "59-moved-quote"
WEIGHT = "The pump weighs 40 kg without oil."


@pytest.fixture
def asked(
    run: Run, tmp_path: Path, serve: Callable[..., EndpointSettings], use_model: Callable[[EndpointSettings], None]
) -> str:
    """The id of a run over the first version of the manual; the collection then has the second one."""
    manual = tmp_path / "d" / "pump.txt"
    manual.parent.mkdir()
    shutil.copy(CASE / "pump_before.txt", manual)
    run("ingest", manual.parent, "-c", "s")
    use_model(serve(Panel(WEIGHT)))
    answer = run("ask", "What does the pump weigh?", "-c", "s", "--json").json
    assert "moved" not in run("show", answer["run_id"], "1").out
    shutil.copy(CASE / "pump_after.txt", manual)
    run("ingest", manual.parent, "-c", "s")
    return str(answer["run_id"])


def test_a_quote_below_a_new_line_is_shown_at_its_new_place(run: Run, asked: str) -> None:
    shown = run("show", asked, "1")
    assert (shown.code, WEIGHT in shown.out) == (0, True), shown.err
    assert "The text of the source has changed since the answer; the quote is now at another place." in shown.out
    kept = run("show", asked, "1", "--json").json
    assert (kept["text"][kept["start"] : kept["end"]], kept["moved"]) == (WEIGHT, True)


async def test_the_page_gets_the_new_place(run: Run, asked: str, make_candor: Callable[..., Candor]) -> None:
    candor = make_candor()
    [around] = await surroundings(
        RunSources(candor.documents, candor.tools.calls, candor.trace, asked, LOCAL_CALLER), None
    )
    assert around.state == "moved"
    assert around.quote
    assert around.text[around.quote.start - around.start : around.quote.end - around.start] == WEIGHT


def test_only_a_quote_that_is_gone_is_reported_as_gone(run: Run, asked: str, tmp_path: Path) -> None:
    (tmp_path / "d" / "pump.txt").write_text("Pump manual.\n\nThe pump weighs 140 kg without oil.\n")
    run("ingest", tmp_path / "d", "-c", "s")
    shown = run("show", asked, "1")
    assert shown.code != 0
    assert "has changed and no longer contains the quote" in " ".join(shown.err.split())


def test_a_deleted_document_is_named_with_the_quote(run: Run, asked: str) -> None:
    run("documents", "rm", "pump.txt", "-c", "s")
    shown = run("show", asked, "1")
    assert shown.code != 0
    assert f"pump.txt is no longer in collection 's'. Evidence 1 quotes it: “{WEIGHT}”" in shown.err


def quote(text: str, start: int) -> Quote:
    return Quote(
        number=1, document="a.txt", document_id="a", chunk_id="c", pages=(1,), start=start, end=start + len(text),
        quote=text,
    )  # fmt: skip


def text_of(*pages: str) -> DocumentText:
    text, spans = "".join(pages), []
    for number, page in enumerate(pages, 1):
        start = spans[-1].end if spans else 0
        spans.append(PageSpan(number=number, start=start, end=start + len(page)))
    return DocumentText(text=text, blocks=(), pages=tuple(spans))


def test_of_several_places_the_nearest_counts() -> None:
    source = text_of("It is red.\n", "Or: it weighs 4 kg.\nIt is red.\n", "And so on. It is red.")
    now = place_in(source, quote("It is red.", 30))
    assert now
    assert (now.start, now.pages) == (31, (2,))


@pytest.mark.parametrize(
    ("old", "text"),
    [
        ('He said "no" to it.', "Intro. He said “no” to it. End"),
        ("The years 1990-94 weren't dry.", "Intro. The years 1990–94 weren’t dry. End"),
        ("The maintenance is due.", "Intro. The main\u00adtenance is due. End"),
    ],
)
def test_another_reader_may_write_signs_in_another_form(old: str, text: str) -> None:
    now = place_in(text_of(text), quote(old, 0))
    assert now
    assert now.quote == text.removeprefix("Intro. ").removesuffix(" End")


@pytest.mark.parametrize(
    ("text", "found"),
    [("So it\nweighs   4 kg.", "it\nweighs   4 kg."), ("So it weighs 14 kg.", None), ("Bit weighs 4 kg.", None)],
)
def test_the_words_must_be_the_same_but_not_the_white_space(text: str, found: str | None) -> None:
    now = place_in(text_of(text), quote("it weighs 4 kg.", 0))
    assert (now.quote if now else None) == found
