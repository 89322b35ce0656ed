"""Page languages: chosen by the browser or the person, right to left for Arabic, and never too wide for a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from support.viewer import COLD, QUESTION, OpenPage, Site, violations

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
PAGES = ("", "search", "runs", "documents", "tables", "evaluations", "settings", "agents", "memory", "models", "keys")
MOST = 160_000  # bytes of the first view in another language, whose messages are 20 kB of it


def answered(page: Page) -> None:
    """Ask by the names of the fields, and wait for the answer in any language."""
    page.locator("select[name=collection]").select_option("pumps")
    page.locator("details.options summary").first.click()
    page.locator("textarea[name=question]").fill(QUESTION)
    page.locator("select[name=mode]").select_option("high")
    page.locator("form.ask button.main").click()
    expect(page.locator("section.answer:not(.draft)")).to_be_visible()


def test_a_german_browser_gets_a_german_page(open_page: OpenPage) -> None:
    page = open_page(locale="de-AT")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.locator("html")).to_have_attribute("dir", "ltr")
    expect(page.get_by_role("link", name="Dokumente", exact=True)).to_be_visible()
    answered(page)
    expect(page.locator(".live .badge").first).to_have_text("beantwortet")
    expect(page.locator(".answer .facts").first).to_contain_text("Modus gründlich")
    expect(page.locator(".answer .claims")).to_contain_text("-25")  # the answer stays in its own language
    page.locator(".answer .mark").first.click()
    expect(page.locator("#panel h2").first).to_have_text("Belege [1]")
    expect(page.locator("#panel mark.current")).to_have_text(COLD)
    assert violations(page) == []


def test_arabic_runs_from_right_to_left(open_page: OpenPage) -> None:
    page = open_page(locale="ar", **PHONE)
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    expect(page.get_by_role("link", name="المستندات", exact=True)).to_be_visible()
    brand = page.locator(".brand").bounding_box()
    assert brand
    assert brand["x"] > 195  # the header begins at the right
    answered(page)
    assert violations(page) == []
    page.locator(".answer .mark").first.tap()
    quote = page.locator("#panel blockquote")
    expect(quote).to_contain_text(COLD)
    assert quote.evaluate("each => getComputedStyle(each).unicodeBidi") == "plaintext"  # the quote stays left to right
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_chosen_language_stays(open_page: OpenPage) -> None:
    page = open_page()
    page.get_by_role("combobox", name="Language").select_option("fr")
    expect(page.locator("html")).to_have_attribute("lang", "fr")
    page.reload()
    expect(page.get_by_role("link", name="Exécutions", exact=True)).to_be_visible()
    page.get_by_role("combobox", name="Langue").select_option("en")
    expect(page.get_by_role("link", name="Runs", exact=True)).to_be_visible()


def test_the_page_is_english_if_its_messages_do_not_arrive(open_page: OpenPage) -> None:
    page = open_page(locale="de-DE")
    expect(page.get_by_role("link", name="Dokumente", exact=True)).to_be_visible()
    page.route("**/messages/de.json", lambda route: route.abort())
    page.reload()
    expect(page.get_by_role("link", name="Documents", exact=True)).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "en")


def test_the_first_view_stays_small(open_page: OpenPage) -> None:
    page = open_page(locale="ar")
    expect(page.locator("textarea[name=question]")).to_be_visible()
    page.wait_for_load_state("networkidle")
    sizes = "performance.getEntries().reduce((sum, each) => sum + (each.transferSize ?? 0), 0)"
    assert 0 < page.evaluate(sizes) <= MOST


@pytest.mark.parametrize("locale", ["de", "ar"])
def test_no_page_is_wider_than_a_phone(open_page: OpenPage, site: Site, locale: str) -> None:
    page = open_page(locale=locale, **PHONE)
    found = {}
    for path in PAGES:
        page.goto(f"{site.url}#/{path}")
        expect(page.locator(f"nav a[href='#/{path}']").last).to_have_attribute("aria-current", "page")
        expect(page.locator("main h1").first).to_be_attached()
        expect(page.locator("main .loading")).to_have_count(0)
        found[path] = (page.evaluate("document.documentElement.scrollWidth"), violations(page))
    assert found == dict.fromkeys(PAGES, (390, []))
