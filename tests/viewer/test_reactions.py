"""Reactions of agents in the plan of a run, and listeners in the form of an agent."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import expect

from api.cli.ingest import run_ingest
from support.panel import INSPECTION, QUERIES, Panel
from support.replies import Request
from support.viewer import OpenPage, Site, answered

PROMPT = "# System\nYou doubt.\n# User\n$question\n"


def test_a_reaction_is_a_step_of_the_plan_with_what_woke_it(open_page: OpenPage, site: Site) -> None:
    def inspect(request: Request) -> str:
        return json.dumps(Panel().play(request) | {"missing": ["the price of the pump"]})

    def search(request: Request) -> str:
        words = ["price", "cost in euros", "how much"] if "reported" in request.prompt else ["cold", "limit", "winter"]
        return json.dumps({"queries": words, "reasoning": "So."})

    site.responder = Panel("-25 °C", roles={INSPECTION: inspect, QUERIES: search})
    page = open_page()
    answered(page)
    page.get_by_role("link", name="Full trace").click()
    expect(page.locator(".graph a")).to_have_count(8)
    expect(page.locator(".graph .edge.reaction")).to_have_count(2)
    page.locator(".graph a").filter(has_text="look.QueryPlan").click()
    panel = page.locator("#panel")
    expect(panel.get_by_role("heading", name="look.QueryPlanner")).to_be_visible()
    expect(panel).to_contain_text("DataInspector in step look: missing reported")
    expect(panel).to_contain_text("DataInspector (look): missing in the passages: the price of the pump")
    page.locator(".graph a").filter(has_text="look.Retriever").click()
    expect(panel).to_contain_text("QueryPlanner in step look.QueryPlanner: reasoning shared")
    expect(page.locator(".event").filter(has_text="reacts to DataInspector")).to_be_visible()


def test_contradicting_quotes_are_counted_below_the_answer_and_told_in_the_trace(
    open_page: OpenPage, site: Site, tmp_path: Path
) -> None:
    for name, degrees in (("manual.md", 25), ("fair.md", 22)):
        (tmp_path / name).write_text(f"The Borea 12 works down to -{degrees} °C.\n")
    run_ingest(site.candor, [tmp_path], "fairs", progress=False)
    site.responder = Panel("works down to")
    page = open_page()
    page.locator("select[name=collection]").select_option("fairs")
    answered(page)
    page.get_by_text("What the run did").click()
    facts = page.locator("dl.fields")
    expect(facts).to_contain_text("Contradictions1 pair of statements that may contradict each other")
    page.get_by_role("link", name="Full trace").click()
    sides = "“The Borea 12 works down to -22 °C.” (fair.md) / “The Borea 12 works down to -25 °C.” (manual.md)"
    page.get_by_label("Search this run").fill("works down to")
    expect(page.locator(".event.contradiction_found")).to_contain_text(sides)
    page.locator("[data-key='node answer']").click()
    expect(page.locator("#panel")).to_contain_text(f"Extractor (extract): possible contradiction: {sides}")


def test_an_agent_that_listens_is_added_and_shown(open_page: OpenPage, site: Site) -> None:
    page = open_page("agents")
    page.locator("summary").filter(has_text="Add an agent").click()
    page.get_by_role("textbox", name="Name").fill("Skeptic")
    page.get_by_role("textbox", name="Description").fill("Doubts.")
    page.get_by_role("textbox", name="Prompt").fill(PROMPT)
    page.get_by_role("textbox", name="Listens to").fill("missing")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("no agent can listen to 'missing'")
    page.get_by_role("textbox", name="Listens to").fill("missing_reported, reasoning_shared:Extractor")
    page.get_by_role("button", name="Add", exact=True).click()
    card = page.locator(".cards li").filter(has_text="Skeptic")
    card.locator("summary").filter(has_text="Details").click()
    expect(card).to_contain_text("missing_reported, reasoning_shared:Extractor")
    custom = site.candor.agent_catalog.get("Skeptic").custom
    assert custom
    assert custom.listens_to == ("missing_reported", "reasoning_shared:Extractor")
