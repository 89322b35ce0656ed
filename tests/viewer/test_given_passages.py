"""Passages that the person gives in the ask form."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, Page, expect

from support.viewer import COLD, OpenPage, ask

ELSEWHERE = "A week at -25 °C did no harm."
SECOND = "At -25 °C it needed no heater.\nIt stood on a roof."
WIKI = {"text": ELSEWHERE, "source": "https://wiki.example/borea", "page": 2}


def give(page: Page, passages: str, written_as: str = "text") -> None:
    page.get_by_text("Your own passages").click()
    page.get_by_role("textbox", name="Passages").fill(passages)
    page.get_by_label("Written as").select_option(written_as)


def sources(page: Page) -> Locator:
    return page.locator(".answer .sources .where")


def test_passages_are_folded_until_they_are_given(open_page: OpenPage) -> None:
    page = open_page()
    field = page.get_by_role("textbox", name="Passages")
    expect(page.get_by_text("Your own passages")).to_be_visible()
    expect(field).to_be_hidden()
    give(page, ELSEWHERE)
    ask(page, mode="fast")
    expect(sources(page).first).to_be_visible()
    page.get_by_role("link", name="Runs", exact=True).click()
    page.get_by_role("link", name="Ask", exact=True).click()
    expect(field).to_have_value(ELSEWHERE)
    expect(field).to_be_visible()


def test_an_answer_rests_on_the_given_passages_alone(open_page: OpenPage) -> None:
    page = open_page()
    give(page, f"{ELSEWHERE}\n \n{SECOND}\n\n\n")
    page.get_by_label("Search the collection, too").uncheck()
    ask(page, mode="fast")
    expect(sources(page)).to_have_text(
        ["[1] passage 2, given with the question", "[2] passage 1, given with the question"]
    )
    page.locator(".claims").get_by_role("button", name="[2]", exact=True).click()
    panel = page.get_by_role("complementary", name="Details")
    expect(panel.locator("blockquote")).to_have_text(ELSEWHERE)
    expect(panel).to_contain_text("Given with the question.")
    page.keyboard.press("Escape")
    page.get_by_text("What the run did").click()
    expect(page.locator("dl.fields")).to_contain_text("Given passages2 of 2 read, 2 cited")


def test_the_collection_is_searched_in_addition(open_page: OpenPage) -> None:
    page = open_page()
    give(page, json.dumps(WIKI), "json")
    ask(page, mode="fast")
    given = f"[2] {WIKI['source']}, page 2, given with the question"
    expect(sources(page)).to_have_text([re.compile(r"^\[1\] pump\.md, file of \d{4}-\d\d-\d\d$"), given])
    expect(page.locator(".claims")).to_contain_text(ELSEWHERE)
    expect(page.locator(".claims")).to_contain_text(COLD)


@pytest.mark.parametrize(
    ("passages", "says"),
    [
        (f"{json.dumps(WIKI)}\n{{", "Line 2 of the passages"),
        (json.dumps({"text": ELSEWHERE}), "source"),
        ("", "There is nothing to read"),
    ],
)
def test_what_cannot_be_read_is_refused(open_page: OpenPage, passages: str, says: str) -> None:
    page = open_page()
    give(page, passages, "json")
    page.get_by_label("Search the collection, too").uncheck()
    ask(page, mode="fast")
    expect(page.get_by_role("alert")).to_contain_text(says)
    expect(page.get_by_role("textbox", name="Passages")).to_have_value(passages)
