"""Questions to several agents: the choice in the form, the vote, and each agent's task in the trace."""

from __future__ import annotations

import httpx
from playwright.sync_api import expect

from support.panel import Panel
from support.viewer import OpenPage, Site, ask
from support.waiting import LIMIT_S

PIRATE = {
    "name": "Pirate",
    "description": "Answers as a pirate would.",
    "gives": "answer",
    "prompt": "# System\nYou are a pirate.\n# User\nAhoy: $question\n\n$passages\n",
}


def test_a_vote_and_the_tasks_are_shown(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel("-25 °C")
    assert httpx.post(f"{site.url}v1/agents", json=PIRATE, timeout=LIMIT_S).status_code == 201
    page = open_page()
    ask(page, mode="agents:@all")
    answer = page.get_by_role("region", name="Answer", exact=True)
    answer.get_by_text("Vote", exact=True).click()
    expect(answer.locator(".vote")).to_contain_text("Pirate, Reader")
    page.locator(".tree .step a").first.click()
    expect(page.get_by_text("Pirate · run_")).to_be_visible()
    expect(page.get_by_text("Reader · run_")).to_be_visible()
