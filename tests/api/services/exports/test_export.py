"""Tests of exported answers: the content of every format, and the escaping of text from documents."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from typing import Any

import docx
import httpx
import pdfplumber
import pytest
from markdown_it import MarkdownIt
from PIL import Image

from api.errors import UsageError
from api.http.openai_chat import annotated_text
from api.services.exports.export import Format, export
from multi_agent.llm.settings import EndpointSettings
from multi_agent.values.answer import Answer, Status
from multi_agent.values.context import Claim
from support.answers import ANSWER, RUN, quote
from support.panel import Panel
from support.service import NEVER, QUESTION

SCRIPT = "<script>alert('x')</script> [link](javascript:alert(1)) **bold** | `code`\x00\x0b\nnext"
HOSTILE = ANSWER.model_copy(
    update={
        "question": SCRIPT,
        "claims": (Claim(text=SCRIPT, evidence=(1,), supported=True), Claim(text="# 1. no heading", supported=False)),
        "evidence": (quote(1, SCRIPT, document=f"/papers/{SCRIPT.replace('/', '')}"),),
        "missing": (SCRIPT, "- no list"),
        "basis": "1 quote\x0c, checked",
    }
)


def exported(answer: Answer, wanted: Format) -> bytes:
    return export(RUN, answer, wanted).content


def visible_text(answer: Answer, wanted: Format) -> str:
    """Return the text that a reader sees, in order."""
    return text_in(exported(answer, wanted), wanted)


def text_in(content: bytes, wanted: Format) -> str:
    if wanted is Format.DOCX:
        document = docx.Document(BytesIO(content))
        paragraphs = [each.text for each in document.paragraphs]
        cells = [cell.text for table in document.tables for row in table.rows for cell in row.cells]
        return " ".join(" ".join([*paragraphs, *cells]).split())
    if wanted is Format.PDF:
        with pdfplumber.open(BytesIO(content)) as pdf:
            return " ".join(" ".join(page.extract_text() for page in pdf.pages).split())
    page = content.decode() if wanted is Format.HTML else MarkdownIt().enable("table").render(content.decode())
    return HtmlPage(page).text


class HtmlPage(HTMLParser):
    """The tags, links and text of an HTML page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attributes if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] != ["style"]:
            self.texts.append(data)


@pytest.mark.parametrize("wanted", [Format.MARKDOWN, Format.HTML, Format.DOCX, Format.PDF])
def test_every_format_has_answer_evidence_and_gaps(wanted: Format) -> None:
    text = visible_text(ANSWER, wanted)
    for expected in (
        "How cold?", "Insufficient · confidence 0.40", "It works at -25 °C.", "not supported by the evidence", "[C1]",
        "Two of three are told.",
        "Closest", "Closest -25 °C", "noise levels", "the noise", "[1] pumps.pdf, page 3",
        "“works down to -25 °C”",
        "count them", "SELECT count(*) FROM records", "Not all rows are shown.", "'many' is no number",
        "papers", "scripted", "2026-03-01 09:30 UTC", "run_1",
    ):  # fmt: skip
        assert expected in text, f"{wanted}: {expected}"
    assert "cited by no claim" not in text
    assert text.index("It works at -25 °C.") < text.index("[1] pumps.pdf")


@pytest.mark.parametrize("wanted", [Format.MARKDOWN, Format.HTML, Format.DOCX, Format.PDF])
def test_markup_in_documents_and_answers_is_shown_as_text(wanted: Format) -> None:
    text = visible_text(HOSTILE, wanted)
    shown = " ".join(SCRIPT.replace("\x00", " ").split())
    assert text.count(shown) >= 3, "in the question, the claim and the quote"
    assert "# 1. no heading" in text
    assert "- no list" in text


def test_the_page_has_no_scripts_and_no_external_links() -> None:
    page = exported(HOSTILE, Format.HTML).decode()
    parsed = HtmlPage(page)
    assert not {"script", "link", "img", "iframe", "form"} & set(parsed.tags)
    assert parsed.links == ["#evidence-1"]
    assert "default-src 'none'" in page
    assert 'id="evidence-1"' in page
    markdown = HtmlPage(MarkdownIt("commonmark", {"html": True}).render(exported(HOSTILE, Format.MARKDOWN).decode()))
    assert "script" not in markdown.tags
    assert markdown.links == []


@pytest.mark.parametrize("wanted", [Format.HTML, Format.DOCX, Format.PDF])
def test_the_cited_regions_are_shown_and_a_page_without_picture_is_named(wanted: Format) -> None:
    Image.new("RGB", (900, 100), "gold").save(drawn := BytesIO(), "PNG")
    shown, not_shown = (export(RUN, ANSWER, wanted, {"1": picture}).content for picture in (drawn.getvalue(), b""))
    assert [pictures_in(shown, wanted), pictures_in(not_shown, wanted)] == [1, 0]
    remarks = ["The page is not shown." in text_in(each, wanted) for each in (shown, not_shown)]
    assert remarks == [False, True]


def pictures_in(content: bytes, wanted: Format) -> int:
    if wanted is Format.HTML:
        return content.count(b'<img alt="The page with the quote" src="data:image/png;base64,')
    if wanted is Format.DOCX:
        return len(docx.Document(BytesIO(content)).inline_shapes)
    with pdfplumber.open(BytesIO(content)) as pdf:
        return sum(len(page.images) for page in pdf.pages)


def test_a_follow_up_question_is_shown_in_its_completed_form() -> None:
    completed = "How cold may it get where the Borea 12 stands?"
    shown = visible_text(ANSWER.model_copy(update={"completed_question": completed}), Format.MARKDOWN)
    assert completed in shown
    assert ANSWER.question not in shown


def test_evidence_without_pages_is_shown_with_its_section() -> None:
    claims = (Claim(text="Both.", evidence=(1, 2), supported=True),)
    plain = quote(1, "a", "2023/report.md", ()).model_copy(update={"section": ("Costs", "Per year")})
    paged = quote(2, "b", "/old/path/report.pdf", (4, 5)).model_copy(update={"section": ("Costs",)})
    text = visible_text(ANSWER.model_copy(update={"claims": claims, "evidence": (plain, paged)}), Format.MARKDOWN)
    assert "[1] 2023/report.md, § Costs › Per year “a”" in text
    assert "[2] report.pdf, pages 4-5 “b”" in text, "an older run has the path; only the name is shown"


def test_json_contains_the_stored_run_and_answer() -> None:
    whole = json.loads(exported(ANSWER, Format.JSON))
    assert whole == {"run": RUN.model_dump(mode="json"), "answer": ANSWER.model_dump(mode="json")}


def test_a_failed_run_is_exported_with_its_reason() -> None:
    failed = Answer(run_id="run_1", status=Status.FAILED, mode="", question="Why?", reasoning="The model is away.")
    text = visible_text(failed, Format.MARKDOWN)
    assert "Failed" in text
    assert "The model is away." in text


@pytest.mark.parametrize("wanted", list(Format))
def test_an_export_is_an_attachment_with_a_safe_name(http: httpx.Client, ask: Callable, wanted: Format) -> None:
    answer = http.post("/v1/research", json={"question": QUESTION, "collection": "papers"}).json()
    response = http.get(f"/v1/runs/{answer['run_id']}/export", params={"format": wanted.value})
    assert (response.status_code, response.headers["content-type"]) == (200, wanted.media_type)
    name = f"candor-{answer['run_id']}.{wanted.value}"
    assert response.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert response.headers["x-content-type-options"] == "nosniff"
    assert len(response.content) > 300

    running = http.get(f"/v1/runs/{ask(NEVER)}/export", params={"format": wanted.value})
    assert (running.status_code, running.json()["title"]) == (409, "Run under way")
    assert http.get("/v1/runs/run_none/export").status_code == 404
    assert http.get(f"/v1/runs/{answer['run_id']}/export?format=exe").status_code == 422


def test_the_cli_writes_the_same_file(
    run: Callable, folder: Path, tmp_path: Path, serve: Callable[..., EndpointSettings], use_model: Callable
) -> None:
    use_model(serve(Panel("-25 °C")))
    run("ingest", folder)
    answer: dict[str, Any] = run("ask", QUESTION, "--json").json
    shown = run("export", answer["run_id"])
    assert (shown.code, shown.out.splitlines()[0]) == (0, f"# {QUESTION}")
    written = run("export", answer["run_id"], "--format", "md", "--output", tmp_path / "answer.md")
    assert written.code == 0
    assert (tmp_path / "answer.md").read_text() == shown.out
    assert run("export", answer["run_id"], "--format", "exe").code == 2
    assert run("export", answer["run_id"], "-o", tmp_path / "none" / "answer.md").code == 2


def test_the_cli_takes_the_format_from_the_file_name(
    run: Callable, folder: Path, tmp_path: Path, serve: Callable[..., EndpointSettings], use_model: Callable
) -> None:
    use_model(serve(Panel("-25 °C")))
    run("ingest", folder)
    run_id = run("ask", QUESTION, "--json").json["run_id"]
    begins = {"a.docx": b"PK", "a.PDF": b"%PDF-", "a.html": b"<!doctype html>", "a.json": b"{", "a.md": b"# "}
    for name, beginning in begins.items():
        assert run("export", run_id, "-o", tmp_path / name).code == 0
        assert (tmp_path / name).read_bytes().startswith(beginning), name
    conflict = run("export", run_id, "-o", tmp_path / "b.docx", "-f", "md")
    assert (conflict.code, "'md' conflicts with the file name 'b.docx'" in conflict.err) == (2, True)
    unknown = run("export", run_id, "-o", tmp_path / "b.odt")
    assert (unknown.code, "md, html, json, docx, pdf" in unknown.err) == (2, True)
    assert not list(tmp_path.glob("b.*")), "nothing is written"
    assert run("export", run_id, "-o", tmp_path / "b.txt", "-f", "md").code == 0


RANKED = ANSWER.model_copy(update={"answer": "1. It works at -25 °C. [1]\n2. …"})


@pytest.mark.parametrize("wanted", [Format.MARKDOWN, Format.PDF])
def test_a_ranking_keeps_its_numbers(wanted: Format) -> None:
    content = exported(RANKED, wanted)
    text = content.decode() if wanted is Format.MARKDOWN else visible_text(RANKED, wanted)
    assert [f"{number}. {words}" in text for number, words in ((1, "It works"), (2, "It is"), (3, "That makes"))] == [
        True, True, True
    ]  # fmt: skip


def test_a_ranking_is_a_numbered_list_in_html_word_and_chats() -> None:
    assert "<ol><li>" in exported(RANKED, Format.HTML).decode()
    styles = [each.style.name for each in docx.Document(BytesIO(exported(RANKED, Format.DOCX))).paragraphs]
    assert styles.count("List Number") == 3
    assert "\n2. It is loved." in annotated_text(RUN, RANKED, "").text


def test_a_pdf_has_letters_of_many_scripts_and_links_to_its_evidence() -> None:
    question = "Насос, ηλιακή, pompă, 1 → 2 ≤ 3 \U0001faa9?"
    content = exported(ANSWER.model_copy(update={"question": question}), Format.PDF)
    assert question.replace("\U0001faa9", "□") in visible_text(
        ANSWER.model_copy(update={"question": question}), Format.PDF
    )
    with pdfplumber.open(BytesIO(content)) as pdf:
        assert len(pdf.annots) >= 2, "the marks [1] and [C1]"
    no_font = "\U00016f00"  # Miao
    with pytest.raises(UsageError, match=f"No font on this computer has {no_font}.*docx or html"):
        exported(ANSWER.model_copy(update={"question": no_font}), Format.PDF)


def test_a_pdf_shows_arabic_from_right_to_left_with_joined_letters() -> None:
    question = "تعمل المضخة"
    with pdfplumber.open(BytesIO(exported(ANSWER.model_copy(update={"question": question}), Format.PDF))) as pdf:
        letters = [char for char in pdf.pages[0].chars if "\u0600" <= char["text"][0] <= "\u06ff"]
    assert sorted("".join(char["text"] for char in letters)) == sorted(question.replace(" ", ""))
    left_to_right = sorted(letters, key=lambda char: char["x0"])
    assert (left_to_right[0]["text"], left_to_right[-1]["text"]) == (question[-1], question[0])
    assert left_to_right[-1]["x1"] > 500, "at the right margin"


def test_the_head_of_a_long_table_is_on_every_page_of_a_pdf() -> None:
    rows = tuple((number, f"Pump {number}") for number in range(150))
    computed = ANSWER.computations[0].model_copy(update={"columns": ("number", "the pump"), "rows": rows})
    content = exported(ANSWER.model_copy(update={"computations": (computed,)}), Format.PDF)
    with pdfplumber.open(BytesIO(content)) as pdf:
        texts = [page.extract_text() for page in pdf.pages]
    assert len([text for text in texts if "number the pump" in text]) >= 3
    assert "149 Pump 149" in "\n".join(texts)
