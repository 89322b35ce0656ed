"""The filter of the ask page, and the tags of documents."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from ingest.ledger.records import FieldSource
from support.viewer import QUESTION, OpenPage, Site, ask


def set_filter(page: Page, **fields: str) -> None:
    if not page.locator(".filters[open]").count():
        page.locator(".filters summary").click()
    for label, value in fields.items():
        page.locator(".filters").get_by_label(label).fill(value)


def test_a_question_reads_only_the_documents_of_the_filter(open_page: OpenPage, site: Site) -> None:
    page = open_page()
    expect(page.locator(".filters summary")).to_have_text("Only some of the documents")
    set_filter(page, Types="txt, pdf", Names="manual*")
    expect(page.locator(".filters summary")).to_have_text("Only documents with document manual*, type txt or pdf")
    ask(page, mode="fast")
    answer = page.get_by_role("region", name="Answer", exact=True)
    expect(answer.locator(".lacking")).to_contain_text("Searched: 1 of 3 documents (document manual*, type txt or pdf)")
    expect(page.locator(".live .facts").first).to_contain_text("document manual*, type txt or pdf")
    [latest] = site.candor.trace.runs(1)
    assert site.candor.trace.answer(latest.run_id).searched.total == 3
    page.goto(f"{site.url}#/runs/{latest.run_id}")
    expect(page.locator(".facts").first).to_contain_text("type txt or pdf")
    page.goto(f"{site.url}#/")
    expect(page.locator(".filters summary")).to_contain_text("type txt or pdf")


def test_only_the_latest_versions_are_read(open_page: OpenPage, site: Site) -> None:
    page = open_page()
    page.locator(".filters summary").click()
    page.get_by_label("Only the latest versions").check()
    expect(page.locator(".filters summary")).to_have_text("Only documents with latest versions")
    ask(page, mode="fast")
    answer = page.get_by_role("region", name="Answer", exact=True)
    expect(answer).to_contain_text("searched 3 of 3 documents (latest versions)")
    page.goto(f"{site.url}#/")
    page.locator(".filters summary").click()
    page.get_by_label("Only the latest versions").uncheck()
    expect(page.locator(".filters summary")).to_have_text("Only some of the documents")


def test_a_filter_that_leaves_nothing_says_which_condition(open_page: OpenPage, site: Site) -> None:
    before = site.candor.trace.runs()
    page = open_page()
    set_filter(page, Types="md", Tags="taxes", Since="2020-01-31")
    ask(page)
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("No document of 'pumps' meets the condition 'tag taxes'.")
    expect(page.get_by_role("textbox", name="Question")).to_have_value(QUESTION)
    assert site.candor.trace.runs() == before


def test_tags_are_added_used_and_removed(open_page: OpenPage, site: Site) -> None:
    page = open_page("documents/pumps")
    row = page.locator("tr").filter(has_text="pump.md")
    row.get_by_text("Add tag").click()
    row.get_by_label("New tags of pump.md").fill("Machines, cellar")
    row.get_by_role("button", name="Add", exact=True).click()
    expect(row.locator(".tag")).to_have_text(["cellar×", "machines×"])
    row.get_by_role("button", name="Remove tag cellar from pump.md").click()
    expect(row.locator(".tag")).to_have_text(["machines×"])
    page.goto(f"{site.url}#/")
    set_filter(page, Tags="machines")
    ask(page, mode="fast")
    answer = page.get_by_role("region", name="Answer", exact=True)
    expect(answer).to_contain_text("searched 1 of 3 documents (tag machines)")
    page.goto(f"{site.url}#/documents/pumps")
    page.get_by_role("button", name="Remove tag machines from pump.md").click()
    expect(page.locator(".tag")).to_have_count(0)


def test_uploaded_files_get_tags(open_page: OpenPage, site: Site) -> None:
    page = open_page("documents/tagged")
    page.get_by_label("Tags of uploaded files").fill("new, 2024")
    page.get_by_label("Files", exact=True).set_input_files(
        [{"name": "alto.md", "mimeType": "text/markdown", "buffer": b"The Alto 7 is quiet."}]
    )
    expect(page.locator(".tag")).to_have_text(["2024×", "new×"])
    site.candor.documents.tag("alto.md", "tagged", remove=["new", "2024"])


def test_a_document_shows_its_metadata_and_a_question_is_limited_by_it(open_page: OpenPage, site: Site) -> None:
    report = site.candor.documents.find("pump.md", "pumps")
    site.candor.ledger.describe(
        "pumps", FieldSource.REQUEST, {report.id: {"project": "Orion", "room": ("K 1",)}}, keep=False
    )
    page = open_page("documents/pumps")
    row = page.locator("tr").filter(has_text="pump.md")
    expect(row).to_contain_text("project: Orion · room: K 1")
    page.get_by_label("Find documents").fill("orion")
    expect(page.locator("tbody tr")).to_have_count(1)
    row.get_by_role("link", name="pump.md").click()
    page.get_by_text("Facts and file").click()
    expect(page.locator(".fields")).to_contain_text("K 1")
    page.goto(f"{site.url}#/search/pumps/pump")
    set_filter(page, Metadata="project=orion, room=K 1")
    expect(page.locator(".filters summary")).to_have_text("Only documents with project=orion, room=K 1")
    page.get_by_label("Search the passages").fill("pump")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.get_by_role("region", name="Found")).to_contain_text("pump.md")
    set_filter(page, Metadata="nope")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("No document has the field 'nope'. The fields are: ")
    set_filter(page, Metadata="")
    site.candor.ledger.describe("pumps", FieldSource.REQUEST, {report.id: {}}, keep=False)
