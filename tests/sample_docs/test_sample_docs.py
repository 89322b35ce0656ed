"""The sample documents and their questions: every gold quote stands where it is said to, read by other means than ours.

PDF is read by pdfplumber, DOCX by python-docx, XLSX by openpyxl, HTML by lxml, e-mail by the standard library; CSV,
Markdown and plain text as they are. None of this goes through Candor's parsers.
"""

from __future__ import annotations

import email
import email.policy
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import openpyxl
import pdfplumber
import pytest
from docx import Document
from docx.table import Table
from lxml import html

from sample_docs import build

FOLDER = Path(build.__file__).parent
DOCUMENTS = FOLDER / "documents"
QUESTIONS: list[dict[str, Any]] = [
    json.loads(line) for line in (FOLDER / "questions.jsonl").read_text(encoding="utf-8").splitlines()
]
UNANSWERABLE = [question for question in QUESTIONS if question["type"] == "none"]
ANSWERABLE = [question for question in QUESTIONS if question["type"] != "none"]
FIELDS = {"id", "question", "answer", "accepted", "type", "gold", "tags"}
WRITTEN_BY_HAND = {".csv", ".eml", ".html", ".md", ".txt"}


def fold(text: str) -> str:
    """One space for every run of white space."""
    return " ".join(text.split())


def row_text(cells: list[str]) -> str:
    """A row of a table as the gold quotes write it."""
    return " | ".join(fold(cell) for cell in cells)


@cache
def pdf_pages(path: Path) -> list[str]:
    with pdfplumber.open(path) as pdf:
        return [page.extract_text() for page in pdf.pages]


def docx_lines(path: Path) -> Iterator[str]:
    for block in Document(str(path)).iter_inner_content():
        if isinstance(block, Table):
            yield from (row_text([cell.text for cell in row.cells]) for row in block.rows)
        else:
            yield block.text


def xlsx_lines(path: Path) -> Iterator[str]:
    workbook = openpyxl.load_workbook(path, read_only=True)
    for sheet in workbook.worksheets:
        yield from (row_text([str(value) for value in row]) for row in sheet.iter_rows(values_only=True))
    workbook.close()


def html_lines(path: Path) -> Iterator[str]:
    body = html.document_fromstring(path.read_bytes()).body
    yield from (row_text([cell.text_content() for cell in row.findall("*")]) for row in body.iter("tr"))
    yield from (element.text_content() for element in body.iter("h1", "h2", "p", "li"))


def email_lines(path: Path) -> Iterator[str]:
    message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
    yield from (f"{name}: {value}" for name, value in message.items())
    yield message.get_content()


def text_of(name: str, folder: Path = DOCUMENTS) -> str:
    """The words of a document, white space folded."""
    path = folder / name
    readers = {".pdf": pdf_pages, ".docx": docx_lines, ".xlsx": xlsx_lines, ".html": html_lines, ".eml": email_lines}
    read = readers.get(path.suffix)
    return fold("\n".join(read(path)) if read else path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return build.build(tmp_path_factory.mktemp("built"))


def test_at_least_ten_documents_in_six_formats() -> None:
    documents = list(DOCUMENTS.iterdir())
    assert len(documents) >= 10
    assert {path.suffix for path in documents} >= {".pdf", ".docx", ".xlsx", ".html", ".md", ".csv"}
    assert sum(path.stat().st_size for path in documents) < 500_000


def test_the_readme_describes_every_document() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in DOCUMENTS.iterdir() if f"| `{path.name}` |" not in readme] == []


def test_a_build_reproduces_the_committed_text(built: list[Path]) -> None:
    committed = {path.name for path in DOCUMENTS.iterdir() if path.suffix not in WRITTEN_BY_HAND}
    assert {path.name for path in built} == committed
    for path in built:
        assert text_of(path.name, path.parent) == text_of(path.name), path.name


def test_building_twice_gives_the_same_bytes(built: list[Path], tmp_path: Path) -> None:
    for first, second in zip(built, build.build(tmp_path), strict=True):
        assert first.read_bytes() == second.read_bytes(), first.name


def test_the_table_of_countries_runs_over_a_page_break() -> None:
    header = "Country Q3 2023 (units) Q2 2024 (units) Q3 2024 (units) Change on Q3 2023"
    _, page_2, page_3 = pdf_pages(DOCUMENTS / "quarterly_report_q3_2024.pdf")
    assert header in page_2
    assert header in page_3
    assert "Austria 798" in page_2
    assert "All countries 8,730 8,955 9,412 +682" in page_3


def test_the_countries_add_up_to_the_total() -> None:
    _, *pages = pdf_pages(DOCUMENTS / "quarterly_report_q3_2024.pdf")
    lines = [line.replace(",", "").split() for page in pages for line in page.splitlines()]
    rows = [line for line in lines if "".join(line[-4:-1]).isdigit() and line[-1][0] in "+−"]
    quarters = [[int(cell) for cell in row[-4:-1]] for row in rows]
    *countries, total = quarters
    assert len(countries) == 26
    assert [sum(column) for column in zip(*countries, strict=True)] == total == [8730, 8955, 9412]


def test_words_are_divided_at_line_ends_in_the_manual() -> None:
    assert "cus-\ntomer service" in "\n".join(pdf_pages(DOCUMENTS / "borea_12_manual.pdf"))


def test_the_top_three_follow_from_the_results() -> None:
    rows = [line.split(",") for line in (DOCUMENTS / "road_race_results.csv").read_text(encoding="utf-8").splitlines()]
    times = sorted(row[9] for row in rows if row[0] == "2024" and row[4] == "Marathon")
    assert QUESTIONS[0]["accepted"] == times[:3]
    assert len(set(times[:4])) == 4, "a tie would make the ranking ambiguous"


def test_the_questions_are_well_formed() -> None:
    assert len(QUESTIONS) >= 24
    assert len({question["id"] for question in QUESTIONS}) == len(QUESTIONS)
    for question in QUESTIONS:
        number = {"unit", "tolerance"} if question["type"] == "number" else set()
        assert question.keys() == FIELDS | number, question["id"]
        assert question["type"] in {"text", "number", "list", "yes_no", "none"}
        assert question["tags"]


def test_the_demo_questions_rank_contradict_and_find_nothing() -> None:
    ranking, contradiction, unanswerable = QUESTIONS[:3]
    assert ranking["question"] == "What are the top 3 fastest marathon times in 2024?"
    assert "contradiction" in contradiction["tags"]
    assert contradiction["gold"][0]["pages"]
    assert unanswerable["answer"] is None


def test_at_least_four_questions_have_no_answer_and_no_gold() -> None:
    assert len(UNANSWERABLE) >= 4
    for question in UNANSWERABLE:
        assert (question["answer"], question["accepted"], question["gold"]) == (None, [], [])
        assert "unanswerable" in question["tags"]


@pytest.mark.parametrize("question", ANSWERABLE, ids=lambda question: question["id"])
def test_every_gold_quote_stands_in_its_document(question: dict[str, Any]) -> None:
    assert question["answer"]
    assert question["accepted"]
    assert question["gold"]
    for gold in question["gold"]:
        path = DOCUMENTS / gold["document"]
        if path.suffix == ".pdf":
            (number,) = gold["pages"]
            assert gold["quote"] in fold(pdf_pages(path)[number - 1])
        else:
            assert gold.keys() == {"document", "quote"}
            assert gold["quote"] in text_of(path.name)


@pytest.mark.parametrize(
    "question", [question for question in ANSWERABLE if question["type"] == "number"], ids=lambda item: item["id"]
)
def test_the_first_accepted_form_of_a_number_is_that_number(question: dict[str, Any]) -> None:
    float(question["accepted"][0])
    assert question["unit"]
    assert question["tolerance"] >= 0


def test_every_document_is_asked_about() -> None:
    asked = {gold["document"] for question in ANSWERABLE for gold in question["gold"]}
    assert asked == {path.name for path in DOCUMENTS.iterdir()}
