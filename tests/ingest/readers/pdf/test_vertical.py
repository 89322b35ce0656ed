"""Vertical Japanese and Chinese text is read column by column, from right to left."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from ingest.parser import Parser, load_parser
from ingest.reader import OcrMode, ParserOptions
from support.vertical_pdf import VerticalPage

TEXT = (
    "契約は二〇二四年四月一日に発効する。期間は三年とし、異議がなければ一年ごとに更新する。"
    "賃料は月額五万二千円とする。支払いは毎月末日までに銀行振込で行う。"
)
LETTERS = TEXT + "賃貸借契約書けいやく序章終早遅夜休日月火水木（）"
LEAD = 20  # points from column to column


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default", ParserOptions(ocr=OcrMode.NEVER))


@pytest.fixture
def page(tmp_path: Path) -> VerticalPage:
    return VerticalPage(tmp_path, LETTERS)


def cut(text: str, length: int = 20) -> list[str]:
    return [text[start : start + length] for start in range(0, len(text), length)]


def write(page: VerticalPage, columns: list[str], x: float = 500, y: float = 80, pitch: float = 1.0) -> None:
    for number, column in enumerate(columns):
        page.column(x - number * LEAD, y, column, pitch=pitch)


def read(parser: Parser, path: Path) -> str:
    return parser.parse(path).text


@pytest.mark.parametrize("pitch", [1.0, 1.15, 1.3])
def test_columns_between_a_heading_and_a_page_number(
    parser: Parser, page: VerticalPage, tmp_path: Path, pitch: float
) -> None:
    page.line(200, 30, "賃貸借契約書", 18)
    write(page, cut(TEXT), pitch=pitch)
    page.line(290, 800, "12", 10)
    text = read(parser, page.save(tmp_path / "a.pdf"))
    assert text == "\n\n".join(["賃貸借契約書", "\n".join(cut(TEXT)), "12"])


def test_a_font_that_writes_downwards(parser: Parser, page: VerticalPage, tmp_path: Path) -> None:
    for top, (number, column) in product((80, 400), enumerate(cut(TEXT))):
        page.line(500 - number * LEAD, top, column)
    text = read(parser, page.save(tmp_path / "a.pdf", identity_v=True))
    assert text == "\n".join(cut(TEXT) * 2)


def test_tiers_are_read_one_after_the_other(parser: Parser, page: VerticalPage, tmp_path: Path) -> None:
    page.line(60, 30, "賃貸借契約書", 9)
    write(page, cut(TEXT, 12), y=80)
    write(page, cut(TEXT, 13), y=260)
    text = read(parser, page.save(tmp_path / "a.pdf"))
    assert text == "賃貸借契約書\n\n" + "\n".join([*cut(TEXT, 12), *cut(TEXT, 13)])


def test_a_title_beside_two_tiers_comes_first(parser: Parser, page: VerticalPage, tmp_path: Path) -> None:
    page.column(500, 80, "賃貸借契約書序章終", 24, 1.3)
    write(page, cut(TEXT, 12), x=450, y=80)
    write(page, cut(TEXT, 12), x=450, y=260)
    text = read(parser, page.save(tmp_path / "a.pdf"))
    assert text.split() == ["賃貸借契約書序章終", *cut(TEXT, 12), *cut(TEXT, 12)]


def test_two_columns_of_lines_above_keep_their_order(parser: Parser, page: VerticalPage, tmp_path: Path) -> None:
    lines = [[f"{side} line {row} of the summary" for row in range(4)] for side in ("Left", "Right")]
    for side, texts in enumerate(lines):
        for row, text in enumerate(texts):
            page.line(60 + 260 * side, 30 + 14 * row, text, 9)
    write(page, cut(TEXT) * 2, y=160)
    text = read(parser, page.save(tmp_path / "a.pdf"))
    assert text.replace("\n\n", "\n").splitlines() == [*lines[0], *lines[1], *cut(TEXT) * 2]


def test_digits_beside_each_other_stand_in_their_column(parser: Parser, page: VerticalPage, tmp_path: Path) -> None:
    page.line(200, 30, "序章")
    write(page, ["契約は|20|年|12|月|3|日に発効する。", "|12|月末日までに", "る。", "（|100|）賃料は月額五万円"])
    text = read(parser, page.save(tmp_path / "a.pdf"))
    assert text.split() == [
        "序章",
        "契約は20年12月3日に発効する。",
        "12月末日までに",
        "る。",
        "（100）賃料は月額五万円",
    ]


def test_readings_beside_a_column_are_left_out(parser: Parser, page: VerticalPage, tmp_path: Path) -> None:
    write(page, ["契約は二〇二四年四月一日に発効する", "賃料は月額五万二千円とする"])
    page.column(512, 78, "けいやく", 6)
    assert (
        read(parser, page.save(tmp_path / "a.pdf")) == "契約は二〇二四年四月一日に発効する\n賃料は月額五万二千円とする"
    )


def test_lines_of_single_placed_characters_stay_lines(parser: Parser, page: VerticalPage, tmp_path: Path) -> None:
    for row, line in enumerate(cut(TEXT, 25)):
        for column, character in enumerate(line):
            page.line(60 + 12 * column, 100 + 13 * row, character)
    text = read(parser, page.save(tmp_path / "a.pdf"))
    assert text.replace(" ", "") == "\n".join(cut(TEXT, 25))


def test_a_table_of_single_characters_stays_a_table(parser: Parser, page: VerticalPage, tmp_path: Path) -> None:
    for row, cells in enumerate(["日月火水木", "早遅夜休早", "遅夜休早遅", "夜休早遅夜", "休早遅夜休"]):
        for column, cell in enumerate(cells):
            page.line(60 + 24 * column, 100 + 15 * row, cell, 10)
    text = read(parser, page.save(tmp_path / "a.pdf"))
    assert text.splitlines()[-1] == "| 休 | 早 | 遅 | 夜 | 休 |"
    assert text.startswith("| 日 | 月 | 火 | 水 | 木 |")


def test_a_column_of_marks_stays_in_its_table(parser: Parser, page: VerticalPage, tmp_path: Path) -> None:
    for row in range(6):
        page.line(60, 100 + 14 * row, f"Item {row}", 10)
        page.line(150, 100 + 14 * row, "x" if row % 2 else "1", 10)
        page.line(180, 100 + 14 * row, "2" if row % 2 else "x", 10)
    assert "| Item 4 | 1 | x |\n| Item 5 | x | 2 |" in read(parser, page.save(tmp_path / "a.pdf"))


@pytest.mark.parametrize("label", ["賃料月額", "NORVIK"])
def test_a_label_beside_lines_that_is_written_downwards_is_one_line(
    parser: Parser, page: VerticalPage, tmp_path: Path, label: str
) -> None:
    lines = cut(TEXT, 25)
    for row, line in enumerate(lines):
        page.line(120, 100 + 24 * row, line)
    page.column(60, 105, label, 14)
    text = read(parser, page.save(tmp_path / "a.pdf"))
    assert [each for each in text.split("\n") if each] == [*lines, label]


def test_letters_beside_the_rows_of_a_list_are_no_label(parser: Parser, page: VerticalPage, tmp_path: Path) -> None:
    for row, letter in enumerate("ABCD"):
        page.line(60, 100 + 13 * row, letter)
        page.line(90, 100 + 13 * row, f"Answer {row}")
    assert "ABCD" not in read(parser, page.save(tmp_path / "a.pdf"))


def test_letters_below_each_other_are_one_word(parser: Parser, page: VerticalPage, tmp_path: Path) -> None:
    write(page, ["契約書はABCとする。", "賃料は月額五万二千円とする"])
    assert read(parser, page.save(tmp_path / "a.pdf")) == "契約書はABCとする。\n賃料は月額五万二千円とする"


def test_a_turned_word_that_is_drawn_last_stands_in_its_column(
    parser: Parser, page: VerticalPage, tmp_path: Path
) -> None:
    write(page, ["契約書は", "賃料は月額五万二千円とする期間は三年"])
    with page.turned(503, 129):
        page.line(503, 118.5, "Norvik")
    page.column(500, 168, "とする一年")
    assert read(parser, page.save(tmp_path / "a.pdf")).startswith("契約書はNorvikとする一年\n賃料は")


def test_boxes_beside_each_other_have_their_own_headings(parser: Parser, page: VerticalPage, tmp_path: Path) -> None:
    page.line(200, 20, "賃貸借契約書序章終", 18)
    for x, heading in ((520, "序章"), (250, "終章")):
        page.line(x - 120, 60, heading, 14)
        write(page, cut(TEXT, 12), x=x, y=100)
    text = read(parser, page.save(tmp_path / "a.pdf"))
    body = "\n".join(cut(TEXT, 12))
    assert text == f"賃貸借契約書序章終\n\n序章\n\n{body}\n\n終章\n\n{body}"


@pytest.mark.parametrize("x", [20, 520])
def test_a_note_in_columns_beside_lines_follows_the_page(
    parser: Parser, page: VerticalPage, tmp_path: Path, x: float
) -> None:
    lines = [TEXT[start : start + 16] for start in (0, 5, 9, 14, 21, 27, 33, 39)]
    for row, line in enumerate(lines[:4]):
        page.line(80, 80 + 18 * row, line)
    write(page, ["期間は三年休日水", "更新月火水木終日"], x=x)
    for row, line in enumerate(lines[4:], start=4):
        page.line(80, 80 + 18 * row, line)
    text = read(parser, page.save(tmp_path / "a.pdf"))
    assert "".join(text.split()) == "".join([*lines, "期間は三年休日水更新月火水木終日"])
