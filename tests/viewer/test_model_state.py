"""Whether the model is reachable: shown in the header, and checked before a question is sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from multi_agent.llm.endpoints.memory import CLAIM_CHECKS, EndpointMemory
from support.viewer import COLD, QUESTION, OpenPage, Site, answered, ask, violations


@pytest.fixture
def down(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The service whose model endpoint does not listen."""
    nowhere = site.candor.settings.llm.model_copy(update={"base_url": "http://127.0.0.1:9/v1"})
    settings = site.candor.settings.model_copy(update={"llm": nowhere})
    monkeypatch.setattr(site.candor, "doctor", replace(site.candor.doctor, settings=settings))
    return site


def test_the_header_says_that_the_model_is_reachable(open_page: OpenPage) -> None:
    page = open_page()
    expect(page.locator("#model")).to_have_class("is-done")
    expect(page.locator("#model")).to_have_text("scripted is reachable")


def test_a_question_is_not_sent_to_a_model_that_is_down_and_search_is_offered(open_page: OpenPage, down: Site) -> None:
    page = open_page()
    expect(page.locator("#model")).to_have_text("scripted not reachable")
    runs = len(down.candor.trace.runs(100))
    ask(page, "heater", mode="")
    alert = page.locator("form.ask").get_by_role("alert")
    expect(alert).to_contain_text("The question was not sent")
    expect(alert).to_contain_text("http://127.0.0.1:9")
    expect(alert).to_contain_text("Start the endpoint")
    assert len(down.candor.trace.runs(100)) == runs
    assert violations(page) == []
    alert.get_by_role("link", name="Search without a model").click()
    expect(page.get_by_role("region", name="Found")).to_contain_text(COLD)


def test_a_question_can_be_asked_anyway(open_page: OpenPage, down: Site) -> None:
    page = open_page()
    ask(page, QUESTION)
    page.get_by_role("button", name="Ask anyway").click()
    expect(page.locator(".live .badge").first).to_have_text("answered")


def test_the_state_is_checked_again_before_the_next_question(
    open_page: OpenPage, down: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page()
    expect(page.locator("#model")).to_have_class("is-failed")
    monkeypatch.undo()
    answered(page)
    expect(page.locator("#model")).to_have_class("is-done")


def test_an_answer_says_once_why_its_claims_were_not_checked(open_page: OpenPage, site: Site) -> None:
    settings = site.candor.settings
    tested = EndpointMemory(settings.llm, settings.home / "endpoints", CLAIM_CHECKS)
    page = open_page()
    answered(page)
    hint = page.locator(".answer .claims + .note")
    expect(hint).to_contain_text("“Try it” under Settings → Models, tests once whether the model can check the claims")
    assert violations(page) == []
    tested.keep(False)
    page.reload()
    expect(hint).to_contain_text("The model failed the test of `candor doctor`")
    german = open_page(page.url.partition("#/")[2], locale="de")
    expect(german.locator(".answer .claims + .note")).to_contain_text("hat den Test von `candor doctor` nicht")
    tested.keep(True)
    page.reload()
    expect(page.get_by_role("region", name="Answer", exact=True)).to_contain_text("not checked")
    page.wait_for_load_state("networkidle")
    expect(hint).to_be_empty()
