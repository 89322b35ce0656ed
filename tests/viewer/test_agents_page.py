"""The agents page: agents and skills are listed, added, edited and removed."""

from __future__ import annotations

from playwright.sync_api import expect

from support.viewer import OpenPage, Site, confirm

PROMPT = "# System\nYou know warranties.\n# User\n$question\n\n$evidence\n"


def test_an_agent_is_added_edited_disabled_and_removed(open_page: OpenPage, site: Site) -> None:
    page = open_page("agents")
    page.locator("summary").filter(has_text="Add an agent").click()
    page.get_by_role("textbox", name="Name").fill("Warrantor")
    page.get_by_role("textbox", name="Description").fill("Knows warranties.")
    page.get_by_role("textbox", name="Prompt").fill("# System\nYou know $nothing.\n# User\n$question\n")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("$nothing")
    page.get_by_role("textbox", name="Prompt").fill(PROMPT)
    page.get_by_role("button", name="Add", exact=True).click()
    card = page.locator(".cards li").filter(has_text="Warrantor")
    expect(card).to_contain_text("Knows warranties.")
    card.locator("summary").filter(has_text="Edit").click()
    card.get_by_role("textbox", name="Description").fill("Knows all warranties.")
    card.get_by_role("button", name="Save").click()
    expect(card).to_contain_text("Knows all warranties.")
    card.get_by_role("button", name="Disable").click()
    expect(card.locator(".badge")).to_have_text("disabled")
    assert not site.candor.agent_catalog.get("Warrantor").enabled
    card.get_by_role("button", name="Remove").click()
    confirm(page, "Remove")
    expect(card).to_have_count(0)


def test_a_skill_is_given_to_an_agent(open_page: OpenPage, site: Site) -> None:
    page = open_page("agents")
    page.locator("summary").filter(has_text="Add a skill").click()
    page.get_by_role("textbox", name="Name").fill("plain-words")
    page.get_by_role("textbox", name="Instructions").fill("Write short sentences.")
    page.get_by_role("button", name="Add", exact=True).click()
    card = page.locator(".cards li").filter(has=page.get_by_text("Reader", exact=True))
    card.locator("summary").filter(has_text="Details").click()
    for skills in (("plain-words",), ()):
        with page.expect_response("**/v1/agents/Reader") as changed:
            card.get_by_label("plain-words").click()
        assert changed.value.ok
        assert site.candor.agent_catalog.get("Reader").options.skills == skills
        expect(card.get_by_label("plain-words")).to_be_checked(checked=bool(skills))
