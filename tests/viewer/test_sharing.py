"""Sharing an answer by a link: what the link shows, and that it opens nothing else."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import httpx
from playwright.sync_api import expect

from support.panel import Panel
from support.viewer import SOUND, OpenPage, Site, ask, confirm, violations
from support.waiting import LIMIT_S, until

OTHERS = ("v1/me", "v1/runs", "v1/collections", "v1/search", "v1/agents", "v1/setup/model", "mcp", "v1/keys")


def test_a_link_opens_one_answer_with_its_pages_until_it_is_revoked(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel("52 decibels")
    page = open_page()
    ask(page, "How loud is it?")
    expect(page.locator(".live .badge").first).to_have_text("answered")
    page.get_by_role("button", name="Share a link …").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Expires").select_option("7")
    dialog.get_by_role("button", name="Create a link").click()
    link = dialog.locator("code").inner_text()
    assert violations(page) == []
    shared = open_page(at=link)
    expect(shared.get_by_role("heading", name="How loud is it?")).to_be_visible()
    expect(shared.get_by_text(SOUND).first).to_be_visible()
    picture = shared.get_by_role("img", name="The page with the quote")
    shown = picture.evaluate("each => each.complete && each.naturalWidth > 3 * each.naturalHeight")
    assert shown, "the lines around the quote, not the whole page"
    assert violations(shared) == []
    file = httpx.get(f"{site.url}v1/runs/{page.url.rpartition('/')[2]}/export?format=html", timeout=LIMIT_S).text
    assert file.count('src="data:image/png;base64,') == shared.locator("img").count()
    secret = link.rpartition("/")[2]
    with httpx.Client(base_url=site.url, timeout=LIMIT_S, headers={"Authorization": f"Bearer {secret}"}) as http:
        assert {http.get(path).status_code for path in OTHERS} == {403}
        assert http.post("v1/search", json={"query": "pump", "collection": "pumps"}).status_code == 403
    audit = httpx.get(f"{site.url}v1/audit", timeout=LIMIT_S)
    assert "GET /shared/{key}" in audit.text
    assert secret not in audit.text
    dialog.get_by_role("link", name="Keys").click()
    row = page.locator("tr").filter(has_text="Link: How loud is it?")
    expect(row.get_by_role("link", name="shares one answer")).to_have_attribute("href", re.compile(r"^#/runs/run_"))
    row.get_by_role("button", name="Revoke").click()
    confirm(page, "Revoke")
    expect(row).to_contain_text("revoked")
    assert httpx.get(link, timeout=LIMIT_S).status_code == 401


def test_a_link_ends_with_its_date_and_needs_the_right_to_read_the_run(open_page: OpenPage, site: Site) -> None:
    page = open_page()
    ask(page, "How cold may it get?")
    expect(page.locator(".live .badge").first).to_have_text("answered")
    run = page.url.rpartition("/")[2]
    wanted = {"name": "Link", "rights": {"pumps": "admin"}, "run_id": run}
    with httpx.Client(base_url=site.url, timeout=LIMIT_S) as http:
        soon = (datetime.now(UTC) + timedelta(seconds=4)).isoformat()
        link = http.post("v1/keys", json={**wanted, "expires_at": soon}).json()
        assert link["key"]["rights"] == {"pumps": "read"}
        assert http.get(f"shared/{link['secret']}").is_success
        until(lambda: http.get(f"shared/{link['secret']}").status_code == 401)
        assert http.post("v1/keys", json={**wanted, "run_id": "run_of_nobody"}).status_code == 404
        normal = http.post("v1/keys", json={"name": "Reader", "rights": {"pumps": "read"}}).json()["secret"]
        assert http.get(f"shared/{normal}").status_code == 403
