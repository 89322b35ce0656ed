"""A failed run: its reason once, in one sentence, and the words of its events."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from multi_agent.settings.research import ResearchSettings
from support.panel import PLANNER, Panel, planned, step
from support.replies import Reply, always
from support.viewer import COLD, OpenPage, Site, answered, ask


@pytest.fixture
def limited(site: Site) -> Iterator[Site]:
    """Yield the service with a limit that no scan keeps, and without revisions of plans."""
    site.stop()
    site.start(research=ResearchSettings(scan_limit=2, max_revisions=0))
    yield site
    site.stop()
    site.start()


@pytest.fixture
def failed(open_page: OpenPage, site: Site) -> Page:
    """The page of a run whose model rejects every request."""
    site.responder = lambda request: Reply(status=400, raw='{"error": {"message": "no such model"}}')
    page = open_page()
    ask(page)
    expect(page.get_by_role("region", name="Answer", exact=True)).to_be_visible()
    page.get_by_role("link", name="Full trace").click()
    expect(page.locator(".event.run_finished")).to_be_visible()
    return page


def test_the_reason_and_what_to_do_are_shown_once_and_nothing_is_offered(failed: Page) -> None:
    answer = failed.get_by_role("region", name="Answer", exact=True)
    expect(answer.locator(".fault")).to_contain_text("rejected the request")
    expect(answer.locator(".fault")).not_to_contain_text("CANDOR_LLM__")
    expect(answer.get_by_text("CANDOR_LLM__")).to_be_visible()
    expect(failed.get_by_role("button", name="Markdown")).to_have_count(0)
    expect(failed.get_by_role("textbox", name="Ask further")).to_have_count(0)
    assert failed.locator("main").inner_text().count("rejected the request") == 3, "answer, call, end"


def test_the_end_of_a_failed_run_is_not_green(failed: Page) -> None:
    end = failed.locator(".event.run_finished .what")
    expect(end).to_have_text("run finished: failed")
    color = "getComputedStyle(document.querySelector('.event.run_finished .what')).color"
    assert failed.evaluate(color) == "rgb(163, 38, 42)"


def test_a_step_that_never_started_is_skipped(open_page: OpenPage, limited: Site) -> None:
    everything = {"method": "scan", "documents": [], "queries": []}
    plan = planned(step("all", "Retriever", inputs=everything), step("x", "Extractor"), step("s", "Synthesizer"))
    limited.responder = Panel("-25 °C", roles={PLANNER: always(json.dumps(plan))})
    page = open_page()
    ask(page)
    answer = page.get_by_role("region", name="Answer", exact=True)
    answer.locator("summary").filter(has_text="What the run did").click()
    expect(answer.locator(".fields")).to_contain_text("0 done, 2 skipped, 1 failed")
    page.get_by_role("link", name="Full trace").click()
    expect(page.locator(".graph .status")).to_have_text(
        [re.compile("failed"), re.compile("skipped"), re.compile("skipped")]
    )
    expect(page.locator(".attempt")).to_contain_text("x not started: It needs all, which failed.")


def test_snippets_of_the_event_search_keep_their_case(open_page: OpenPage) -> None:
    page = open_page()
    answered(page)
    page.get_by_role("link", name="Full trace").click()
    page.get_by_role("searchbox").fill("it works down")
    excerpts = page.locator(".event .excerpt")
    expect(excerpts.filter(has_text=COLD[:20]).first).to_be_visible()
    assert not [each for each in excerpts.all_inner_texts() if "it works down" in each]
