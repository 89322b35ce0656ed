"""A report on the page: its sections with their claims, notes and runs."""

from __future__ import annotations

import json

import httpx
from playwright.sync_api import expect

from support.panel import TRIAGE, Panel, triage
from support.viewer import COLD, OpenPage, Site
from support.waiting import LIMIT_S


def test_a_report_has_its_sections_as_headings(open_page: OpenPage, site: Site) -> None:
    roles = {
        TRIAGE: lambda request: json.dumps(triage(request)),
        "FindingsAnalysis": lambda _: json.dumps({"points": []}),
    }
    site.responder = Panel(COLD, roles=roles)
    sections = [
        {"title": "Frost", "question": "How cold may it get?"},
        {"title": "Soup", "question": "How hot is the soup?"},
    ]
    asked = {"question": "What is known?", "collection": "pumps", "report": {"sections": sections}}
    answer = httpx.post(f"{site.url}v1/research", json=asked, timeout=LIMIT_S).json()
    frost = answer["sections"][1]
    page = open_page(f"runs/{answer['run_id']}")
    shown = page.get_by_role("region", name="Answer", exact=True)
    section = shown.get_by_role("region", name="Frost", exact=True)
    expect(section.get_by_role("heading", name="Frost")).to_be_visible()
    expect(section.locator(".claim")).to_have_count(frost["claims"])
    expect(section.get_by_role("link")).to_have_attribute("href", f"#/runs/{frost['run']}")
    expect(shown.get_by_role("region", name="Soup", exact=True)).to_be_visible()
    expect(shown.locator(".claim")).to_have_count(len(answer["claims"]))
