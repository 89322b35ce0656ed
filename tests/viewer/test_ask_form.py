"""The form of the ask page: its collection, its options, and the questions to start from."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from api.cli.ingest import run_ingest
from support.panel import SUGGESTION, Panel
from support.replies import Reply, Request, fail
from support.viewer import COLD, QUESTION, OpenPage, Site, answered

SUGGESTED = ("How cold may it be for the Borea 12?", "Where is the compressor from?")


@pytest.fixture
def races(site: Site) -> Iterator[str]:
    """A second collection, made after the first."""
    folder = site.candor.settings.home.parent / "races"
    folder.mkdir(exist_ok=True)
    (folder / "race.md").write_text("Ben Adler won the race.")
    run_ingest(site.candor, [folder], "races", progress=False)
    yield "races"
    if "races" in {each.collection for each in site.candor.collections.list()}:
        site.candor.collections.drop("races")


def test_the_last_collection_is_kept_and_a_new_one_is_not_chosen(open_page: OpenPage, site: Site, races: str) -> None:
    page = open_page()
    collection = page.get_by_role("combobox", name="Collection")
    expect(collection).to_have_value("")
    expect(collection).to_contain_text("races (1 document, 1 passage)")
    page.get_by_role("textbox", name="Question").fill(QUESTION)
    page.get_by_role("button", name="Ask", exact=True).click()
    assert page.url.endswith("#/"), "no collection is chosen for the person"
    collection.select_option(races)
    page.reload()
    expect(collection).to_have_value(races)
    page.get_by_role("link", name="Runs", exact=True).click()
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
    page.go_back()
    expect(page.get_by_role("textbox", name="Question")).to_be_visible()
    expect(collection).to_have_value(races)
    tab = page.context.new_page()
    tab.goto(page.url)
    expect(tab.get_by_role("combobox", name="Collection")).to_have_value(races)
    tab.close()
    site.candor.collections.drop(races)
    page.reload()
    expect(collection).to_have_value("")
    gone = page.get_by_text("The last collection “races” does not exist")
    expect(gone).to_be_visible()
    collection.select_option("pumps")
    expect(gone).to_have_count(0)


def test_several_collections_are_asked_at_once(open_page: OpenPage, site: Site, races: str) -> None:
    page = open_page()
    page.get_by_role("combobox", name="Collection").select_option("Several collections…")
    page.get_by_role("textbox", name="Question").fill(QUESTION)
    ask = page.get_by_role("button", name="Ask", exact=True)
    ask.click()
    assert page.url.endswith("#/"), "no collection is checked"
    page.get_by_role("checkbox", name="pumps").check()
    page.get_by_role("checkbox", name=races).check()
    ask.click()
    source = page.locator("button.source").first
    expect(source).to_contain_text("pumps/")
    source.click()
    page.get_by_role("link", name="Open document").click()
    expect(page.get_by_text("Documents in pumps")).to_be_visible()
    page.go_back()
    page.get_by_role("link", name="New conversation").click()
    expect(page.get_by_role("checkbox", name=races)).to_be_checked()
    assert {"pumps+races"} <= {run.collection for run in site.candor.trace.runs(5)}


def test_conversations_are_listed_with_their_last_answer(open_page: OpenPage) -> None:
    page = open_page()
    answered(page)
    page.get_by_role("textbox", name="Ask further").fill("And in winter?")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("h1.asked")).to_have_text("And in winter?")
    expect(page.locator(".live .badge").first).to_have_text("answered")
    page.get_by_role("link", name="New conversation").click()
    latest = page.get_by_role("region", name="Conversations").get_by_role("listitem").first
    expect(latest.locator(".said")).to_contain_text("1 further question")
    expect(latest.locator(".said")).to_contain_text(COLD)
    latest.get_by_role("link", name=QUESTION).click()
    expect(page.locator("h1.asked")).to_have_text("And in winter?")


def test_questions_are_suggested_once(open_page: OpenPage, site: Site) -> None:
    asked: list[str] = []
    broken = threading.Event()
    broken.set()

    def suggest(request: Request) -> Reply | str:
        asked.append(request.prompt)
        return fail(404, "no such model") if broken.is_set() else json.dumps({"questions": SUGGESTED})

    site.responder = Panel("-25 °C", roles={SUGGESTION: suggest})
    page = open_page()
    suggestions = page.get_by_role("region", name="Suggested questions")
    page.get_by_role("button", name="Suggest questions").click()
    expect(page.get_by_role("alert")).to_contain_text("Model unavailable")
    broken.clear()
    page.get_by_role("button", name="Try again").click()
    suggestions.get_by_role("button", name=SUGGESTED[0]).click()
    expect(page.get_by_role("textbox", name="Question")).to_have_value(SUGGESTED[0])
    assert "-25 °C" in asked[-1]
    count = len(asked)
    page.reload()
    expect(suggestions.get_by_role("button", name=SUGGESTED[1])).to_be_visible()
    assert len(asked) == count, "the suggestions are stored"


def test_options_are_folded_with_a_summary(open_page: OpenPage) -> None:
    page = open_page()
    options = page.locator("details.options > summary")
    expect(options).to_have_text("Options: defaults")
    expect(page.get_by_label("Mode")).to_be_hidden()
    options.click()
    page.get_by_label("Mode").select_option("high")
    page.get_by_label("Samples").fill("99")
    page.get_by_label("Web pages").check()
    expect(options).to_have_text("Options: mode high · 99 samples · documents, web pages")
    options.click()
    page.get_by_role("textbox", name="Question").fill(QUESTION)
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_label("Samples"), "the fold opens: its field is wrong").to_be_visible()
    assert page.url.endswith("#/")


def test_a_collection_that_cannot_be_read_is_marked(open_page: OpenPage, site: Site, races: str) -> None:
    spec = site.candor.settings.home / "collections" / races / "collection.json"
    kept = spec.read_text()
    spec.write_text("{")
    try:
        page = open_page()
        collection = page.get_by_role("combobox", name="Collection")
        expect(collection).to_contain_text("races (cannot be read now)")
        expect(collection).to_contain_text("pumps (")
        documents = open_page("documents/races")
        expect(documents.get_by_role("alert")).to_contain_text("collection.json")
    finally:
        spec.write_text(kept)
