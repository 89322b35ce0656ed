"""Questions that the web answers, in the viewer: a source allowed in the form, a saved plan with typed inputs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from multi_agent.values.plan import Plan
from support.handyman import calls
from support.internet import OPINION, WEIGHT, ToolModel, enable_all, search, small_web, tools_for
from support.viewer import OpenPage, Site, ask, open_options
from support.web import Web

WEIGHT_ASKED = "What does the Borea 12 weigh?"
FROST = {
    "goal": "@{question}",
    "parameters": [
        {"name": "words", "meaning": "what to search for"},
        {"name": "season", "meaning": "a season", "default": "winter"},
    ],
    "steps": [{
        "id": "look", "agents": ["WebResearcher"], "instruction": "Look.", "final": True,
        "inputs": {"question": "@{question}", "related_queries": ["@{inputs.words} in @{inputs.season}"],
                   "source_types": ["official"], "max_sources": 1},
    }],
}  # fmt: skip


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    with small_web(tmp_path) as started:
        yield started


@pytest.fixture
def model(site: Site, web: Web) -> Iterator[ToolModel]:
    """The model of a service whose agents search ``web``."""
    site.stop()
    site.start(tools=tools_for(web))
    enable_all(site.candor)
    made = site.responder = ToolModel()
    yield made
    site.stop()
    site.start()


def test_a_web_page_is_evidence_with_its_address_and_its_kept_text(
    open_page: OpenPage, web: Web, model: ToolModel
) -> None:
    model.turns = [calls(search("Borea 12 weight")), calls(("read_web_page", {"url": web.url("/app")}))]
    model.quote = "120 kg"
    page = open_page()
    open_options(page)
    page.get_by_label("Documents", exact=True).uncheck()
    page.get_by_label("Web pages").check()
    ask(page, WEIGHT_ASKED, mode="agent:WebResearcher")
    expect(page.locator(".claims")).to_contain_text(WEIGHT)
    expect(page.locator(".answer .sources .where")).to_have_text(f"[1] web page {web.url('/app')}")
    web.pages.clear()
    page.locator(".claims .mark").first.click()
    panel = page.get_by_role("complementary", name="Details")
    expect(panel.locator("mark.current")).to_have_text(WEIGHT)
    expect(panel).to_contain_text(f"web page {web.url('/app')}")
    expect(panel).to_contain_text("read at")
    page.keyboard.press("Escape")
    page.get_by_text("What the run did").click()
    facts = page.locator("dl.fields")
    expect(facts).to_contain_text("Web pages1 read, 1 cited")
    expect(facts).to_contain_text("2 of 2 used: read_web_page × 1, web_search × 1")


def test_the_web_is_not_asked_unless_it_is_allowed(open_page: OpenPage, web: Web, model: ToolModel) -> None:
    page = open_page()
    ask(page, WEIGHT_ASKED, mode="agent:WebResearcher")
    expect(page.get_by_role("alert")).to_contain_text("'WebResearcher' cannot work in this run")
    assert not web.asked


def test_the_fields_of_a_saved_plan_reach_the_typed_inputs_of_its_agent(
    open_page: OpenPage, site: Site, web: Web, model: ToolModel
) -> None:
    site.candor.plans.save("frost", Plan.model_validate(FROST), "How is the weather?")
    model.turns = [
        calls(search("frost")),
        calls(("read_web_page", {"url": web.url("/thread")}), ("read_web_page", {"url": web.url("/app")})),
    ]
    model.quote = OPINION
    page = open_page()
    open_options(page)
    page.get_by_label("Web pages").check()
    page.locator("select[name=mode]").select_option("plan:frost")
    expect(page.get_by_label("season")).to_have_attribute("placeholder", "winter")
    page.get_by_label("words").fill("heat pump frost")
    page.get_by_label("season").fill("January")
    ask(page, "Does it freeze?", mode="")
    expect(page.locator(".claims")).to_contain_text(OPINION)
    page.locator(".tree .step a").first.click()
    details = page.get_by_role("complementary", name="Details")
    expect(details).to_contain_text("heat pump frost in January")
    [turn, *_] = [each.prompt for each in site.endpoint.requests if "Suggested searches" in each.prompt]
    assert "Suggested searches:\n- heat pump frost in January" in turn
    assert "You may read 1 pages at most." in turn
    assert "/thread" in web.asked
    assert "/app" not in web.asked
