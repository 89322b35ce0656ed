"""Thumbs and a note under an answer."""

from __future__ import annotations

from playwright.sync_api import expect

from support.viewer import OpenPage, Site, answered


def test_an_answer_is_rated_with_a_note(open_page: OpenPage, site: Site) -> None:
    page = open_page()
    answered(page)
    rating = page.get_by_role("group", name="Your rating")
    up, down = (rating.get_by_role("button", name=f"{kind} answer") for kind in ("Good", "Bad"))
    expect(up).to_have_attribute("aria-pressed", "false")
    down.click()
    expect(down).to_have_attribute("aria-pressed", "true")
    rating.get_by_label("Note about the answer").fill("It is -20 °C.")
    rating.get_by_role("button", name="Save note").click()
    expect(rating.get_by_role("status")).to_have_text("Note saved.")
    [run] = site.candor.trace.runs(1)
    assert (run.rating, run.note) == ("down", "It is -20 °C.")

    page.goto(f"{site.url}#/runs")
    row = page.locator(".runs li").filter(has=page.locator(f"[data-key='{run.run_id}']"))
    expect(row).to_contain_text("rated down, with a note")
    page.get_by_label("rating").select_option("up")
    expect(row).to_have_count(0)
    page.get_by_label("rating").select_option("down")
    row.get_by_role("link").click()
    expect(rating.get_by_label("Note about the answer")).to_have_value("It is -20 °C.")
    up.click()
    expect(up).to_have_attribute("aria-pressed", "true")
    expect(down).to_have_attribute("aria-pressed", "false")
    up.click()
    expect(rating.get_by_role("status")).to_have_text("Rating removed.")
    expect(rating.get_by_label("Note about the answer")).to_have_count(0)
    assert site.candor.trace.run(run.run_id).rating is None


def test_an_error_of_a_rating_is_shown(open_page: OpenPage, site: Site) -> None:
    page = open_page()
    answered(page)
    page.route("**/rating", lambda route: route.abort())
    page.get_by_role("button", name="Good answer").click()
    expect(page.get_by_role("group", name="Your rating").get_by_role("alert")).to_be_visible()
    expect(page.get_by_role("button", name="Good answer")).to_have_attribute("aria-pressed", "false")
