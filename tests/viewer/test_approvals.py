"""Tool calls that need approval are approved, edited or refused in the viewer."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from multi_agent.settings.research import ResearchSettings
from multi_agent.settings.tools import ToolSettings
from support.effects.effects import LOG
from support.effects.effects import PACKAGE as TOOLS
from support.handyman import calls, report, rounds
from support.launching.launcher import PACKAGE as AGENTS
from support.viewer import OpenPage, Site, ask


@pytest.fixture(scope="module")
def restarted(served: Site) -> Site:
    """The service with an agent that calls the dangerous tool ``launch``, for all tests of this module."""
    served.stop()
    served.start(
        tools=ToolSettings(packages=(TOOLS,)), research=ResearchSettings(agent_packages=(AGENTS,), sources=("tools",))
    )
    return served


@pytest.fixture
def launching(restarted: Site, site: Site) -> Site:
    site.responder = rounds(calls(("launch", {"what": "rocket"})), last=report("Reported."))
    return restarted


def request_launch(page: Page) -> Locator:
    """Ask the agent and return its approval card."""
    ask(page, mode="agent:Handyman")
    card = page.get_by_role("region", name="Approval of launch")
    expect(card).to_contain_text("Handyman wants to call launch")
    expect(card).to_contain_text("It helps.")
    expect(card).to_contain_text("Refused automatically in")
    return card


def launched(site: Site, page: Page) -> list[str]:
    sandbox = site.candor.tools.sandbox(page.url.rsplit("/", 1)[-1])
    return sandbox.read(LOG).decode().split() if sandbox.names() else []


def expect_finished(page: Page) -> None:
    expect(page.get_by_role("region", name="Approval of launch")).to_have_count(0)
    expect(page.get_by_role("region", name="Answer", exact=True)).to_be_visible()


def test_a_call_is_approved_unchanged(open_page: OpenPage, launching: Site) -> None:
    page = open_page()
    request_launch(page).get_by_role("button", name="Approve").click()
    expect_finished(page)
    assert launched(launching, page) == ["rocket"]
    page.get_by_role("link", name="Full trace").click()
    page.locator("summary").filter(has_text="Files written by tools").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name=LOG, exact=True).click()
    assert saved.value.path().read_text() == "rocket"
    page.get_by_role("button", name=f"Add to collection: {LOG}").click()
    expect(page.locator(".job")).to_contain_text("1 document indexed")
    [kept] = [each for each in launching.candor.ledger.list("pumps") if each.name == LOG]
    assert "url" not in kept.metadata, "a tool wrote it"


def test_a_reader_sees_files_but_cannot_add_them(open_page: OpenPage, launching: Site) -> None:
    page = open_page()
    request_launch(page).get_by_role("button", name="Approve").click()
    expect_finished(page)
    page.route(
        "**/v1/me",
        lambda route: route.fulfill(json={"key": "", "name": "r", "rights": {"pumps": "read"}, "owner": False}),
    )
    page.get_by_role("link", name="Full trace").click()
    page.reload()
    page.locator("summary").filter(has_text="Files written by tools").click()
    expect(page.get_by_role("button", name=LOG, exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Add to collection")).to_have_count(0)


def test_a_call_is_approved_with_other_arguments(open_page: OpenPage, launching: Site) -> None:
    page = open_page()
    card = request_launch(page)
    card.get_by_label("Arguments").fill("{not JSON")
    card.get_by_role("button", name="Approve as edited").click()
    expect(card.get_by_role("alert")).to_contain_text("The arguments are not valid JSON")
    card.get_by_label("Arguments").fill('{"what": 3}')
    card.get_by_role("button", name="Approve as edited").click()
    expect(card.get_by_role("alert")).to_contain_text("what")
    card.get_by_label("Arguments").fill('{"what": "balloon"}')
    card.get_by_role("button", name="Approve as edited").click()
    expect_finished(page)
    assert launched(launching, page) == ["balloon"]


def test_a_refused_call_is_shown_in_its_step(open_page: OpenPage, launching: Site) -> None:
    page = open_page()
    request_launch(page)
    page.get_by_role("link", name="Full trace").click()
    page.get_by_role("region", name="Approval of launch").get_by_role("button", name="Refuse").click()
    expect_finished(page)
    assert launched(launching, page) == []
    page.locator(".timeline a").first.click()
    expect(page.locator("#panel")).to_contain_text("launch: refused")


def test_approvals_have_a_page_and_a_count_in_the_header(open_page: OpenPage, launching: Site) -> None:
    page = open_page()
    request_launch(page)
    run = page.url.rsplit("/", 1)[-1]
    link = page.get_by_role("navigation", name="Pages").get_by_role("link", name="Approvals")
    expect(link.locator(".count")).to_have_text("1")
    link.click()
    expect(page.get_by_role("heading", name="Approvals", level=1)).to_be_visible()
    card = page.get_by_role("region", name="Approval of launch")
    expect(card).to_contain_text("Handyman wants to call launch")
    expect(card.get_by_role("link", name="View run")).to_have_attribute("href", f"#/runs/{run}")
    card.get_by_role("button", name="Approve").click()
    expect(page.locator("main")).to_contain_text("No call waits for approval")
    expect(link.locator(".count")).to_have_count(0)
