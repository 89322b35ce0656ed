"""What a person does with the viewer, from the question to the last prompt behind the answer."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import sqlalchemy as sql
from playwright.sync_api import Page, Route, expect

from multi_agent.answer import Answer, Status
from multi_agent.events import Event, EvidenceRejected, RunFinished, RunStarted
from multi_agent.llm.llm import Usage
from multi_agent.request import Request as Question
from support.panel import EXTRACTION, REVISION, SYNTHESIS, Panel, revised, step, synthesis
from support.scripted_endpoint import Reply, Request, delayed, hang
from support.viewer import COLD, HOSTILE, WARRANTY, Site

QUESTION = "How cold may it get outside?"
OpenPage = Callable[..., Page]


def ask(page: Page, question: str = QUESTION, way: str = "high") -> None:
    page.get_by_role("textbox", name="Question").fill(question)
    page.locator("select[name=way]").select_option(way)
    page.get_by_role("button", name="Ask", exact=True).click()


def answered(page: Page) -> None:
    """Ask, and wait for the answer."""
    ask(page)
    expect(page.get_by_role("region", name="Answer")).to_be_visible()
    expect(page.locator(".live .badge").first).to_have_text("answered")


def slow(role: str, seconds: float) -> dict[str, Callable[[Request], Reply | str]]:
    """A role of the panel that takes its time."""
    return {role: lambda request: delayed(json.dumps(Panel("-25 °C").play(request)), seconds)}


def test_a_question_is_asked_its_steps_appear_and_then_its_answer(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel("-25 °C", roles=slow(EXTRACTION, 1.5))
    page = open_page()
    ask(page)
    extract = page.locator(".tree .step").filter(has=page.get_by_role("link", name="extract", exact=True))
    expect(extract.locator(".badge")).to_have_text("running")
    expect(page.get_by_role("region", name="Answer")).to_have_count(0)
    expect(page.locator(".tree .step").last.locator(".badge")).to_have_text("waiting")
    answer = page.get_by_role("region", name="Answer")
    expect(answer.locator(".claims")).to_contain_text(COLD)
    expect(extract.locator(".badge")).to_have_text("done")
    expect(extract.locator(".agent")).to_contain_text("Extractor")


def test_a_mark_opens_its_quote_highlighted_in_the_document(open_page: OpenPage) -> None:
    page = open_page()
    answered(page)
    page.locator(".claims .mark").first.click()
    panel = page.get_by_role("complementary", name="Details")
    expect(panel.locator("mark.current")).to_have_text(COLD)
    expect(panel.locator("mark.current")).to_be_in_viewport()
    expect(panel.locator(".document")).to_contain_text(WARRANTY)
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(page.locator(".claims .mark").first).to_be_focused()


def test_quotes_are_walked_through_by_key(open_page: OpenPage, site: Site) -> None:
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


def test_a_run_is_cancelled(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel(roles={EXTRACTION: lambda _: hang()})
    page = open_page()
    ask(page)
    expect(page.locator(".badge.is-running").nth(1)).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".live .badge").first).to_have_text("cancelled")
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    expect(page.get_by_role("region", name="Answer")).to_contain_text("The run was cancelled.")


def test_markup_of_documents_questions_and_models_is_shown_as_text(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel("The compressor")
    page = open_page()
    ask(page, f"Where from? {HOSTILE}")
    expect(page.locator(".claims")).to_contain_text(HOSTILE)
    expect(page.locator("h1.asked")).to_contain_text(HOSTILE)
    page.locator(".claims .mark").first.click()
    expect(page.locator("#panel mark.current")).to_contain_text(HOSTILE)
    page.get_by_role("link", name="The whole reasoning").click()
    page.get_by_role("link", name="extract: Extractor, done").click()
    page.locator("#panel summary").filter(has_text="Extractor").click()
    expect(page.locator("#panel .message.user")).to_contain_text(HOSTILE)
    assert page.title() == "Candor"
    assert page.locator("main img, main script, #panel img, #panel script").count() == 0


def test_a_link_opens_a_step_with_all_that_it_was_told_and_said(open_page: OpenPage) -> None:
    page = open_page()
    answered(page)
    page.get_by_role("link", name="The whole reasoning").click()
    expect(page.locator(".graph a")).to_have_count(6)
    page.goto(f"{page.url}/extract")
    page.reload()
    panel = page.locator("#panel")
    expect(panel.get_by_role("heading", name="extract")).to_be_visible()
    expect(panel).to_contain_text("After: patterns")
    panel.locator("summary").filter(has_text="+ evidence (1)").click()
    expect(panel.locator(".quoted .words")).to_have_text(COLD)
    panel.locator("summary").filter(has_text="tokens").click()
    expect(panel.locator(".message.user")).to_contain_text("=== Passage 1")
    expect(panel.locator(".message.response")).to_contain_text(f'"quote": "{COLD}"')


def test_a_run_is_searched_also_in_its_prompts(open_page: OpenPage) -> None:
    page = open_page()
    answered(page)
    page.get_by_role("link", name="The whole reasoning").click()
    expect(page.locator(".event").first).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("seven years")
    status = page.get_by_role("status").filter(has_text="events")
    expect(status).to_have_text(re.compile("^0 of "))
    page.get_by_label("prompts and responses, too").check()
    expect(status).to_have_text(re.compile("^[1-9]"))
    page.locator(".event").first.click()
    expect(page.locator("#panel .message").first).to_be_visible()


def test_a_revised_plan_is_shown_with_the_reason_for_it(open_page: OpenPage, site: Site) -> None:
    scan = {"method": "scan", "documents": [], "queries": []}
    another = revised(
        step("all", "Retriever", inputs=scan), step("read", "Extractor", ["all"]), step("end", "Synthesizer", ["read"])
    )
    too_little = iter([json.dumps(synthesis([], sufficient=False))])
    roles = {
        REVISION: lambda _: json.dumps(another),
        SYNTHESIS: lambda request: next(too_little, None) or json.dumps(Panel("-25 °C").play(request)),
    }
    site.responder = Panel("-25 °C", roles=roles)
    page = open_page()
    answered(page)
    page.get_by_role("link", name="The whole reasoning").click()
    expect(page.locator(".attempt")).to_have_count(2)
    expect(page.locator(".attempt").nth(1)).to_contain_text("Revised because: The wrong words.")
    page.get_by_role("link", name="end: Synthesizer, done").click()
    assert page.url.endswith("/end%402")
    expect(page.locator("#panel")).to_contain_text("After: read")


def test_a_vote_is_shown_with_the_step_that_it_was_taken_on(open_page: OpenPage, site: Site) -> None:
    shorts = iter(["-25 °C", "-20 °C", "-25 °C"])

    def write(request: Request) -> str:
        return json.dumps({**Panel("-25 °C").play(request), "short": next(shorts)})

    site.responder = Panel("-25 °C", roles={SYNTHESIS: write})
    page = open_page()
    page.get_by_role("spinbutton", name="Samples").fill("3")
    answered(page)
    expect(page.locator(".answer .short")).to_have_text("-25 °C")
    page.locator(".tree").get_by_role("link", name="answer", exact=True).click()
    vote = page.locator("#panel .vote")
    expect(vote).to_contain_text("67 % for the first")
    expect(vote.locator("li").first).to_contain_text("-25 °C Synthesizer, Synthesizer (2)")


def test_a_mark_of_a_computation_opens_its_query_and_result(open_page: OpenPage, site: Site) -> None:
    page = open_page()

    def with_computation(route: Route) -> None:
        response = route.fetch()
        told = response.json()
        if answer := told["answer"]:
            answer["claims"][0]["computations"] = [1]
            answer["computations"] = [
                {
                    "number": 1, "purpose": "How many there are", "sql": "SELECT count(*) AS n FROM records",
                    "columns": ["n"], "rows": [[2], [None]], "truncated": True, "evidence": answer["evidence"],
                    "flaws": ["'many' is no number"],
                }
            ]  # fmt: skip
        route.fulfill(response=response, json=told)

    page.route(re.compile(r"/v1/runs/run_[0-9a-f]+$"), with_computation)
    answered(page)
    page.get_by_role("button", name="[C1]", exact=True).click()
    panel = page.locator("#panel")
    expect(panel.locator(".sql")).to_have_text("SELECT count(*) AS n FROM records")
    expect(panel.locator("tbody td")).to_have_text(["2", "null"])
    expect(panel).to_contain_text("There were more rows")
    panel.locator(".source").first.click()
    expect(panel.locator("mark.current")).to_have_text(COLD)


def test_a_stream_that_breaks_doubles_and_skips_is_mended(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel("-25 °C", roles=slow(EXTRACTION, 2) | slow(SYNTHESIS, 1))
    page = open_page()
    broken: list[str] = []

    def break_it(route: Route) -> None:
        """The first streams: one with an event too far, one that repeats the first event, one that is cut off, one
        that is refused.
        """
        broken.append(route.request.headers.get("last-event-id", ""))
        stream = {"content_type": "text/event-stream"}
        if len(broken) == 1:
            far = EvidenceRejected(quote="q", passage="p", reason="It did not happen.", final=True)
            event = Event(run_id="run", number=900, at=datetime.now(UTC), body=far)
            route.fulfill(body=f"id: 900\ndata: {event.model_dump_json()}\n\n", **stream)
        elif len(broken) == 2:
            first = site.candor.trace.events(route.request.url.split("/")[-2])[0]
            route.fulfill(body=f"retry: 50\nid: 1\ndata: {first.model_dump_json()}\n\n", **stream)
        elif len(broken) == 3:
            route.abort()
        elif len(broken) == 4:
            route.fulfill(status=503, body="{}", content_type="application/problem+json")
        else:
            route.continue_()

    page.route(re.compile(r"/events\?after="), break_it)
    answered(page)
    assert len(broken) > 4
    page.get_by_role("link", name="The whole reasoning").click()
    told = page.get_by_role("status").filter(has_text="events")
    run_id = page.url.rsplit("/", 1)[-1]
    expect(told).to_have_text(f"{len(site.candor.trace.events(run_id))} events")


def test_a_server_that_goes_away_and_comes_back(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel(roles={EXTRACTION: lambda _: hang()})
    page = open_page()
    ask(page)
    expect(page.locator(".badge.is-running").nth(1)).to_be_visible()
    site.end()
    page.get_by_role("link", name="Runs").click()
    banner = page.locator("#banner")
    expect(banner).to_contain_text("The server does not answer.")
    site.begin()
    expect(banner).to_be_hidden()
    expect(page.locator(".runs li").first.locator(".badge")).to_have_text("cancelled")


def test_ten_thousand_events_open_in_a_second_and_scroll(open_page: OpenPage, site: Site) -> None:
    run_id = long_run(site, 10_000)
    page = open_page("runs")
    times = [opened(page, f"{site.url}#/runs/{run_id}") for _ in range(3)]
    print("10,000 events were there after", *(f"{seconds:.2f} s" for seconds in times))
    assert min(times) < 1  # the machine may be at something else meanwhile
    expect(page.get_by_role("status").filter(has_text="10,000 events")).to_be_visible()
    assert page.locator(".event").count() < 100
    slowest = page.evaluate(
        """async () => {
            const list = document.querySelector(".events");
            let slowest = 0;
            for (let at = 0; at < 60; at += 1) {
                const before = performance.now();
                list.scrollTop = at * 4900;
                await new Promise(requestAnimationFrame);
                list.getBoundingClientRect();
                slowest = Math.max(slowest, performance.now() - before);
            }
            return slowest;
        }"""
    )
    print(f"the slowest of 60 leaps took {slowest:.0f} ms")
    assert slowest < 100
    page.locator(".events").focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.locator("#panel")).to_contain_text("Event 10000")


def opened(page: Page, url: str) -> float:
    """How long it takes from the list of runs to the events of this one."""
    page.goto(url.partition("#")[0] + "#/runs")
    expect(page.locator(".runs li").first).to_be_visible()
    began = time.perf_counter()
    page.goto(url)
    page.wait_for_selector(".event")
    return time.perf_counter() - began


def long_run(site: Site, count: int) -> str:
    """A run of so many events, in the trace."""
    run_id, began = "run_long", datetime.now(UTC)
    site.candor.trace.begin(run_id, QUESTION, "pumps", "scripted")
    rejected = [
        EvidenceRejected(quote=f"quote {number}", passage="pump.md, page 1", reason="It is not there.", final=True)
        for number in range(2, count)
    ]
    bodies = [
        RunStarted(request=Question(question=QUESTION), collection="pumps", model="scripted"),
        *rejected,
        RunFinished(status="failed", reason="It was too much.", usage=Usage()),
    ]
    events = [
        Event(run_id=run_id, number=number, at=began + timedelta(milliseconds=number), body=body)
        for number, body in enumerate(bodies, 1)
    ]
    table = sql.Table("events", sql.MetaData(), autoload_with=site.candor.engine)
    rows = [{"run_id": run_id, "number": each.number, "event": each.model_dump(mode="json")} for each in events]
    with site.candor.engine.begin() as connection:
        connection.execute(table.insert(), rows)
    site.candor.trace.finish(Answer(run_id=run_id, status=Status.FAILED, mode="", question=QUESTION))
    return run_id


def test_documents_are_listed_with_states_and_reasons(open_page: OpenPage) -> None:
    page = open_page("documents")
    broken = page.locator("tr").filter(has_text="broken.pdf")
    expect(broken.locator(".badge")).to_have_text("failed")
    expect(broken.locator(".reason")).to_contain_text("While ")
    page.get_by_role("button", name="indexed 2").click()
    expect(page.locator("tbody tr")).to_have_count(2)


def test_what_is_not_there_is_said_with_what_to_do(open_page: OpenPage) -> None:
    page = open_page("runs/run_nowhere")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("There is no run 'run_nowhere'")
    expect(alert).to_contain_text("lists those there are")


def test_on_a_phone_nothing_is_wider_than_the_screen_and_evidence_lies_over_the_page(open_page: OpenPage) -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    answered(page)
    page.locator(".claims .mark").first.tap()
    panel = page.locator("#panel")
    expect(panel.locator("mark.current")).to_be_in_viewport()
    box = panel.bounding_box()
    assert box is not None
    assert box["width"] == 390
    page.get_by_role("button", name="Close").tap()
    page.get_by_role("link", name="The whole reasoning").tap()
    expect(page.locator(".graph a").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
