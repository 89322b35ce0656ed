"""Conversations in the page: questions that continue a run, and what a reload shows."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from support.panel import COMPLETION, TRIAGE, Panel, triage
from support.replies import Request
from support.viewer import COLD, QUESTION, WARRANTY, OpenPage, Site, answered, ask

COMPLETED = "How cold may it get where the Borea 12 stands in winter?"
FOLLOW_UP = "And in winter?"


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
    answer.get_by_role("button", name=WARRANTY).click()
    expect(page.locator("#panel")).to_contain_text(WARRANTY)
    answer.get_by_role("button", name="the sound level", exact=True).click()
    expect(page.get_by_role("heading", name="How loud is the sound level?")).to_be_visible()
    expect(page.locator(".live .badge").first).to_have_text("answered")
    expect(page.get_by_role("region", name="Earlier in this conversation")).to_contain_text("1. its warranty")
    started = site.candor.trace.started(page.url.rpartition("/")[2])
    assert started
    assert started.request.complete


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
