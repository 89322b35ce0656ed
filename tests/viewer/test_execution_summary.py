"""The execution summary and the passages given by the caller, below the answer."""

from __future__ import annotations

import httpx
from playwright.sync_api import expect

from support.viewer import COLD, QUESTION, OpenPage, Site, answered
from support.waiting import LIMIT_S

WIKI = {"text": "A week at -25 °C did no harm.", "source": "https://wiki.example/borea", "page": 2}


def test_the_summary_of_a_run_is_unfolded(open_page: OpenPage) -> None:
    page = open_page()
    answered(page)
    page.get_by_text("What the run did").click()
    facts = page.get_by_role("region", name="Answer", exact=True).locator("dl.fields")
    expect(facts).to_contain_text("Steps6 done, 0 skipped, 0 failed")
    expect(facts).to_contain_text("Synthesizer × 1")
    expect(facts).to_contain_text("of 3 read, 1 cited")
    expect(facts).to_contain_text("Model6 calls, ")


def test_a_given_passage_is_shown_as_given(open_page: OpenPage, site: Site) -> None:
    asked = {"question": QUESTION, "collection": "pumps", "mode": "fast", "rag_results": [WIKI]}
    answer = httpx.post(f"{site.url}v1/research", json=asked, timeout=LIMIT_S).json()
    assert [quote["quote"] for quote in answer["evidence"]] == [COLD, WIKI["text"]]
    page = open_page(f"ask/{answer['run_id']}")
    page.get_by_role("region", name="Answer", exact=True).get_by_role("button", name="[2]", exact=True).first.click()
    panel = page.get_by_role("complementary", name="Details")
    expect(panel.locator("blockquote")).to_have_text(WIKI["text"])
    expect(panel).to_contain_text("Given with the question.")
    expect(panel.get_by_role("link", name=WIKI["source"])).to_have_attribute("rel", "noopener noreferrer")
    page.keyboard.press("n")
    expect(panel.locator("mark.current")).to_have_text(COLD)
    page.keyboard.press("Escape")
    page.get_by_text("What the run did").click()
    expect(page.locator("dl.fields")).to_contain_text("Given passages1 of 1 read, 1 cited")
