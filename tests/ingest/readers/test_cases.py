"""Files that lost their meaning or a part of it in public bug reports of document readers, with what must come out.

The files are in ``tests/ingest/cases``, a folder per kind of fault.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ingest.errors import EmptyDocument
from ingest.parser import Parser, load_parser
from ingest.reader import OcrMode, ParserOptions

CASES = Path(__file__).parents[1] / "cases"


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


READ = [
    # Raised and lowered text is not flattened.
    ("01-superscript/h01_supsub.html", ["10^6 tonnes of CO_2", "5^1 million", "| 2^10 | 10^-3 mol |", "x^2 = 100^2"]),
    ("01-superscript/d02_supsub.docx", ["10^6 tonnes of CO_2", "5^1 million", "250 m^2", "3.2 x 10^-3 per s"]),
    ("01-superscript/p03_sup.pptx", ["10^6 cells"]),
    ("01-superscript/x04_phonetic.xlsx", ["| 東京都 | x 10^6 units |"]),
    ("01-superscript/m03_tags.md", ["Use 10^6 cells/ml", "| 10^3 |"]),
    ("01-superscript/o01_tracked.odt", ["It emits 10^6 t."]),
    ("01-superscript/q01_sup.pdf", ["10^6 tonnes of CO_2", "5^1 million"]),
    # No two blocks fuse.
    (
        "02-html-fused-cells/h20_fuse.html",
        ["| Plan monthly |", "| 12 34 | 5 10 |", "| 20 7 8 | 3 4 |", "| 8 9 |", "| 11 22 33 | 1 2 |", "- Price 10",
         "- Total 20", "- 5 6", "- 30 40", "Head sub", "12 34"],
    ),
    ("03-html-mail/f01_htmltable.eml", ["| Pump | 5 | 10 |\n| Valve | 12 | 7 |", "- one\n- two", "Line a\nLine b\n"]),
    ("03-html-mail/f02_htmltable_pretty.eml", ["| Pump | 5 | 10 |\n| Valve | 12 | 7 |", "- one\n- two"]),
    ("03-html-mail/e15_alt.eml", ["The new price is 88 EUR.", "| A |\n| --- |\n| 5 |"]),
    ("03-html-mail/e08_html_only_1251.eml", ["Договор до 1 марта 2025.", "| Штраф | 5% |"]),
    # Declared character sets win.
    ("04-mail-charset/f03_gb2312_b64.eml", ["合同金额为人民币五百元，三十天内付款。"]),
    ("04-mail-charset/f04_big5_b64.eml", ["合約金額為五百元，三十天內付款。"]),
    ("04-mail-charset/f06_koi8r_b64.eml", ["Договор до марта 2025 года."]),
    ("04-mail-charset/f07_eucjp_b64.eml", ["契約は2024年4月1日に発効する。"]),
    ("04-mail-charset/f08_sjis_b64.eml", ["契約は2024年4月1日に発効する。"]),
    ("04-mail-charset/f09_latin2_b64.eml", ["Umowa wygasa 3 maja 2026. Zażółć gęślą jaźń."]),
    ("04-mail-charset/f16_ksc_b64.eml", ["계약은 2027년에 종료된다."]),
    # Whole books.
    ("06-epub-lost-chapters/bk01_percent.epub", ["value 11", "value 22", "value 33"]),
    ("06-epub-lost-chapters/bk02_umlaut_percent.epub", ["value 11", "value 22", "value 33"]),
    ("06-epub-lost-chapters/bk14_utf16.epub", ["value 11", "value 22", "value 33"]),
    ("06-epub-lost-chapters/bk18_table.epub", ["| Linz | 10 |\n| Linz | 7 |", "note[1]", "T: D", "Cap 5"]),
    # Numbers of headings as Word prints them.
    (
        "07-word-heading-numbers/k01_basedon.docx",
        ["1. Scope [1.]", "1.1 Terms [1.1]", "1.2 Parties [1.2]", "2. Payment [2.]", "2.1 Late fees [2.1]"],
    ),
    ("07-word-heading-numbers/k02_backlink.docx", ["1.1 Terms [1.1]", "2. Payment [2.]", "2.1 Late fees [2.1]"]),
    (
        "07-word-heading-numbers/d06_numbering.docx",
        ["Article I. Definitions", "Section 1.01 Term", "Article II. Payment", "(a) waived on request", "2. plain two",
         "d) override", "e) override"],
    ),
    (
        "08-word-sym/d01_sym.docx",
        ["≤ 40 °C", "±5 %", "α = 0.3", "≥ 12 bar", "☑ yes ☐ no", "≥ 7 days"],
    ),
    # Tables of values.
    ("09-csv-late-quotes/c01_doublequote_late.csv",
     ['| 500 | Valve "Delta", 3 bar | He said "replace it", then left |', "| 501 | Pump 501 | ok, fine |"]),
    ("09-csv-late-quotes/c02_sep.csv", ["| name | price |\n| --- | --- |\n| Bolt | 1,50 |"]),
    ("09-csv-late-quotes/c15_singlequote.csv", ["| 3 | O'Brien's car |"]),
    (
        "12-xlsx-formats/x02_formats.xlsx",
        ["| 01067 | 25.6% | 1,234.50 EUR | 31:30 | 12.5 M | 2024-01-01 | 0.3 | ~~99~~ |",
         "| 00501 | 7.0% | 19.99 EUR | 48:00 | 1.0 M | 2024-01-01 | 1.1E-07 | 89 |"],
    ),
    # Struck text is kept with a mark.
    ("19-strikethrough/d03_strike.docx",
     ["fee is ~~4,500 EUR~~ 5,200 EUR.", "~~Clause 7: The supplier may terminate at any time.~~"]),
    ("19-strikethrough/p03_sup.pptx", ["fee ~~500~~ 400 EUR"]),
    ("19-strikethrough/h02_hidden.html", ["Was ~~100 EUR~~ 80 EUR, ~~struck~~ now."]),
    ("19-strikethrough/m03_tags.md", ["~~The fee is 100 EUR.~~ The fee is 80 EUR."]),
    # Diagrams, forms, charts.
    ("20-word-smartart-forms/d08_smartart.docx",
     ["Step 1: Request approval from finance", "Step 2: Sign within 14 days"]),
    ("20-word-smartart-forms/d07_formfields.docx", ["Delivery method: Collection in person", "[x] yes  [ ] no"]),
    ("21-chart-labels/p06_multilevel.pptx", ["| 2023 Q1 | 0.25 |", "| 2024 Q2 | 0.44 |"]),
    ("21-chart-labels/p05_chartex.pptx", ["Cash bridge 2024", "| Start | 120 |\n| Loss | -35 |\n| End | 85 |"]),
    ("22-pre-br/h03_pre.html", ["alpha = 1\nbeta = 2\ngamma = 3"]),
    (
        "23-mail-calendar-mbox/e09_calendar.eml",
        ["You are invited.", "Start: 2024-03-12 14:00 UTC", "Location: Room 7", "Bring the Q1 figures"],
    ),
    ("23-mail-calendar-mbox/i01.ics", ["Summary: Budget review", "Bring the Q1 figures\nand the lists."]),
    # Small ones.
    ("30-small-word-pptx/k07_footnote.docx", ["500[1] million", "[1] See annex A.", "20[2] euros", "[2] See annex B."]),
    ("30-small-word-pptx/d04_ruby.docx", ["東京の本社は1987年に設立された。"]),
    ("30-small-word-pptx/p02_startat.pptx", ["5. Close valve\n6. Open vent", "a) alpha\nb) beta"]),
    ("30-small-word-pptx/p01_order.pptx", ["Step one: design\n\nStep two: build\n\nStep three: sell"]),
    ("30-small-word-pptx/d05_tracked.docx", ["The joint venture ends in 2031."]),
    ("31-links/d09_hyperlink.docx", ["the incident portal (https://portal.example.org/incident-form)"]),
    ("31-links/h10_link.html", ["here (https://example.org/forms/F-22.pdf)", "the desk (desk@example.org)"]),
    ("31-links/m05_autolink.md", ["See https://example.org/a?b=1 and desk@example.org.", "Link (https://example.org/x)"]),
    (
        "60-markdown-angle-brackets/elements.md",
        ["The <phone> element takes a number, and <fax> is optional; use <note>", "a<b and c>d", "a List<String>",
         "Map<Key, Value>", "Press <Enter>, then <Ctrl>+<S>.", "<unit>kPa</unit> is the unit of <pressure>."],
    ),
    (
        "60-markdown-angle-brackets/comment.md",
        ["\n\nThe lease ends in May.\n\nMore\n\nThe deposit is 900.\n\n~~wrong: 12~~ right: 14."],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("file", "passages"), READ, ids=[file for file, _ in READ])
def test_the_text_says_what_the_file_says(parser: Parser, file: str, passages: list[str]) -> None:
    text = parser.parse(CASES / file).text
    assert [passage for passage in passages if passage not in text] == []


LEFT_OUT = [
    ("18-html-hidden/h02_hidden.html", ["999", "warranty", "aria hidden", "class hidden", "hidden attribute"], "hides"),
    ("19-strikethrough/d03_strike.docx", ["INTERNAL"], "6 words of hidden text were left out"),
    ("23-mail-calendar-mbox/e02_nested.eml", ["Inner body"], ""),
    ("30-small-word-pptx/d05_tracked.docx", ["Old pump", "old place", "30"], ""),
]


@pytest.mark.parametrize(("file", "words", "warning"), LEFT_OUT, ids=[case[0] for case in LEFT_OUT])
def test_hidden_and_deleted_text_is_left_out(parser: Parser, file: str, words: list[str], warning: str) -> None:
    document = parser.parse(CASES / file)
    assert [word for word in words if word in document.text] == []
    assert warning in " ".join(document.warnings)


WARNED = [
    ("05-one-bad-byte/t11_utf8_badbyte.txt", "Café Åse ends on 5 May 2027. \ufffd Rent is 1.000 €.", "1 invalid byte"),
    ("05-one-bad-byte/c18_badbyte.csv", "| Müller | Köln | 10 € |\n| Sch\ufffd | Bonn | 5 |", "1 invalid byte"),
    ("05-one-bad-byte/t01_latin2.txt", "Zażółć gęślą jaźń. Umowa wygasa 3 maja 2026.", "Read as iso8859-2. This"),
    ("05-one-bad-byte/t03_cp1252_short.txt", "Café Ångström, 5 € naïve", "Read as cp1252. This encoding is a guess"),
    ("05-one-bad-byte/t06_koi8.txt", "Срок действия договора истекает 1 марта 2025 года.", "Read as koi8-r."),
    ("05-one-bad-byte/t07_eucjp.txt", "契約は2024年4月1日に発効し、期間は三年間とする。", "Read as euc"),
    ("06-epub-lost-chapters/bk04_missingfile.epub", "value 33", "The chapter ch2.xhtml is missing"),
    ("11-xlsx-no-cached-values/x01_nocache.xlsx", "| Sum | 1500 | 1530 | 3030 |", "5 formulas without a stored"),
]


@pytest.mark.parametrize(("file", "passage", "warning"), WARNED, ids=[case[0] for case in WARNED])
def test_what_is_uncertain_or_missing_is_a_warning(parser: Parser, file: str, passage: str, warning: str) -> None:
    document = parser.parse(CASES / file)
    assert passage in document.text
    assert warning in " ".join(document.warnings)


VERTICAL = [
    "契約は二〇二四年四月一日に発効する。期間は三年とし、異議がなければ一年ごとに更新する。",
    "銀行振込で行う。",
]


@pytest.mark.parametrize("file", ["v1_glyph_ja.pdf", "v5_identity_v.pdf", "v7_heading.pdf"])
def test_vertical_columns_are_read_from_right_to_left(parser: Parser, file: str) -> None:
    text = parser.parse(CASES / "43-vertical-text" / file).text.replace("\n", "")
    assert [passage for passage in VERTICAL if passage not in text] == []


TABLE = "| Station | 2022 | 2023 | 2024 |\n| --- | --- | --- | --- |\n| North | 112 | 118 | 121 |"
TURNED = [
    ("q04_rot.pdf", "for the public and for research. Rotated\npage value 417."),
    ("rot_side_90.pdf", TABLE),
    ("rot_side_180.pdf", TABLE),
    ("v06_sidetable270.pdf", TABLE),
]


@pytest.mark.parametrize(("file", "passage"), TURNED)
def test_turned_pages_are_read_in_order(parser: Parser, file: str, passage: str) -> None:
    text = parser.parse(CASES / "29-rotated-sideways" / file).text
    assert passage in text
    assert text.startswith("The water authority measured the level")


def test_words_that_a_page_does_not_show_are_left_out(parser: Parser) -> None:
    layer = parser.parse(CASES / "28-pdf-hidden-layer" / "q08_layer.pdf")
    assert layer.text == "Visible price 80 EUR."
    assert layer.warnings == (
        "4 words on page 1 are not shown (hidden layer, white or tiny print). They were left out.",
    )
    white = parser.parse(CASES / "28-pdf-hidden-layer" / "q09_white.pdf").text
    assert "Visible: the deposit is 300 EUR." in white
    assert "WHITE" not in white
    assert "TINY" not in white


needs_tesseract = pytest.mark.skipif(shutil.which("tesseract") is None, reason="Tesseract is not installed")
SCANS = ["13-scan-with-stamp/q14_stamp.pdf", "13-scan-with-stamp/s03_scan_footer.pdf"]
FONTS = ["v01_pua.pdf", "v02_shift.pdf", "v03_fffd.pdf", "v04_cid.pdf"]


@needs_tesseract
@pytest.mark.parametrize("file", SCANS)
def test_a_scan_with_a_stamp_is_recognised(parser: Parser, file: str) -> None:
    document = parser.parse(CASES / file)
    assert "line 12 the penalty is five percent" in document.text
    assert str(document.metadata["recognised"]).startswith("page")


@needs_tesseract
@pytest.mark.parametrize("file", FONTS)
def test_a_page_whose_fonts_have_no_character_map_is_recognised(parser: Parser, file: str) -> None:
    document = parser.parse(CASES / "33-pdf-unreadable-font" / file)
    assert document.text.startswith("The warranty lasts 24 months from delivery.")


def test_pages_that_are_not_recognised_are_named() -> None:
    never = load_parser("default", ParserOptions(ocr=OcrMode.NEVER))
    (warning,) = never.parse(CASES / SCANS[1]).warnings
    assert warning.startswith("pages 1-3 covered by a picture, with few words of text, not read: text recognition is")
    for file in FONTS:
        with pytest.raises(EmptyDocument, match="fonts have no usable character map"):
            never.parse(CASES / "33-pdf-unreadable-font" / file)


def test_a_large_cell_does_not_cost_the_table(parser: Parser, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"id,text\n1,{'lorem ipsum ' * 20000}\n2,short\n")
    text = parser.parse(tmp_path / "a.csv").text
    assert len(text) > 240_000
    assert text.endswith("| 2 | short |")
