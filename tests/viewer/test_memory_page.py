"""The memory page: preferences and conversations. ``test_plans.py`` tests saved plans."""

from __future__ import annotations

import httpx
from playwright.sync_api import expect

from support.viewer import QUESTION, OpenPage, Site, confirm
from support.waiting import LIMIT_S


def test_a_preference_is_added_edited_and_deleted(open_page: OpenPage, site: Site) -> None:
    page = open_page("memory")
    preferences = page.get_by_role("region", name="Preferences")
    preferences.locator("summary").filter(has_text="New entry").click()
    preferences.get_by_label("Text", exact=True).fill("Answer in German.")
    preferences.get_by_role("button", name="Add", exact=True).click()
    entry = preferences.locator("li")
    expect(entry).to_contain_text("Answer in German.")
    entry.locator("summary").click()
    entry.get_by_label("Text", exact=True).fill("Answer in short sentences.")
    entry.get_by_role("button", name="Save").click()
    expect(entry).to_contain_text("Answer in short sentences.")
    assert [each.text for each in site.candor.memories.entries("")] == ["Answer in short sentences."]
    entry.get_by_role("button", name="Delete").click()
    confirm(page, "Delete")
    expect(entry).to_have_count(0)


def test_a_conversation_is_listed_and_deleted(open_page: OpenPage, site: Site) -> None:
    asked = {"question": QUESTION, "session": "monday"}
    assert httpx.post(f"{site.url}v1/research", json=asked, timeout=LIMIT_S).is_success
    page = open_page("memory")
    conversations = page.get_by_role("region", name="Conversations")
    conversations.locator("summary").filter(has_text=QUESTION).click()
    expect(conversations).to_contain_text("It says so")
    conversations.get_by_role("button", name="Delete").click()
    confirm(page, "Delete")
    expect(conversations).to_have_count(0)
