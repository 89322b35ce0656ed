"""The keys page and the sign-in page."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Page, expect

from api.auth.keys import KeyRequest
from api.auth.permissions import Right
from api.settings import ServiceSettings
from support.viewer import COLD, OpenPage, Site, answered, confirm
from support.waiting import LIMIT_S


@pytest.fixture
def protected(site: Site) -> Iterator[Site]:
    """The service, which requires a key even on localhost."""
    site.stop()
    site.start(service=ServiceSettings(require_key=True))
    yield site
    site.stop()
    site.start()


def sign_in(page: Page, key: str) -> None:
    page.get_by_label("Key", exact=True).fill(key)
    page.get_by_role("button", name="Sign in").click()


def test_a_key_is_created_shown_once_and_revoked(open_page: OpenPage, site: Site) -> None:
    page = open_page("keys")
    page.locator("summary").filter(has_text="Create a key").click()
    page.get_by_label("Name").fill("Reading room")
    page.locator("select[name=collection]").select_option("pumps")
    page.get_by_label("Bytes uploaded per day").fill("5000000")
    page.get_by_role("button", name="Create a key").click()
    secret = page.locator(".secret code").inner_text()
    me = httpx.get(f"{site.url}v1/me", headers={"Authorization": f"Bearer {secret}"}, timeout=LIMIT_S).json()
    assert (me["name"], me["rights"]) == ("Reading room", {"pumps": "read"})
    row = page.locator("tr").filter(has_text="Reading room")
    expect(row).to_contain_text("read pumps")
    expect(row).to_contain_text("5,000,000 bytes uploaded per day")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390, "only the table scrolls sideways"
    page.reload()
    expect(row).to_be_visible()
    expect(page.locator("main")).not_to_contain_text(secret)
    row.get_by_role("button", name="Revoke").click()
    confirm(page, "Revoke")
    expect(row.locator(".badge")).to_have_text("revoked")
    refused = httpx.get(f"{site.url}v1/me", headers={"Authorization": f"Bearer {secret}"}, timeout=LIMIT_S)
    assert refused.status_code == 401


def test_a_key_for_the_box_on_another_site_is_shown_as_its_element(open_page: OpenPage, site: Site) -> None:
    page = open_page("keys")
    page.locator("summary").filter(has_text="Create a key").click()
    page.get_by_label("Name").fill("Our shop")
    page.locator("select[name=collection]").select_option("pumps")
    page.locator("select[name=right]").select_option("ask")
    page.get_by_label("Sites that may only ask").fill("https://www.example.org, https://example.org")
    page.get_by_role("button", name="Create a key").click()
    expect(page.locator(".secret code")).to_have_text(
        re.compile(rf'<script src="{site.url}widget.js" data-key="candor_')
    )
    row = page.locator("tr").filter(has_text="Our shop")
    expect(row).to_contain_text("ask pumps")
    expect(row).to_contain_text("https://www.example.orghttps://example.org")


def test_the_viewer_works_with_a_key_until_it_is_revoked(open_page: OpenPage, protected: Site) -> None:
    created = protected.candor.keys.add(KeyRequest(name="Reading room", rights={"pumps": Right.READ}))
    page = open_page("documents")
    sign_in(page, "candor_wrong")
    expect(page.get_by_role("alert")).to_contain_text("key")
    sign_in(page, created.secret)
    expect(page.locator("tr").filter(has_text="pump.md")).to_be_visible()
    expect(page.get_by_role("button", name="Delete")).to_have_count(0)
    expect(page.get_by_role("link", name="Keys")).to_be_hidden()
    page.get_by_role("link", name="Ask").click()
    answered(page)  # the event stream needs the key, too
    page.locator(".claims .mark").first.click()
    expect(page.locator("#panel mark.current")).to_have_text(COLD)
    protected.candor.keys.revoke(created.key.id)
    page.get_by_role("link", name="Runs").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(page.locator("main")).to_contain_text("no longer valid")
    expect(page.locator("main")).not_to_contain_text(COLD)
    expect(page.locator("#panel")).to_be_hidden()


def test_signing_out_removes_the_key(open_page: OpenPage, protected: Site) -> None:
    created = protected.candor.keys.add(KeyRequest(name="The owner", rights={"*": Right.ADMIN}))
    page = open_page("runs")
    sign_in(page, created.secret)
    expect(page.get_by_text("The owner")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0
