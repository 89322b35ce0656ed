"""Follow-up questions on the ask page, which shows the completed question."""

from __future__ import annotations

import json

from playwright.sync_api import expect

from support.panel import COMPLETION, Panel
from support.scripted_endpoint import Request
from support.viewer import QUESTION, OpenPage, Site, answered, ask

COMPLETED = "How cold may it get where the Borea 12 stands in winter?"


def test_a_follow_up_question_shows_what_it_was_understood_as(open_page: OpenPage, site: Site) -> None:
    def complete(request: Request) -> str:
        assert QUESTION in request.prompt, "the question before"
        return json.dumps({"question": COMPLETED})

    site.responder = Panel("-25 °C", roles={COMPLETION: complete})
    page = open_page()
    page.get_by_label("Continue the conversation").check()
    answered(page)
    understood = page.get_by_text("Understood from the conversation as:")
    expect(understood).to_have_count(0)
    ask(page, "And in winter?")
    expect(page.get_by_role("heading", name="And in winter?")).to_be_visible()
    expect(understood).to_contain_text(COMPLETED)
    expect(page.locator(".live .badge").first).to_have_text("answered")
    page.get_by_role("link", name="Full trace").click()
    expect(understood).to_contain_text(COMPLETED)
    expect(page.locator(".event.question_completed")).to_contain_text(COMPLETED)
