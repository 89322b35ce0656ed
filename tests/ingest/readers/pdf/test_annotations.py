"""Notes, comments, text boxes and form fields of PDF pages."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ingest.parser import Parser, load_parser
from support.raw_pdf import RawPage, write_raw_pdf

_NOTE = "/Subtype/Text/Rect[10 700 30 720]/Contents(Ask the landlord.)/T(Ada)/M(D:20240501120000Z)"
_BOX = "/Subtype/FreeText/Rect[10 600 200 640]/Contents(Paid in cash.)/DA(/F 11 Tf)"
_QUADS = "/QuadPoints[72 770 300 770 72 755 300 755]"
_HIGHLIGHT = f"/Subtype/Highlight/Rect[72 755 300 770]{_QUADS}/Contents(Too much?)/T(Ada)"


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


def _field(kind: str, name: str, more: str, top: int = 500) -> str:
    return f"/Subtype/Widget/Rect[100 {top} 300 {top + 20}]/FT/{kind}/T({name}){more}"


def test_notes_and_text_boxes_follow_the_text_of_their_page(parser: Parser, tmp_path: Path) -> None:
    pages = [RawPage(["The rent is 900 euros."], [_NOTE, _HIGHLIGHT]), RawPage(["It is due in May."], [_BOX])]
    document = parser.parse(write_raw_pdf(tmp_path / "a.pdf", pages))
    assert document.text.split("\n\n") == [
        "The rent is 900 euros.",
        "Comment (Ada, 2024-05-01): Ask the landlord.",
        "Comment (Ada): Too much?",
        "It is due in May.",
        "Paid in cash.",
    ]
    on_page = {page.number: document.text[page.start : page.end] for page in document.pages}
    assert "Ask the landlord." in on_page[1]
    assert "Paid in cash." in on_page[2]


def test_a_comment_that_is_part_of_a_marked_word_is_kept(parser: Parser, tmp_path: Path) -> None:
    highlight = _HIGHLIGHT.replace("Too much?", "No")
    path = write_raw_pdf(tmp_path / "a.pdf", [RawPage(["Nothing else is due."], [highlight])])
    assert parser.parse(path).text == "Nothing else is due.\n\nComment (Ada): No"


def test_links_states_hidden_notes_and_repeated_text_are_left_out(parser: Parser, tmp_path: Path) -> None:
    annotations = [
        "/Subtype/Link/Rect[0 0 9 9]/Contents(A link)",
        "/Subtype/Popup/Rect[0 0 9 9]/Contents(Ask the landlord.)",
        f"{_NOTE}/State(Accepted)/StateModel(Review)",
        f"{_NOTE}/F 2",
        _HIGHLIGHT.replace("Too much?", "The rent is"),
    ]
    path = write_raw_pdf(tmp_path / "a.pdf", [RawPage(["The rent is 900 euros."], annotations)])
    assert parser.parse(path).text == "The rent is 900 euros."


def test_filled_in_fields_are_written_with_their_names(parser: Parser, tmp_path: Path) -> None:
    states = "/AP<</N<</Yes 3 0 R/Off 3 0 R>>>>"
    fields = [
        _field("Tx", "f1", "/TU(Tenant)/V(Ada Lovelace)"),
        _field("Tx", "street", "/V(5 Pier\\nBern)"),
        _field("Tx", "empty", ""),
        _field("Tx", "secret", "/Ff 8192/V(hunter2)"),
        _field("Ch", "floor", "/Ff 131072/Opt[(1st)(2nd)]/V(2nd)"),
        _field("Btn", "pets", f"/V/Yes/AS/Yes{states}"),
        _field("Btn", "smoker", f"/V/Off/AS/Off{states}"),
    ]
    document = parser.parse(write_raw_pdf(tmp_path / "a.pdf", [RawPage(["Lease"], fields), RawPage(["Page two"])]))
    assert document.text == "Lease\n\nTenant: Ada Lovelace\nstreet: 5 Pier Bern\nfloor: 2nd\npets: [x]\n\nPage two"
    assert [document.text[page.start : page.end].strip()[-4:] for page in document.pages] == [" [x]", " two"]


def test_a_form_without_other_text_is_not_empty(parser: Parser, tmp_path: Path) -> None:
    path = write_raw_pdf(tmp_path / "a.pdf", [RawPage([], [_field("Tx", "Name", "/V(Ada)")])])
    assert parser.parse(path).text == "Name: Ada"


def test_a_form_in_xfa_is_a_warning(parser: Parser, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write_raw_pdf(tmp_path / "a.pdf", [RawPage(["Please wait."], [_field("Tx", "Name", "/V(Ada)")])], xfa=True)
    document = parser.parse(path)
    assert document.text == "Please wait.\n\nName: Ada"
    assert "Print it to a PDF" in document.warnings[0]
    assert caplog.records == []


def test_notes_inside_a_sentence_that_spans_pages_keep_the_pages_in_order(parser: Parser, tmp_path: Path) -> None:
    pages = [RawPage(["The rent is due"], [_NOTE]), RawPage(["in May of each year."], [_BOX])]
    document = parser.parse(write_raw_pdf(tmp_path / "a.pdf", pages))
    assert "The rent is due\nin May" in document.text
    numbers = [page.number for page in document.pages]
    assert numbers == sorted(numbers)
    assert "Ask" in next(document.text[page.start : page.end] for page in document.pages if page.number == 1)


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="needs Tesseract")
def test_a_recognised_page_has_its_text_boxes_and_fields_once(tmp_path: Path) -> None:
    from ingest.reader import OcrMode, ParserOptions

    box = f"{_BOX}/F 4/AP<</N APPEARANCE(Paid in cash.)>>"
    field = _field("Tx", "Tenant", "/V(Ada Lovelace)/F 4/AP<</N APPEARANCE(Ada Lovelace)>>", top=480)
    pages = [RawPage(["The rent is 900 euros."], [box, field, _NOTE])]
    options = ParserOptions(ocr=OcrMode.ALWAYS)
    text = load_parser("default", options).parse(write_raw_pdf(tmp_path / "a.pdf", pages)).text
    assert (text.count("Paid in cash."), text.count("Ada Lovelace")) == (1, 1)
    assert "Ask the landlord." in text


def test_links_have_their_addresses_unless_the_page_shows_them(tmp_path: Path) -> None:
    link = "/Subtype/Link/Rect[70 {0} 300 {1}]/A<</S/URI/URI({2})>>"
    page = RawPage(
        ["the incident portal", "https://example.org/b"],
        [link.format(756, 772, "https://example.org/form"), link.format(740, 756, "https://example.org/b")],
    )
    text = load_parser("default").parse(write_raw_pdf(tmp_path / "a.pdf", [page])).text
    assert text.endswith("https://example.org/b\n\nthe incident portal (https://example.org/form)")
