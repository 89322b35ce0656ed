"""Citations outside of the answer: the address of a quote, the clipboard, and paper."""

from __future__ import annotations

import re
from io import BytesIO

import pdfplumber
from playwright.sync_api import Page, Route, expect

from support.panel import Panel
from support.viewer import COLD, QUESTION, WARRANTY, OpenPage, Site, answered

READ_CLIPBOARD = """async () => {
    const [item] = await navigator.clipboard.read();
    const texts = await Promise.all(["text/plain", "text/html"].map(async (type) => (await item.getType(type)).text()));
    return texts;
}"""


def open_run(page: Page) -> str:
    """Ask, open the page of the run, and return its address without the host."""
    answered(page)
    page.get_by_role("link", name="Full trace").click()
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    return page.url.partition("#")[2]


def test_the_address_names_the_open_quote(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel("-25 °C", "seven years")
    page = open_page()
    address = open_run(page)
    current = page.locator("#panel mark.current")
    page.locator(".claims .mark").first.click()
    expect(current).to_have_text(COLD)
    expect(page).to_have_url(re.compile(f"#{address}/1$"))
    page.keyboard.press("n")
    expect(current).to_have_text(WARRANTY)
    expect(page).to_have_url(re.compile(f"#{address}/2$"))
    page.go_back()
    expect(page.locator("#panel")).to_be_hidden()
    expect(page).to_have_url(re.compile(f"#{address}$"))
    page.go_forward()
    expect(current).to_have_text(WARRANTY)
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile(f"#{address}$"))


def test_an_address_opens_its_quote_on_the_page_of_the_run(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel("-25 °C", "seven years")
    address = open_run(open_page()).removeprefix("/")
    page = open_page(f"{address}/2")
    expect(page.locator("#panel mark.current")).to_have_text(WARRANTY)
    page = open_page(f"{address}/99")
    expect(page.locator("#panel")).to_contain_text("This answer has no quote 99. It has 2 quotes.")


def test_evidence_without_pages_shows_its_section(open_page: OpenPage) -> None:
    page = open_page()

    def in_a_section(route: Route) -> None:
        response = route.fetch()
        run = response.json()
        if answer := run["answer"]:
            answer["evidence"][0]["section"] = ["In winter", "Limits"]
        route.fulfill(response=response, json=run)

    page.route(re.compile(r"/v1/runs/run_[0-9a-f]+$"), in_a_section)
    answered(page)
    expect(page.locator(".answer .sources .where")).to_have_text("[1] pump.md, § In winter › Limits")
    page.locator(".claims .mark").first.click()
    expect(page.locator("#panel .facts")).to_contain_text("§ In winter › Limits")


def test_an_answer_is_copied_with_its_citations(open_page: OpenPage, site: Site) -> None:
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    address = open_run(page)
    page.get_by_role("button", name="Copy with citations").click()
    expect(page.get_by_role("status").filter(has_text="Copied")).to_be_visible()
    text, html = page.evaluate(READ_CLIPBOARD)
    assert re.search(r"\[1\] \[not checked\]\n\nSources:\n\[1\] pump\.md: “It works down to -25 °C", text)
    assert f'<a href="{site.url}#{address}/1">[1]</a>' in html
    assert "<strong>Sources</strong>" in html
    assert COLD in html


def test_paper_shows_the_answer_and_its_evidence_only(open_page: OpenPage) -> None:
    page = open_page()
    open_run(page)
    page.locator(".claims .mark").first.click()
    expect(page.locator("#panel mark.current")).to_have_text(COLD)
    with pdfplumber.open(BytesIO(page.pdf(format="A4"))) as pdf:
        printed = " ".join(" ".join(each.extract_text() for each in pdf.pages).split())
    for shown in (QUESTION, "[1]", COLD, "pump.md"):
        assert shown in printed, shown
    for hidden in ("Timeline", "Save as", "Documents", "Runs", "Copy with citations"):
        assert hidden not in printed, hidden


def test_a_pdf_is_saved_from_the_page(open_page: OpenPage) -> None:
    page = open_page()
    answered(page)
    with page.expect_download() as saved:
        page.get_by_role("button", name="PDF").click()
    assert saved.value.suggested_filename.endswith(".pdf")
    with pdfplumber.open(saved.value.path()) as pdf:
        assert COLD in " ".join((pdf.pages[0].extract_text()).split())
