"""The settings, the theme, and the addresses of the pages that the settings group."""

from __future__ import annotations

from playwright.sync_api import Page, Route, expect

from support.viewer import OpenPage

BACKGROUND = "getComputedStyle(document.body).backgroundColor"
LIGHT, DARK = "rgb(251, 251, 250)", "rgb(21, 24, 26)"


def background(page: Page) -> str:
    return str(page.evaluate(BACKGROUND))


def test_a_chosen_theme_is_kept_and_the_system_decides_otherwise(open_page: OpenPage) -> None:
    page = open_page("settings", color_scheme="dark")
    colors = page.get_by_label("Colors")
    expect(colors).to_have_value("")
    assert background(page) == DARK
    colors.select_option("light")
    assert background(page) == LIGHT
    page.reload()
    expect(colors).to_have_value("light")
    assert background(page) == LIGHT
    page.emulate_media(color_scheme="light")
    colors.select_option("dark")
    assert background(page) == DARK
    colors.select_option("")
    assert background(page) == LIGHT


def test_settings_group_agents_memory_and_keys(open_page: OpenPage) -> None:
    page = open_page()
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Settings").click()
    expect(page.get_by_role("heading", name="Settings", level=1)).to_be_visible()
    for name in ("Agents", "Memory", "Keys"):
        page.get_by_role("navigation", name="Settings").get_by_role("link", name=name).click()
        expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
        assert page.url.endswith(f"#/{name.lower()}"), "the address of before"
        expect(page.get_by_role("link", name="Settings", exact=True)).to_have_attribute("aria-current", "page")
    page.get_by_role("link", name="Runs").click()
    expect(page.get_by_role("navigation", name="Settings")).to_be_hidden()


def test_a_link_clicked_before_the_page_knows_its_user_is_followed(open_page: OpenPage) -> None:
    """Without a check, the settings page read the user's rights before `GET /v1/me` had answered."""
    page = open_page()
    held: list[Route] = []
    page.route("**/v1/me", lambda route: held.append(route))  # Playwright rejects a built-in method
    page.reload()
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Settings").click()
    page.wait_for_url("**/#/settings")
    expect(page.get_by_role("heading", name="Settings", level=1)).to_be_hidden()
    held[0].continue_()
    expect(page.get_by_role("heading", name="Settings", level=1)).to_be_visible()
