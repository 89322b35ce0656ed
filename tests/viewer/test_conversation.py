"""Conversations in the page: questions that continue a run, and what a reload shows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from api.cli.ingest import run_ingest
from support.panel import COMPLETION, READING, TRIAGE, Panel, fast, synthesis, triage
from support.replies import Request
from support.viewer import COLD, QUESTION, WARRANTY, OpenPage, Site, answered, ask

COMPLETED = "How cold may it get where the Borea 12 stands in winter?"
FOLLOW_UP = "And in winter?"
CONTRACTS = Path(__file__).parents[1] / "api" / "cases" / "53-versions"
FEE = "The yearly maintenance fee is 14,250 EUR, payable in January."


@pytest.fixture
def prompts(site: Site) -> list[str]:
    """The prompts that completed a question. The model answers every question of the test."""
    prompts: list[str] = []

    def complete(request: Request) -> str:
        prompts.append(request.prompt)
        return json.dumps({"question": COMPLETED})

    site.responder = Panel("-25 °C", roles={COMPLETION: complete})
    return prompts


def ask_further(page: Page, question: str) -> None:
    page.get_by_label("Ask further").fill(question)
    page.get_by_label("Ask further").press("Control+Enter")
    expect(page.get_by_role("heading", name=question)).to_be_visible()
    expect(page.locator(".live .badge").first).to_have_text("answered")


def test_a_conversation_begins_with_the_first_question_and_survives_a_reload(
    open_page: OpenPage, prompts: list[str]
) -> None:
    page = open_page()
    answered(page)
    expect(page.get_by_role("textbox", name="Question")).to_have_count(0)
    ask_further(page, FOLLOW_UP)
    earlier = page.get_by_role("region", name="Earlier in this conversation")
    for _ in range(2):
        expect(earlier.locator("li")).to_have_count(1)
        expect(earlier).to_contain_text(QUESTION)
        expect(earlier).to_contain_text(COLD)
        expect(page.get_by_text("Understood from the conversation as:")).to_contain_text(COMPLETED)
        expect(page.locator("mark.added").filter(has_text="Borea")).to_be_visible()
        page.reload()
    ask_further(page, "And its warranty?")
    expect(earlier.locator("li")).to_have_count(2)
    expect(earlier.locator("li").nth(1)).to_contain_text(f"Understood as: {COMPLETED}")
    first, second = prompts
    assert QUESTION in first
    assert first.index(QUESTION) < first.index(COLD)
    assert second.index(QUESTION) < second.index(f"Question: {COMPLETED}"), "the whole conversation, in order"
    earlier.get_by_role("link", name=QUESTION).click()
    later = page.get_by_role("region", name="Asked further")
    expect(later).to_contain_text(FOLLOW_UP)
    expect(earlier).to_have_count(0)


def test_a_new_conversation_knows_nothing_of_the_last(open_page: OpenPage, prompts: list[str]) -> None:
    page = open_page()
    answered(page)
    page.get_by_role("link", name="New conversation").click()
    expect(page.get_by_role("textbox", name="Question")).to_have_value("")
    ask(page, "How long is its warranty?")
    expect(page.get_by_role("heading", name="How long is its warranty?")).to_be_visible()
    expect(page.locator(".live .badge").first).to_have_text("answered")
    expect(page.get_by_role("region", name="Earlier in this conversation")).to_have_count(0)
    assert prompts == []


def test_a_run_of_the_list_is_continued_with_its_options(open_page: OpenPage, prompts: list[str], site: Site) -> None:
    page = open_page()
    answered(page)
    page.get_by_role("link", name="Runs").click()
    page.locator(".runs a").first.click()
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    ask_further(page, FOLLOW_UP)
    expect(page.get_by_role("region", name="Earlier in this conversation")).to_contain_text(COLD)
    run_id = page.url.rpartition("/")[2]
    started = site.candor.trace.started(run_id)
    assert started
    assert started.request.mode == "high"
    page.get_by_role("link", name="Full trace").click()
    earlier = page.get_by_role("region", name="Earlier in this conversation")
    expect(earlier.get_by_role("link", name=QUESTION)).to_have_attribute("href", f"#/runs/{started.request.continues}")
    expect(page.locator(".event.question_completed")).to_contain_text(COMPLETED)


def test_the_candidates_of_an_unclear_question_are_buttons(open_page: OpenPage, site: Site) -> None:
    asked = {
        "question": "Which part do you mean?",
        "candidates": [
            {"name": "its warranty", "question": "How long is its warranty?"},
            {"name": "the sound level", "question": "How loud is the sound level?"},
        ],
    }

    def unclear_once(request: Request) -> str:
        return json.dumps(triage(request, ask_back=asked if "How is it?" in request.prompt else None))

    site.responder = Panel("52 decibels", roles={TRIAGE: unclear_once})
    page = open_page()
    ask(page, "How is it?", mode="auto")
    answer = page.get_by_role("region", name="Answer", exact=True)
    expect(answer).to_contain_text("Which part do you mean?")
    expect(page.locator(".live .badge").first).to_have_text("needs clarification")
    expect(answer.locator("button.choice")).to_have_text(["its warranty", "the sound level"])
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        boxes = [each.bounding_box() for each in answer.locator(".choice, .source, .source .words").all()]
        spans = [(box["y"], box["y"] + box["height"]) for box in boxes if box]
        choice, source, words, following = spans[:4]
        assert choice[1] <= source[0] < words[1] <= source[1] <= following[0], "no quote runs into what follows it"
    answer.get_by_role("button", name=WARRANTY).click()
    expect(page.locator("#panel")).to_contain_text(WARRANTY)
    answer.get_by_role("button", name="the sound level", exact=True).click()
    expect(page.get_by_role("heading", name="How loud is the sound level?")).to_be_visible()
    expect(page.locator(".live .badge").first).to_have_text("answered")
    expect(page.get_by_role("region", name="Earlier in this conversation")).to_contain_text("1. its warranty")
    started = site.candor.trace.started(page.url.rpartition("/")[2])
    assert started
    assert started.request.complete


def test_an_answer_in_parts_has_verdicts_and_its_sources_have_dates(
    open_page: OpenPage, site: Site, tmp_path: Path
) -> None:
    for each in CONTRACTS.glob("*.docx"):
        shutil.copy(each, tmp_path)
    run_ingest(site.candor, [tmp_path], "contracts", progress=False)
    claim = {"text": FEE, "quotes": [{"passage": "contract_final.docx", "quote": FEE}]}
    parts = [
        {"part": "the yearly fee", "claims": [1], "verdict": "answered"},
        {"part": "what gold costs now", "claims": [], "verdict": "not_in_documents"},
    ]
    reading = json.dumps({**synthesis([claim], sufficient=False), "parts": parts})
    site.responder = Panel(roles={TRIAGE: fast, READING: lambda _: reading})
    page = open_page()
    page.locator("select[name=collection]").select_option("contracts")
    ask(page, "What is the yearly maintenance fee, and what does gold cost now?", mode="fast")
    answer = page.get_by_role("region", name="Answer", exact=True)
    expect(page.locator(".live .badge").first).to_have_text("partial")
    expect(answer).to_contain_text("1 of 2 parts answered")
    expect(answer.get_by_text("the yearly fee: answered")).to_be_visible()
    expect(answer.get_by_text("what gold costs now: not in documents")).to_be_visible()
    newest = "saved 2024-05-20, a newer version of contract_v1.docx and contract_v2.docx"
    expect(answer.locator(".sources .where").first).to_contain_text(newest)
    expect(answer.get_by_role("region", name="Other values")).to_contain_text("12,000 EUR")
    expect(page.locator("#panel")).to_be_visible()
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page.locator("#panel"), "opened by itself: it must not cover the answer").to_be_hidden()


def test_a_question_that_cannot_be_asked_keeps_its_text(open_page: OpenPage, prompts: list[str]) -> None:
    page = open_page()
    answered(page)
    page.route("**/v1/research", refuse("The question has 20,001 characters."))
    page.get_by_label("Ask further").fill(FOLLOW_UP)
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("20,001 characters")
    expect(page.get_by_label("Ask further")).to_have_value(FOLLOW_UP)


def refuse(why: str) -> Callable:
    body = json.dumps({"title": "Wrong input", "detail": why})
    return lambda route: route.fulfill(status=422, body=body, content_type="application/problem+json")
