"""Saved plans in the viewer: proposed on the page of a run, followed from the form, changed on the memory page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from api.cli.ingest import run_ingest
from multi_agent.values.plan import Plan
from support.templates import PERIOD, RACE, WARRANTY, WINNER, honest_model, old_plan, write_documents
from support.viewer import OpenPage, Site, ask, confirm, open_options


@pytest.fixture(scope="module")
def races(served: Site, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Ingest a document about the race and one about the warranty into a collection."""
    folder = tmp_path_factory.mktemp("races")
    write_documents(folder)
    run_ingest(served.candor, [folder], "races", progress=False)


@pytest.fixture
def look_up(site: Site, races: None) -> Site:
    """Return the site with the honest model and the saved plan ``look up``."""
    site.responder = honest_model
    for saved in site.candor.plans.list():
        site.candor.plans.delete(saved.name)
    plan = json.loads(json.dumps(old_plan()).replace(RACE, "@{question} @{inputs.style}"))
    plan |= {"goal": "@{question}", "parameters": [{"name": "style", "meaning": "how to write", "default": ""}]}
    site.candor.plans.save("look up", Plan.model_validate(plan), RACE)
    return site


def answer(page: Page) -> Locator:
    return page.get_by_role("region", name="Answer", exact=True)


def saved_plans(page: Page) -> Locator:
    return page.get_by_role("region", name="Plans")


def test_a_plan_saved_from_one_question_answers_another(open_page: OpenPage, site: Site, races: None) -> None:
    site.responder = honest_model
    page = open_page()
    page.locator("select[name=collection]").select_option("races")
    ask(page, RACE)
    expect(answer(page)).to_contain_text(WINNER)
    page.get_by_role("link", name="Full trace").click()
    page.locator("summary").filter(has_text="Save this plan").click()
    page.get_by_role("button", name="Propose a template").click()
    text = page.get_by_label("Template")
    expect(text).to_have_value(re.compile(r"@\{question\}"))
    page.get_by_label("Name", exact=True).fill("from the race")
    text.fill(text.input_value().replace("@{question}", "@{inputs.none}", 1))
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("main")).to_contain_text("@{inputs.none} has no parameter")
    text.fill(text.input_value().replace("@{inputs.none}", "@{question}"))
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("main")).to_contain_text("Saved.")
    page.get_by_role("link", name="Ask", exact=True).click()
    page.locator("select[name=collection]").select_option("races")
    ask(page, WARRANTY, mode="plan:from the race")
    expect(answer(page)).to_contain_text(PERIOD)
    expect(answer(page)).not_to_contain_text(WINNER)


def test_the_values_of_parameters_are_given_in_the_form(open_page: OpenPage, look_up: Site) -> None:
    page = open_page()
    page.locator("select[name=collection]").select_option("races")
    expect(page.get_by_label("style")).to_have_count(0)
    open_options(page)
    page.locator("select[name=mode]").select_option("plan:look up")
    page.get_by_label("style").fill("In one word.")
    ask(page, WARRANTY, mode="")
    expect(answer(page)).to_contain_text(PERIOD)
    page.get_by_role("link", name="Full trace").click()
    expect(page.locator("main")).to_contain_text(WARRANTY)
    [run, *_] = look_up.candor.trace.runs(1)
    [made] = [each.body for each in look_up.candor.trace.events(run.run_id) if each.body.type == "plan_made"]
    assert made.plan.steps[0].instruction == f"{WARRANTY} In one word."


def test_a_plan_is_shown_as_steps_edited_and_deleted(open_page: OpenPage, look_up: Site) -> None:
    plans = saved_plans(open_page("memory"))
    plans.locator("summary").filter(has_text="Steps").click()
    expect(plans.locator("ol")).to_contain_text("read Reader: @{question} @{inputs.style}")
    expect(plans).to_contain_text("@{inputs.style} how to write")
    plans.locator("summary").filter(has_text="Edit").click()
    text = plans.get_by_label("Template")
    before = text.input_value()
    for wrong, said in (
        ("{", "not valid JSON"),
        (json.dumps(old_plan()), "still contains parts of its original question"),
    ):
        text.fill(wrong)
        plans.get_by_role("button", name="Save", exact=True).click()
        expect(plans.get_by_role("alert")).to_contain_text(said)
        expect(text).to_have_value(wrong)
    text.fill(before.replace("how to write", "the style of the answer"))
    plans.get_by_role("button", name="Save", exact=True).click()
    expect(plans).to_contain_text("@{inputs.style} the style of the answer")
    assert look_up.candor.plans.get("look up").plan.parameters[0].meaning == "the style of the answer"
    plans.get_by_role("button", name="Delete").click()
    confirm(plans.page, "Delete")
    expect(plans).to_contain_text("No saved plans.")


def test_a_plan_is_exported_and_imported(open_page: OpenPage, look_up: Site, tmp_path: Path) -> None:
    page = open_page("memory")
    plans = saved_plans(page)
    with page.expect_download() as download:
        plans.get_by_role("button", name="Export").click()
    file = tmp_path / "plan.json"
    download.value.save_as(file)
    assert download.value.suggested_filename == "look up.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"name": "again"}))
    plans.locator("summary").filter(has_text="Import a plan").click()
    plans.get_by_label("File").set_input_files(file)
    plans.get_by_role("button", name="Import", exact=True).click()
    expect(plans.locator(".line strong")).to_have_text(["again", "look up"])
    assert look_up.candor.plans.get("again").plan == look_up.candor.plans.get("look up").plan
