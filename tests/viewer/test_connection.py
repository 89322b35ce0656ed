"""Streams that break, and a server that goes away, be it ended or killed."""

from __future__ import annotations

import json
import re
import threading
from datetime import UTC, datetime

from playwright.sync_api import Route, expect

from multi_agent.events import Event, EvidenceRejected
from support.panel import EXTRACTION, SYNTHESIS, Panel
from support.scripted_endpoint import Request, hang
from support.service import ServiceProcess, until
from support.viewer import COLD, OpenPage, Site, answered, ask, slow


def test_a_stream_that_breaks_doubles_and_skips_is_mended(open_page: OpenPage, site: Site) -> None:
    whole = threading.Event()

    def when_whole(request: Request) -> str:
        """The answer is not written before a stream comes through: else the run would be over too soon."""
        assert whole.wait(60)
        return json.dumps(Panel("-25 °C").play(request))

    site.responder = Panel("-25 °C", roles=slow(EXTRACTION, 1) | {SYNTHESIS: when_whole})
    page = open_page()
    broken: list[str] = []

    def break_it(route: Route) -> None:
        """The first streams: one with an event too far, one that repeats the first event, one that is cut off, one
        that is refused.
        """
        stream = {"content_type": "text/event-stream"}
        happened = site.candor.trace.events(route.request.url.split("/")[-2])
        if not happened:  # the run still waits for its turn
            route.fulfill(body="", **stream)
            return
        broken.append(route.request.headers.get("last-event-id", ""))
        if len(broken) == 1:
            far = EvidenceRejected(quote="q", passage="p", reason="It did not happen.", final=True)
            event = Event(run_id="run", number=900, at=datetime.now(UTC), body=far)
            route.fulfill(body=f"id: 900\ndata: {event.model_dump_json()}\n\n", **stream)
        elif len(broken) == 2:
            run_id = route.request.url.split("/")[-2]
            until(lambda: bool(site.candor.trace.events(run_id)))
            first = site.candor.trace.events(run_id)[0]
            route.fulfill(body=f"retry: 50\nid: 1\ndata: {first.model_dump_json()}\n\n", **stream)
        elif len(broken) == 3:
            route.abort()
        elif len(broken) == 4:
            route.fulfill(status=503, body="{}", content_type="application/problem+json")
        else:
            whole.set()
            route.continue_()

    page.route(re.compile(r"/events\?after="), break_it)
    answered(page)
    assert len(broken) > 4
    page.get_by_role("link", name="Full trace").click()
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
    expect(banner).to_contain_text("The server does not respond.")
    site.responder = Panel("-25 °C")
    site.begin()
    expect(banner).to_be_hidden()
    expect(page.locator(".runs li").first.locator(".badge")).to_have_text("answered")


def test_a_run_is_followed_to_its_end_though_the_server_is_killed(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel("-25 °C", roles={SYNTHESIS: lambda _: hang()})
    site.end()
    model = site.candor.settings.llm
    where = {"CANDOR_LLM__BASE_URL": model.base_url, "CANDOR_LLM__MODEL": model.model, "CANDOR_LLM__PROVIDER": "openai"}
    try:
        with ServiceProcess(site.candor.settings.home, **where) as killable:
            page = open_page(at=killable.url)
            ask(page)
            page.wait_for_url("**/ask/*")
            run_id = page.url.rsplit("/", 1)[-1]
            writing = page.locator(".tree .step").filter(has=page.get_by_role("link", name="answer", exact=True))
            expect(writing.locator(".badge")).to_have_text("running")
            killable.kill()
            expect(page.locator("#banner")).to_contain_text("The server does not respond.")
            site.responder = Panel("-25 °C")
            killable.start()
            expect(page.locator("#banner")).to_be_hidden()
            expect(page.get_by_role("region", name="Answer")).to_contain_text(COLD)
            page.get_by_role("link", name="Full trace").click()
            expect(page.locator("main")).to_contain_text("The service was restarted during this run")
            expect(page.locator(".graph a")).to_have_count(6)
            told = page.get_by_role("status").filter(has_text="events")
            events = killable.http.get(f"/v1/runs/{run_id}/events?follow=false").json()
            expect(told).to_have_text(f"{len(events)} events")
            assert [event["body"]["type"] for event in events].count("run_resumed") == 1
    finally:
        site.begin()
