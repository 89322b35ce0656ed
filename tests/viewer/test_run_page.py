"""The page of a run: plans, steps and events."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Page, Route, expect

from support.long_run import long_run
from support.panel import REVISION, SYNTHESIS, Panel, revised, step, synthesis
from support.replies import Request
from support.viewer import COLD, OpenPage, Site, answered, open_options


def test_a_link_opens_a_step_with_its_prompts(open_page: OpenPage) -> None:
    page = open_page()
    answered(page)
    page.get_by_role("link", name="Full trace").click()
    expect(page.locator(".graph a")).to_have_count(6)
    page.goto(f"{page.url}/steps/extract")
    page.reload()
    panel = page.locator("#panel")
    expect(panel.get_by_role("heading", name="extract")).to_be_visible()
    expect(page.locator(".graph a.chosen")).to_contain_text("extract")
    expect(page.locator(".graph a.chosen")).to_be_in_viewport()
    expect(panel).to_contain_text("After: patterns")
    panel.locator("summary").filter(has_text="+ evidence (1)").click()
    expect(panel.locator(".quoted .words")).to_have_text(COLD)
    panel.locator("summary").filter(has_text="tokens").click()
    expect(panel.locator(".message.user")).to_contain_text("[1] ")
    expect(panel.locator(".message.response")).to_contain_text('"sentences": [')


def test_the_search_can_include_prompts(open_page: OpenPage) -> None:
    page = open_page()
    answered(page)
    page.get_by_role("link", name="Full trace").click()
    expect(page.locator(".event").first).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("seven years")
    status = page.get_by_role("status").filter(has_text="events")
    expect(status).to_have_text(re.compile("^0 of "))
    page.get_by_label("include prompts and responses").check()
    expect(status).to_have_text(re.compile("^[1-9]"))
    page.locator(".event").first.click()
    expect(page.locator("#panel .message").first).to_be_visible()


def test_events_are_shown_down_to_a_level(open_page: OpenPage) -> None:
    page = open_page()
    answered(page)
    page.get_by_role("link", name="Full trace").click()
    expect(page.locator(".event .level-worker").first).to_be_visible()
    page.get_by_label("Levels of events").select_option("down to planner")
    expect(page.locator(".event .level-worker")).to_have_count(0)
    expect(page.locator(".event .level-planner").first).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="events")).to_have_text(re.compile(r"^\d+ of \d+ events$"))


def test_search_hits_are_highlighted_and_reached_by_key(open_page: OpenPage) -> None:
    page = open_page()
    answered(page)
    page.get_by_role("link", name="Full trace").click()
    page.get_by_label("include prompts and responses").check()
    expect(page.locator(".events")).not_to_have_attribute("aria-busy", "true")  # its texts change what the search finds
    page.get_by_role("searchbox").fill("without a HEATER")
    expect(page.locator(".event .excerpt").first).to_contain_text("without a heater")
    assert highlighted(page) == {"without a heater"}
    page.keyboard.press("Enter")
    panel = page.locator("#panel")
    expect(panel.locator(".steps")).to_contain_text("1 of ")
    page.keyboard.press("Enter")
    expect(panel.locator(".steps")).to_contain_text("2 of ")
    page.keyboard.press("Shift+Enter")
    expect(panel.locator(".steps")).to_contain_text("1 of ")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.get_by_role("button", name="Next event").click()
    expect(panel.locator(".steps")).to_contain_text("2 of ")
    expect(page.get_by_role("button", name="Next event")).to_be_focused()


def highlighted(page: Page) -> set[str]:
    """Return the highlighted texts in lower case."""
    script = "[...CSS.highlights.get('hit')].map((range) => range.toString().toLowerCase())"
    return set(page.evaluate(script))


def test_a_step_shows_the_context_before_and_after(open_page: OpenPage) -> None:
    page = open_page()
    answered(page)
    page.goto(page.url.replace("/ask/", "/runs/") + "/steps/extract")
    panel = page.locator("#panel")
    chunks = panel.locator("summary").filter(has_text="chunks (")
    expect(chunks).to_contain_text("from find")
    chunks.click()
    expect(panel.get_by_role("link", name="find")).to_be_visible()
    expect(panel).to_contain_text("read: not set")
    expect(panel.locator(".diff summary").first).to_have_text("+ evidence (1)")


def test_a_revised_plan_is_shown_with_its_reason(open_page: OpenPage, site: Site) -> None:
    scan = {"method": "scan", "documents": [], "queries": []}
    another = revised(step("all", "Retriever", inputs=scan), step("read", "Extractor"), step("end", "Synthesizer"))
    insufficient = iter([json.dumps(synthesis([], sufficient=False))])
    roles = {
        REVISION: lambda _: json.dumps(another),
        SYNTHESIS: lambda request: next(insufficient, None) or json.dumps(Panel("-25 °C").play(request)),
    }
    site.responder = Panel("-25 °C", roles=roles)
    page = open_page()
    answered(page)
    page.get_by_role("link", name="Full trace").click()
    expect(page.locator(".attempt")).to_have_count(2)
    expect(page.locator(".attempt").nth(1)).to_contain_text("Revised because: The wrong words.")
    first, second = page.locator(".revisions li:has(h3)").all()
    expect(first).to_contain_text("Missing: the fact")
    expect(second).to_contain_text("The wrong words.")
    expect(second.locator(".is-added")).to_contain_text(["all", "read", "end"])
    expect(second.locator(".is-gone").first).to_contain_text("queries dropped")
    page.locator("[data-key^='node end']").last.click()
    assert page.url.endswith("/end%402")
    expect(page.locator("#panel")).to_contain_text("After: read")


def test_a_vote_is_shown_with_its_step(open_page: OpenPage, site: Site) -> None:
    shorts = iter(["-25 °C", "-20 °C", "-25 °C"])

    def write(request: Request) -> str:
        return json.dumps({**Panel("-25 °C").play(request), "short": next(shorts)})

    site.responder = Panel("-25 °C", roles={SYNTHESIS: write})
    page = open_page()
    open_options(page)
    page.get_by_role("spinbutton", name="Samples").fill("3")
    answered(page)
    expect(page.locator(".answer .short")).to_have_text("-25 °C")
    page.locator(".tree").get_by_role("link", name="answer", exact=True).click()
    vote = page.locator("#panel .vote")
    expect(vote).to_contain_text("67 % for the first")
    expect(vote.locator("li").first).to_contain_text("-25 °C Synthesizer, Synthesizer (2)")


def test_a_resumed_run_shows_each_step_once(open_page: OpenPage) -> None:
    page = open_page()
    answered(page)
    run_id = page.url.rsplit("/", 1)[-1]

    def interrupt(route: Route) -> None:
        """Insert a restart after the plan and two finished steps."""
        events = route.fetch().json()
        broken = next(at for at, event in enumerate(events) if event["step"] == "look")
        resumed = {"run_id": run_id, "at": events[broken]["at"], "step": "", "body": {"type": "run_resumed"}}
        both = [*events[:broken], resumed, *events[1:]]
        route.fulfill(json=[{**event, "number": number} for number, event in enumerate(both, 1)])

    page.route(re.compile("follow=false"), interrupt)
    page.get_by_role("link", name="Full trace").click()
    expect(page.locator(".graph a")).to_have_count(6)
    expect(page.locator(".attempt")).to_have_count(1)
    expect(page.locator(".graph a").first).to_contain_text("done")
    expect(page.locator(".headline + .facts")).to_contain_text("6 model calls")
    expect(page.locator("main")).to_contain_text("The service was restarted during this run")
    expect(page.locator(".event.run_resumed")).to_be_visible()
    expect(page.locator(".resumed")).to_have_count(1)


def test_a_model_call_opens_from_the_timeline(open_page: OpenPage) -> None:
    page = open_page()
    answered(page)
    page.get_by_role("link", name="Full trace").click()
    page.locator(".timeline .row").filter(has_text="extract").locator(".call").click()
    expect(page.locator("#panel .message.response")).to_contain_text("sentences")
    expect(page.locator("#panel .message.user")).to_contain_text(COLD)


def test_only_visible_events_of_ten_thousand_are_drawn(open_page: OpenPage, site: Site) -> None:
    """``python -m benchmarks.viewer`` measures the time."""
    page = open_page(f"runs/{long_run(site.candor, 'pumps', 10_000)}")
    expect(page.get_by_role("status").filter(has_text="10,000 events")).to_be_visible()
    for share in (0.0, 0.5, 0.9):
        drawn = page.evaluate(
            """async share => {
                const list = document.querySelector(".events");
                list.scrollTop = share * list.scrollHeight;
                await new Promise(requestAnimationFrame);
                await new Promise(requestAnimationFrame);
                return list.textContent;
            }""",
            share,
        )
        assert abs(int(re.findall(r"quote (\d+)", drawn)[0]) - share * 10_000) < 100
        assert page.locator(".event").count() < 100
    page.locator(".events").focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.locator("#panel")).to_contain_text("Event 10000")


def test_an_unknown_run_is_an_error_with_a_remedy(open_page: OpenPage) -> None:
    page = open_page("runs/run_nowhere")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("There is no run 'run_nowhere'")
    expect(alert).to_contain_text("lists the runs")
