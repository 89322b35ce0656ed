"""The ask page: a question, live progress, and the answer."""

from __future__ import annotations

import json
import threading

from playwright.sync_api import Page, expect

from multi_agent.settings.research import ResearchSettings
from support.panel import EXTRACTION, SYNTHESIS, Panel
from support.replies import Request, hang, held_until
from support.viewer import COLD, HOSTILE, OpenPage, Site, answered, ask, open_options


def test_a_question_shows_its_steps_and_then_its_answer(open_page: OpenPage, site: Site) -> None:
    resume, panel = threading.Event(), Panel("-25 °C")
    held = {EXTRACTION: lambda request: held_until(resume, json.dumps(panel.play(request)))}
    site.responder = Panel("-25 °C", roles=held)
    page = open_page()
    ask(page)
    extract = page.locator(".tree .step").filter(has=page.get_by_role("link", name="extract", exact=True))
    expect(extract.locator(".badge")).to_have_text("running")
    expect(page.get_by_role("region", name="Answer")).to_have_count(0)
    expect(page.locator(".tree .step").last.locator(".badge")).to_have_text("waiting")
    resume.set()
    answer = page.get_by_role("region", name="Answer", exact=True)
    expect(answer.locator(".claims")).to_contain_text(COLD)
    expect(extract.locator(".badge")).to_have_text("done")
    expect(extract.locator(".agent")).to_contain_text("Extractor")


def test_an_answered_run_shows_what_is_left_open(open_page: OpenPage, site: Site) -> None:
    panel = Panel("-25 °C")
    site.responder = Panel(
        "-25 °C", roles={SYNTHESIS: lambda request: json.dumps({**panel.play(request), "missing": ["why"]})}
    )
    page = open_page()
    ask(page)
    answer = page.get_by_role("region", name="Answer", exact=True)
    expect(answer.get_by_role("heading", name="Left open")).to_be_visible()
    expect(answer.locator(".lacking")).to_contain_text("why")


def test_the_closest_match_is_labelled(open_page: OpenPage, site: Site) -> None:
    def close(request: Request) -> str:
        written = {**panel.play(request), "short": "-25 °C", "sufficient": False, "missing": "of another pump"}
        return json.dumps(written)

    panel = Panel("-25 °C")
    site.responder = Panel("-25 °C", roles={SYNTHESIS: close})
    page = open_page()
    ask(page)
    answer = page.get_by_role("region", name="Answer", exact=True)
    expect(answer.locator(".nearest")).to_have_text("Closest: -25 °C")
    expect(answer.locator(".short")).to_have_count(0)


def test_the_boxes_of_the_sources_show_the_setting(open_page: OpenPage, site: Site) -> None:
    def shown(page: Page) -> dict[str, bool]:
        open_options(page)
        boxes = page.get_by_role("group", name="Sources of the answer").get_by_role("checkbox")
        expect(boxes).to_have_count(3)
        return {box.input_value(): box.is_checked() for box in boxes.all()}

    assert shown(open_page()) == {"documents": True, "web": False, "tools": False}
    site.stop()
    site.start(research=ResearchSettings(sources=("documents", "tools")))
    try:
        page = open_page()
        assert shown(page) == {"documents": True, "web": False, "tools": True}
        page.get_by_label("Results of tools").uncheck()
        page.get_by_label("Documents", exact=True).uncheck()
        ask(page)
        expect(page.get_by_role("alert")).to_contain_text("Choose at least one source of the answer.")
        page.get_by_label("Documents", exact=True).check()
        expect(page.locator("details.options > summary")).to_have_text("Options: mode high · documents")
        with page.expect_request("**/v1/research") as asked:
            answered(page)
        assert asked.value.post_data_json["sources"] == ["documents"]
        page.get_by_role("link", name="Runs", exact=True).click()
        page.get_by_role("link", name="Ask", exact=True).click()
        assert shown(page) == {"documents": True, "web": False, "tools": False}, "as asked last"
    finally:
        site.stop()
        site.start()


def test_a_run_is_cancelled(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel(roles={EXTRACTION: lambda _: hang()})
    page = open_page()
    ask(page)
    expect(page.locator(".badge.is-running").nth(1)).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".live .badge").first).to_have_text("cancelled")
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    expect(page.get_by_role("region", name="Answer", exact=True)).to_contain_text("The run was cancelled.")


def test_markup_is_shown_as_text(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel("The compressor")
    page = open_page()
    ask(page, f"Where from? {HOSTILE}")
    expect(page.locator(".claims")).to_contain_text(HOSTILE)
    expect(page.locator("h1.asked")).to_contain_text(HOSTILE)
    page.locator(".claims .mark").first.click()
    expect(page.locator("#panel mark.current")).to_contain_text(HOSTILE)
    page.get_by_role("link", name="Full trace").click()
    page.locator("[data-key='node extract']").click()
    page.locator("#panel summary").filter(has_text="Extractor").click()
    expect(page.locator("#panel .message.user")).to_contain_text(HOSTILE)
    assert page.title() == "Candor"
    assert page.locator("main img, main script, #panel img, #panel script").count() == 0


def test_on_a_phone_evidence_covers_the_page(open_page: OpenPage) -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    answered(page)
    page.locator(".claims .mark").first.tap()
    panel = page.locator("#panel")
    expect(panel.locator("mark.current")).to_be_in_viewport()
    box = panel.bounding_box()
    assert box is not None
    assert box["width"] == 390
    page.get_by_role("button", name="Close").tap()
    page.get_by_role("link", name="Full trace").tap()
    expect(page.locator(".graph a").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_an_answer_is_saved_as_a_file(open_page: OpenPage) -> None:
    page = open_page()
    answered(page)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Markdown").click()
    assert saved.value.suggested_filename.endswith(".md")
    assert COLD in saved.value.path().read_text(encoding="utf-8")
