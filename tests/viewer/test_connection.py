"""Broken event streams, and a server that stops or is killed."""

from __future__ import annotations

import json
import re
import threading
from datetime import UTC, datetime

from playwright.sync_api import Route, expect

from api.http.sse import DescribedEvent
from multi_agent.values.events import Event
from multi_agent.values.evidence_events import EvidenceRejected
from support.panel import EXTRACTION, SYNTHESIS, Panel
from support.replies import Request, hang
from support.service import ServiceProcess
from support.viewer import COLD, OpenPage, Site, answered, ask
from support.waiting import LIMIT_S, until


def test_broken_streams_are_reopened_without_gaps(open_page: OpenPage, site: Site) -> None:
    intact = threading.Event()

    def when_intact(request: Request) -> str:
        """Write the answer only after an intact stream, so that the run does not end too soon."""
        assert intact.wait(LIMIT_S)
        return json.dumps(Panel("-25 °C").play(request))

    site.responder = Panel("-25 °C", roles={SYNTHESIS: when_intact})
    page = open_page()
    broken: list[str] = []

    def break_stream(route: Route) -> None:
        """Break the first four streams: a gap, a repeated event, a cut connection, an error response."""
        stream = {"content_type": "text/event-stream"}
        past = site.candor.trace.events(route.request.url.split("/")[-2])
        if not past:  # the run is still queued
            route.fulfill(body="", **stream)
            return
        broken.append(route.request.headers.get("last-event-id", ""))
        if len(broken) == 1:
            far = EvidenceRejected(quote="q", passage="p", reason="It did not happen.", final=True)
            event = Event(run_id="run", number=900, at=datetime.now(UTC), body=far)
            route.fulfill(body=f"id: 900\ndata: {DescribedEvent.json_of(event)}\n\n", **stream)
        elif len(broken) == 2:
            run_id = route.request.url.split("/")[-2]
            until(lambda: bool(site.candor.trace.events(run_id)))
            first = site.candor.trace.events(run_id)[0]
            route.fulfill(body=f"retry: 50\nid: 1\ndata: {DescribedEvent.json_of(first)}\n\n", **stream)
        elif len(broken) == 3:
            route.abort()
        elif len(broken) == 4:
            route.fulfill(status=503, body="{}", content_type="application/problem+json")
        else:
            intact.set()
            route.continue_()

    page.route(re.compile(r"/events\?after="), break_stream)
    answered(page)
    assert len(broken) > 4
    page.get_by_role("link", name="Full trace").click()
    status = page.get_by_role("status").filter(has_text="events")
    run_id = page.url.rsplit("/", 1)[-1]
    expect(status).to_have_text(f"{len(site.candor.trace.events(run_id))} events")


def test_the_page_reconnects_after_a_restart(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel(roles={EXTRACTION: lambda _: hang()})
    page = open_page()
    ask(page)
    expect(page.locator(".badge.is-running").nth(1)).to_be_visible()
    site.stop()
    page.get_by_role("link", name="Runs").click()
    banner = page.locator("#banner")
    expect(banner).to_contain_text("The server does not respond.")
    site.responder = Panel("-25 °C")
    site.start()
    expect(banner).to_be_hidden()
    expect(page.locator(".runs li").first.locator(".badge")).to_have_text("answered")


def test_a_run_is_followed_across_a_killed_server(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel("-25 °C", roles={SYNTHESIS: lambda _: hang()})
    site.stop()
    model = site.candor.settings.llm
    environment = {
        "CANDOR_LLM__BASE_URL": model.base_url,
        "CANDOR_LLM__MODEL": model.model,
        "CANDOR_LLM__PROVIDER": "openai",
    }
    try:
        with ServiceProcess(site.candor.settings.home, **environment) as killable:
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
            expect(page.get_by_role("region", name="Answer", exact=True)).to_contain_text(COLD)
            page.get_by_role("link", name="Full trace").click()
            expect(page.locator("main")).to_contain_text("The service was restarted during this run")
            expect(page.locator(".graph a")).to_have_count(6)
            status = page.get_by_role("status").filter(has_text="events")
            events = killable.http.get(f"/v1/runs/{run_id}/events?follow=false").json()
            expect(status).to_have_text(f"{len(events)} events")
            assert [event["body"]["type"] for event in events].count("run_resumed") == 1
    finally:
        site.start()
