"""The documentation of the REST API at /docs, in a browser that reaches no other host."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from support.viewer import Site
from support.waiting import LIMIT_S


def test_the_documentation_works_offline(browser: Browser, site: Site) -> None:
    context = browser.new_context()
    context.set_default_timeout(LIMIT_S * 1000)
    page = context.new_page()
    foreign, violations = [], []
    page.on("request", lambda request: request.url.startswith((site.url, "data:")) or foreign.append(request.url))
    page.on("console", lambda message: violations.append(message.text) if message.type == "error" else None)
    page.goto(f"{site.url}docs")
    expect(page.get_by_role("heading", name="Candor")).to_be_visible(timeout=LIMIT_S * 1000)
    ask = page.locator(".opblock").filter(has_text="/v1/research").first
    ask.locator(".opblock-summary-control").click()
    expect(ask).to_contain_text("The run failed")
    context.close()
    assert (foreign, violations) == ([], [])
