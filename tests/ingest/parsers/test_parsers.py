"""The text, blocks and pages that the default parser reads from common formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.document import BlockKind, ParsedDocument
from ingest.errors import (
    CorruptDocument,
    EmptyDocument,
    EncryptedDocument,
    UnknownParser,
    UnreadableFile,
    UnsupportedFormat,
)
from ingest.parser import Parser, load_parser, parser_names
from support.files import write_docx, write_encrypted_pdf, write_pdf, write_xlsx

RESULTS = [("Athlete", "Time"), ("Amos Kirui", "2:03:11"), ("Sofia Brandt", "2:19:40")]


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


def blocks(document: ParsedDocument) -> list[tuple[str, str]]:
    return [(block.kind.value, document.text[block.start : block.end]) for block in document.blocks]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# Formats


def test_markdown_is_read_without_its_markup(parser: Parser, tmp_path: Path) -> None:
    source = """# Pump *guide*

Use **two** `valves`, see [the plan](https://example.org).

1. First
2. Second
   - nested

| Model | kW |
|-------|---:|
| A-1   | 5  |

```
x = 1
    y = 2
```
"""
    assert blocks(parser.parse(write(tmp_path / "guide.md", source))) == [
        ("heading", "Pump guide"),
        ("prose", "Use two valves, see the plan (https://example.org)."),
        ("list", "1. First\n2. Second\n  - nested"),
        ("table", "| Model | kW |\n| --- | --- |\n| A-1 | 5 |"),
        ("code", "x = 1\n    y = 2"),
    ]


def test_html_has_a_title_headings_lists_and_tables(parser: Parser, tmp_path: Path) -> None:
    source = """<html><head><title>Pasta</title></head><body><h1>Pasta for two</h1>
    <p>Boil <b>water</b> &amp; salt.</p><ul><li>flour<ul><li>type 00</li></ul></li><li>eggs</li></ul>
    <table><tr><th>Step</th><th>Minutes</th></tr><tr><td>Knead</td><td>10</td></tr></table></body></html>"""
    document = parser.parse(write(tmp_path / "pasta.html", source))
    assert document.title == "Pasta"
    assert blocks(document) == [
        ("heading", "Pasta for two"),
        ("prose", "Boil water & salt."),
        ("list", "- flour\n  - type 00\n- eggs"),
        ("table", "| Step | Minutes |\n| --- | --- |\n| Knead | 10 |"),
    ]


def test_word_has_headings_paragraphs_and_tables(parser: Parser, tmp_path: Path) -> None:
    path = write_docx(
        tmp_path / "minutes.docx",
        [("h1", "Minutes"), "All were present.", ("h2", "Decisions"), "Buy, then sell.", ("table", RESULTS)],
    )
    assert blocks(parser.parse(path)) == [
        ("heading", "Minutes"),
        ("prose", "All were present."),
        ("heading", "Decisions"),
        ("prose", "Buy, then sell."),
        ("table", "| Athlete | Time |\n| --- | --- |\n| Amos Kirui | 2:03:11 |\n| Sofia Brandt | 2:19:40 |"),
    ]


def test_a_workbook_has_a_heading_and_a_table_per_sheet(parser: Parser, tmp_path: Path) -> None:
    path = write_xlsx(
        tmp_path / "season.xlsx", {"Spring": RESULTS, "Autumn": [("Athlete", "Time"), ("Noor", "2:05:00")]}
    )
    document = parser.parse(path)
    assert [kind for kind, _ in blocks(document)] == ["heading", "table", "heading", "table"]
    assert blocks(document)[2:] == [
        ("heading", "Autumn"),
        ("table", "| Athlete | Time |\n| --- | --- |\n| Noor | 2:05:00 |"),
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_separated_values_are_a_table(parser: Parser, tmp_path: Path, delimiter: str) -> None:
    source = f'name{delimiter}place\n"Kirui, Amos"{delimiter}Berlin\n"a|b"{delimiter}Oslo\n'
    document = parser.parse(write(tmp_path / "runners.csv", source))
    assert document.text == "| name | place |\n| --- | --- |\n| Kirui, Amos | Berlin |\n| a\\|b | Oslo |"
    assert document.blocks[0].header_end == document.text.index("\n| Kirui")


def test_mail_has_headers_and_a_body(parser: Parser, tmp_path: Path) -> None:
    source = "From: a@example.org\nTo: b@example.org\nSubject: Budget\nContent-Type: text/plain\n\nIt is 5 EUR.\n"
    text = parser.parse(write(tmp_path / "mail.eml", source)).text
    assert "Subject: Budget" in text
    assert "It is 5 EUR." in text


@pytest.mark.parametrize("name", ["main.py", "settings.ini", "notes.unheard-of", "LICENCE"])
def test_any_text_file_is_read_unchanged(parser: Parser, tmp_path: Path, name: str) -> None:
    source = "def area(r):\n    return 3.14 * r * r\n\n\nprint(area(2))"
    assert parser.parse(write(tmp_path / name, source)).text.replace("\n\n", "\n\n\n") == source


@pytest.mark.parametrize("name", ["cars.txt", "cars.md", "CARS"])
@pytest.mark.parametrize("source", ["BMW builds cars.", "GIF89a is a format of pictures."])
def test_words_that_begin_like_a_picture_are_text(parser: Parser, tmp_path: Path, name: str, source: str) -> None:
    assert parser.parse(write(tmp_path / name, source)).text == source


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_text_in_other_encodings_is_decoded(parser: Parser, tmp_path: Path, encoding: str) -> None:
    source = "Die Wärmepumpe läuft auch bei großer Kälte. Übrigens: Sie wählt die höchste Leistung für das Gebäude."
    assert parser.parse(write(tmp_path / "note.txt", source.encode(encoding))).text == source


def test_the_content_decides_when_the_name_is_wrong(parser: Parser, tmp_path: Path) -> None:
    real = write_pdf(tmp_path / "real.pdf", parts=["Heat pumps work below zero."])
    misnamed = parser.parse(real.rename(tmp_path / "misnamed.docx"))
    assert (misnamed.text, misnamed.mime_type) == ("Heat pumps work below zero.", "application/pdf")
    assert "application/pdf" in misnamed.warnings[0]


# PDF


def test_pdf_pages_are_exact(parser: Parser, tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", parts=["On the first page.", ("page",), "On the second.", ("page",), "Third."])
    document = parser.parse(path)
    texts = {page.number: document.text[page.start : page.end].strip() for page in document.pages}
    assert texts == {1: "On the first page.", 2: "On the second.", 3: "Third."}


def test_pdf_headings_are_recognised_by_type_size(parser: Parser, tmp_path: Path) -> None:
    prose = "The season was fast, and the weather in autumn helped many runners to personal records. " * 3
    path = write_pdf(
        tmp_path / "a.pdf", title="Season", parts=[("h1", "World results"), prose, ("h2", "Records"), prose, prose]
    )
    document = parser.parse(path)
    headings = [(b.level, document.text[b.start : b.end]) for b in document.blocks if b.kind is BlockKind.HEADING]
    assert headings == [(1, "World results"), (2, "Records")]
    assert document.title == "Season"
    assert len(document.blocks) == 5


def test_a_pdf_table_across_pages_is_one_table(parser: Parser, tmp_path: Path) -> None:
    rows = [("Rank", "Runner", "Time"), *((str(n), f"Runner {n}", f"2:{n % 60:02}:11") for n in range(1, 71))]
    path = write_pdf(
        tmp_path / "a.pdf", footer="Results, page {page}", parts=[("h1", "Results"), ("table", rows), "End."]
    )
    document = parser.parse(path)
    (table,) = [block for block in document.blocks if block.kind is BlockKind.TABLE]
    lines = document.text[table.start : table.end].splitlines()
    assert lines == ["| Rank | Runner | Time |", "| --- | --- | --- |", *(f"| {' | '.join(row)} |" for row in rows[1:])]
    second = document.pages[1]
    assert table.start < second.start < table.end, "the page break is inside the table"
    assert document.text[second.start :].startswith("| "), "at the beginning of a row"
    assert "page 1" not in document.text


def test_wrapped_cells_of_a_pdf_table_stay_in_their_row(parser: Parser, tmp_path: Path) -> None:
    long = "A long explanation of what to do first, and of what to do after that has been done with success"
    rows = [("Code", "Action", "Who"), ("E04", long, "user"), ("E07", "Replace it", "service"), ("E11", "Wait", "user")]
    text = parser.parse(write_pdf(tmp_path / "a.pdf", parts=[("table", rows)])).text
    assert f"| E04 | {long} | user |" in text


# Files that cannot be read


@pytest.mark.parametrize("content", [b"", b"   \n\n"])
def test_a_file_without_content_is_empty(parser: Parser, tmp_path: Path, content: bytes) -> None:
    with pytest.raises(EmptyDocument, match=r"nothing\.txt"):
        parser.parse(write(tmp_path / "nothing.txt", content))


def test_an_encrypted_pdf_is_rejected(parser: Parser, tmp_path: Path) -> None:
    with pytest.raises(EncryptedDocument, match="password"):
        parser.parse(write_encrypted_pdf(tmp_path / "secret.pdf"))


@pytest.mark.parametrize("name", ["broken.pdf", "broken.docx", "broken.xlsx"])
def test_a_damaged_file_is_rejected(parser: Parser, tmp_path: Path, name: str) -> None:
    intact = {
        "broken.pdf": lambda path: write_pdf(path, parts=["text"]),
        "broken.docx": lambda path: write_docx(path, ["text"]),
        "broken.xlsx": lambda path: write_xlsx(path, {"Sheet": RESULTS}),
    }[name](tmp_path / name)
    damaged = bytearray(intact.read_bytes()[: 300 if name != "broken.pdf" else 20])
    with pytest.raises(CorruptDocument, match=name):
        parser.parse(write(intact, bytes(damaged)))


def test_a_binary_file_is_rejected(parser: Parser, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFormat, match="binary"):
        parser.parse(write(tmp_path / "program.bin", bytes(range(256)) * 8))


def test_a_missing_file_is_unreadable(parser: Parser, tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"gone\.txt"):
        parser.parse(tmp_path / "gone.txt")


# Choice of parsers


def test_parsers_are_found_by_their_modules() -> None:
    assert {"default", "unstructured"} <= set(parser_names())
    with pytest.raises(UnknownParser, match="default, unstructured"):
        load_parser("unheard-of")


def test_unstructured_reads_a_workbook(tmp_path: Path) -> None:
    pytest.importorskip("unstructured")
    document = load_parser("unstructured").parse(write_xlsx(tmp_path / "season.xlsx", {"Spring": RESULTS}))
    assert document.text == "| Athlete | Time |\n| --- | --- |\n| Amos Kirui | 2:03:11 |\n| Sofia Brandt | 2:19:40 |"
    assert document.parser.startswith("unstructured ")


def test_unstructured_distinguishes_titles_without_a_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("unstructured")
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("network access"))
    source = "Spare Parts\n\nThe pump was replaced in March. It is quiet now.\n\n- valves\n\n- seals\n"
    document = load_parser("unstructured").parse(write(tmp_path / "a.txt", source))
    assert blocks(document) == [
        ("heading", "Spare Parts"),
        ("prose", "The pump was replaced in March. It is quiet now."),
        ("list", "- valves\n- seals"),
    ]


def test_unstructured_reports_nothing_to_its_makers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    telemetry = pytest.importorskip("unstructured.telemetry")
    monkeypatch.setattr(telemetry, "_schedule_delivery", lambda _: pytest.fail("a report"))
    load_parser("unstructured").parse(write(tmp_path / "a.txt", "The pump was replaced in March."))


def test_a_missing_parser_names_its_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.parsers.unstructured.find_spec", lambda name: None)
    with pytest.raises(UnknownParser, match=r"pip install 'unstructured\["):
        load_parser("unstructured")
