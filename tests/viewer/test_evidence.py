"""The marks of an answer open the evidence behind it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from support.panel import Panel
from support.reckoner import CLAIM, QUESTION, RECKONER, reckoning
from support.viewer import COLD, HOSTILE, SOUND, WARRANTY, OpenPage, Site, answered, ask, open_options
from support.waiting import LIMIT_S


def test_a_mark_opens_its_quote_highlighted_in_the_document(open_page: OpenPage) -> None:
    page = open_page()
    answered(page)
    page.locator(".claims .mark").first.click()
    expect(page).to_have_url(re.compile("/1$"))  # the panel is open before, without an address
    panel = page.get_by_role("complementary", name="Details")
    expect(panel.locator("mark.current")).to_have_text(COLD)
    expect(panel.locator("mark.current")).to_be_in_viewport()
    expect(panel.locator(".document")).to_contain_text(WARRANTY)
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(page.locator(".claims .mark").first).to_be_focused()


def test_the_url_of_a_quote_opens_it(open_page: OpenPage) -> None:
    """Chat clients get such URLs with an answer."""
    page = open_page()
    answered(page)
    page.goto(f"{page.url}/1")
    expect(page.locator("#panel mark.current")).to_have_text(COLD)


def test_keys_lead_to_the_next_and_previous_quote(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel("-25 °C", "seven years")
    page = open_page()
    answered(page)
    page.locator(".claims .mark").first.click()
    current = page.locator("#panel mark.current")
    expect(current).to_have_text(COLD)
    page.keyboard.press("n")
    expect(current).to_have_text(WARRANTY)
    expect(page.locator("#panel mark")).to_have_count(2)
    page.keyboard.press("p")
    expect(current).to_have_text(COLD)


def test_a_computation_opens_its_query_and_result(open_page: OpenPage, site: Site) -> None:
    page = open_page()

    def with_computation(route: Route) -> None:
        response = route.fetch()
        run = response.json()
        if answer := run["answer"]:
            answer["claims"][0]["computations"] = [1]
            answer["computations"] = [
                {
                    "number": 1, "purpose": "How many there are", "sql": "SELECT count(*) AS n FROM records",
                    "columns": ["n"], "rows": [[2], [None]], "truncated": True, "evidence": answer["evidence"],
                    "flaws": ["'many' is no number"],
                }
            ]  # fmt: skip
        route.fulfill(response=response, json=run)

    page.route(re.compile(r"/v1/runs/run_[0-9a-f]+$"), with_computation)
    answered(page)
    page.get_by_role("button", name="[C1]", exact=True).click()
    panel = page.locator("#panel")
    expect(panel.locator(".sql")).to_have_text("SELECT count(*) AS n FROM records")
    expect(panel.locator("tbody td")).to_have_text(["2", "null"])
    expect(panel).to_contain_text("The result was truncated")
    panel.locator(".source").first.click()
    expect(panel.locator("mark.current")).to_have_text(COLD)


def test_a_quote_of_a_pdf_is_marked_on_its_page(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel("52 decibels")
    page = open_page()
    answered(page)
    sheet = page.get_by_role("region", name="Page of the document")
    box = sheet.locator(".box.current")
    expect(box).to_be_in_viewport()
    assert count_dark_pixels(page) > 100
    before = width_of(page, ".sheet")
    page.get_by_role("button", name="Zoom in").click()
    assert width_of(page, ".sheet") > before
    expect(box).to_be_in_viewport()
    page.get_by_role("button", name="Next page").click()
    expect(page.locator("#panel")).to_contain_text("page 2 of 2")
    expect(box).to_have_count(0)
    page.get_by_role("button", name="Text", exact=True).click()
    expect(page.locator("#panel mark.current")).to_have_text(SOUND)


def width_of(page: Page, selector: str) -> float:
    box = page.locator(f"#panel {selector}").bounding_box()
    assert box
    return box["width"]


def test_the_cited_page_is_beside_the_answer_and_large_enough_to_read(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel("52 decibels")
    page = open_page()
    answered(page)
    expect(page.locator("#panel .box.current")).to_be_in_viewport(ratio=1)
    expect(page.locator(".answer .claims")).to_be_in_viewport()
    expect(page.locator("#panel:focus-within")).to_have_count(0)
    assert width_of(page, ".sheet") > 1.2 * width_of(page, ".frame"), "zoomed to the sentence"
    page.keyboard.press("Escape")
    expect(page.locator("#panel")).to_be_hidden()
    phone = open_page(page.url.partition("#/")[2], viewport={"width": 390, "height": 844})
    expect(phone.locator(".answer .claims")).to_be_visible()
    expect(phone.locator("#panel")).to_be_hidden()


def count_dark_pixels(page: Page) -> int:
    """Count the dark pixels of the page image inside the mark of the quote."""
    script = """() => {
        const [canvas, box] = ["canvas", ".box.current"].map((each) => document.querySelector(`#panel ${each}`));
        const [page, mark] = [canvas, box].map((each) => each.getBoundingClientRect());
        const scale = canvas.width / page.width;
        const place = [mark.left - page.left, mark.top - page.top, mark.width, mark.height].map((each) => each * scale);
        const {data} = canvas.getContext("2d").getImageData(...place);
        return data.filter((value, at) => at % 4 === 0 && value < 100).length;
    }"""
    return int(page.evaluate(script))


def test_the_result_of_a_tool_is_chosen_shown_and_opened(open_page: OpenPage, site: Site) -> None:
    site.candor.agent_catalog.add(RECKONER)
    site.responder = reckoning()
    page = open_page()
    open_options(page)
    page.get_by_label("Results of tools").check()
    ask(page, QUESTION, mode="agent:Reckoner")
    expect(page.locator(".claims")).to_contain_text(CLAIM)
    expect(page.locator(".answer .sources .where")).to_have_text(
        '[1] result of calculator {"expression":"2340 * 0.17"}'
    )
    page.locator(".claims .mark").first.click()
    panel = page.locator("#panel")
    expect(panel.locator("mark.current")).to_have_text("397.8")
    expect(panel).to_contain_text("result of calculator")
    site.candor.agent_catalog.remove("Reckoner")


def test_a_hostile_web_page_is_shown_as_text_with_its_address_and_time(open_page: OpenPage, site: Site) -> None:
    page = open_page()
    text = f"{HOSTILE} {COLD}"
    origin = {"kind": "web", "url": "https://forum.example/t/7", "read_at": "2026-11-22T09:30:00Z"}

    def from_the_web(route: Route) -> None:
        response = route.fetch()
        run = response.json()
        if answer := run["answer"]:
            answer["evidence"] = [
                {**answer["evidence"][0], "quote": HOSTILE, "start": 0, "end": len(HOSTILE), "origin": origin}
            ]
        route.fulfill(response=response, json=run)

    kept = {"number": 1, "state": "found", "text": text, "start": 0, "length": len(text), "pages": [], "marked": []}
    page.route(re.compile(r"/v1/runs/run_[0-9a-f]+$"), from_the_web)
    page.route(re.compile(r"/v1/runs/run_[0-9a-f]+/evidence\?"), lambda route: route.fulfill(json=[kept]))
    answered(page)
    page.locator(".claims .mark").first.click()
    panel = page.locator("#panel")
    expect(panel.locator("mark.current")).to_have_text(HOSTILE)
    expect(panel).to_contain_text("web page https://forum.example/t/7")
    expect(panel).to_contain_text("read at")
    expect(panel.locator("script, img")).to_have_count(0)
    assert page.title() != "owned"


def test_one_request_brings_all_quotes_before_one_is_opened(
    open_page: OpenPage, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.services.research.surroundings.LOCATE_S", LIMIT_S)
    site.responder = Panel("52 decibels", "120 kilograms", "-25 °C", "seven years")
    page = open_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    with page.expect_response(re.compile(r"/evidence\?locate=true$")):
        answered(page)
    asked.clear()
    current = page.locator("#panel mark.current, #panel .box.current")
    page.locator(".claims .mark").first.click()
    for number in range(1, 5):
        expect(page.locator("#panel h2")).to_have_text(f"Evidence [{number}]")
        expect(current.first).to_be_in_viewport()
        page.keyboard.press("n")
    assert [url for url in asked if "/v1/" in url and ".png" not in url] == []


def test_a_quote_of_a_removed_or_changed_document_says_so(open_page: OpenPage, site: Site) -> None:
    states = iter(["missing", "changed"])

    def without_text(route: Route) -> None:
        route.fulfill(json=[{"number": 1, "state": next(states)}])

    for title in ("Document removed", "Document changed"):
        page = open_page()
        page.route(re.compile(r"/evidence\?"), without_text)
        answered(page)
        page.locator(".claims .mark").first.click()
        expect(page.locator("#panel .failure")).to_contain_text(title)
        expect(page.locator("#panel blockquote")).to_have_text(COLD)
