"""Old Word files (.doc) are read as Word shows them: current text, notes, tables, form, lists."""

from __future__ import annotations

import random
import struct
from itertools import accumulate
from pathlib import Path

import pytest

from ingest.errors import ParseError
from ingest.parser import Parser, load_parser
from support.word_binary import sprm, write_doc

CASES = Path(__file__).parents[1] / "cases"
SPECIAL, IN_TABLE, ROW_END, DELETED = sprm(0x0855, 1), sprm(0x2416, 1), sprm(0x2417, 1), sprm(0x0800, 1)


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


READ = [
    ("38-doc-notes-lost/d1_notes.doc",
     ["per month[1].", "[1] Footnote: plus 19 % value added tax.", "[i] Endnote: counted from the end of the month.",
      "Comment: check the deposit of 5,700.", "Text box: keys are at desk 4.", "Header: file number HX-77",
      "Footer: version 3 of 2024", "- first duty\n- second duty\n  - sub duty", "10^6 units; visible",
      "~~struck 4,500~~ now 5,200", "See Annex B (https://example.org/annex-b) on page 1."]),
    ("38-doc-notes-lost/d3_cyr.doc",
     ["рублей[1]. Срок", "[1] Сноска: без НДС.", "Колонтитул: дело 77", "Ελλάδα, 契約は2024年, עברית"]),
    ("39-doc-deleted-text/d4_changes.doc", ["The payment term is 30 days from receipt."]),
    ("40-doc-fast-saved/d5_fastsaved.doc",
     ["The final price is 5,200 EUR.\n\nMüller signed on 3 May 2024 – “agreed”.\n\nСрок — 45 дней."]),
    ("40-doc-fast-saved/one_piece.doc", ["Plain one piece text: Café für 5 €."]),
    ("41-doc-tables-fields/t1_simple.doc", ["| Bolt | 120 | 1.50 |\n| Nut | 80 | 0.80 |\n\nEnd."]),
    ("41-doc-tables-fields/t2_empty.doc", ["| Bolt |  | 1.50 |\n| Nut | 80 |  |\n| Seal |  |  |\n\nEnd."]),
    ("41-doc-tables-fields/t3_multi.doc", ["| Bolt | 120 in stock | 1.50 |"]),
    ("41-doc-tables-fields/d2_table.doc",
     ["| Part | 2024 net | 2024 gross | Note |",
      "| Bolt | 1.50 | 1.79 | in stock second line |", "\n\nAfter the table."]),
]  # fmt: skip


@pytest.mark.parametrize(("file", "passages"), READ, ids=[file for file, _ in READ])
def test_the_text_says_what_word_shows(parser: Parser, file: str, passages: list[str]) -> None:
    text = parser.parse(CASES / file).text
    assert [passage for passage in passages if passage not in text] == []


LEFT_OUT = [
    ("38-doc-notes-lost/d1_notes.doc", ["HIDDEN", "SHAPE", "HYPERLINK", "PAGE"], "3 words of hidden text"),
    ("39-doc-deleted-text/d4_changes.doc", ["14 days"], ""),
    ("40-doc-fast-saved/d5_fastsaved.doc", ["4,500", "deleted"], ""),
]


@pytest.mark.parametrize(("file", "words", "warning"), LEFT_OUT, ids=[case[0] for case in LEFT_OUT])
def test_deleted_and_hidden_text_and_codes_are_left_out(
    parser: Parser, file: str, words: list[str], warning: str
) -> None:
    document = parser.parse(CASES / file)
    assert [word for word in words if word in document.text] == []
    assert warning in " ".join(document.warnings)


def test_form_symbols_and_characters_beyond_the_first_plane(parser: Parser, tmp_path: Path) -> None:
    fonts = struct.pack("<HH", 1, 0) + _font("Symbol")
    runs = [
        ("10", b""), ("6", sprm(0x4845, struct.pack("<h", 6))), (" CO", b""), ("2", sprm(0x2A48, 2)),
        (" 😀 at ", b""), ("old", sprm(0x0837, 1)), (" new ", b""),
        ("(", SPECIAL + sprm(0x6A09, struct.pack("<HH", 0, 0xF0A3))), (" 7 <b>&\x0bnext\r", b""),
    ]  # fmt: skip
    path = write_doc(tmp_path / "a.doc", runs, parts={15: fonts})
    assert parser.parse(path).text == "10^6 CO_2 😀 at ~~old~~ new ≤ 7 <b>&\nnext"


def test_letters_that_formatting_shows_as_capitals_stay_as_typed(parser: Parser, tmp_path: Path) -> None:
    runs = [("The ", b""), ("supplier", sprm(0x083B, 1)), (" pays ", b""), ("Norvik", sprm(0x083A, 1)), (".\r", b"")]
    assert parser.parse(write_doc(tmp_path / "a.doc", runs)).text == "The supplier pays Norvik."


def _font(name: str) -> bytes:
    return bytes([41 + 2 * len(name)]) + bytes(39) + name.encode("utf-16-le") + b"\0\0"


def test_a_paragraph_whose_end_was_deleted_goes_on(parser: Parser, tmp_path: Path) -> None:
    runs = [("The tenant shall ", b""), ("not", DELETED), ("\r", DELETED), ("pay.\rNext.\r", b"")]
    assert parser.parse(write_doc(tmp_path / "a.doc", runs)).text == "The tenant shall pay.\n\nNext."


def _row(edges: list[int], flags: list[int]) -> bytes:
    cells = b"".join(struct.pack("<H18x", each) for each in flags)
    content = bytes([len(flags)]) + struct.pack(f"<{len(edges)}h", *edges) + cells
    return IN_TABLE + ROW_END + sprm(0xD608, struct.pack("<H", len(content) + 1) + content)


def test_wide_and_tall_cells_repeat_their_text(parser: Parser, tmp_path: Path) -> None:
    text = "Part\x07Price\x07\x07Part\x07net\x07gross\x07\x07Bolt\x071\x072\x07\x07After.\r"
    cell = [IN_TABLE] * 3
    even = [0, 2000, 3000, 4000]
    paragraphs = [
        *cell[:2], _row([0, 2010, 4000], [0x60, 0]), *cell, _row(even, [0x20, 0, 0]),
        *cell, _row(even, [0, 0, 0]),
    ]  # fmt: skip
    found = parser.parse(write_doc(tmp_path / "a.doc", [(text, b"")], paragraphs)).text
    assert found == ("| Part | Price net | Price gross |\n| --- | --- | --- |\n| Bolt | 1 | 2 |\n\nAfter.")


def test_a_merged_cell_repeats_the_text_above(parser: Parser, tmp_path: Path) -> None:
    edges, cell = [0, 2000, 3000], [IN_TABLE] * 2
    paragraphs = [*cell, _row(edges, [0x60, 0]), *cell, _row(edges, [0x20, 0])]
    path = write_doc(tmp_path / "a.doc", [("Bolt\x071\x07\x07\x072\x07\x07After.\r", b"")], paragraphs)
    assert "| Bolt | 2 |\n\nAfter." in parser.parse(path).text


def test_tables_in_tables_stay_in_their_cell(parser: Parser, tmp_path: Path) -> None:
    inner = IN_TABLE + sprm(0x6649, struct.pack("<I", 2))
    text = "Size\rin 5\rmm 6\r\rend\x07right\x07\x07a\x07b\x07\x07Out.\r"
    paragraphs = [
        IN_TABLE, inner + sprm(0x244B, 1), inner + sprm(0x244B, 1), inner + sprm(0x244C, 1), IN_TABLE, IN_TABLE,
        IN_TABLE + ROW_END, IN_TABLE, IN_TABLE, IN_TABLE + ROW_END,
    ]  # fmt: skip
    found = parser.parse(write_doc(tmp_path / "a.doc", [(text, b"")], paragraphs)).text
    assert found == "| Size in 5 mm 6 end | right |\n| --- | --- |\n| a | b |\n\nOut."


@pytest.mark.parametrize(("kind", "shown"), [(0, "3) one\n4) two"), (255, ") one\n) two")], ids=["decimal", "none"])
def test_headings_and_lists_have_their_numbers(parser: Parser, tmp_path: Path, kind: int, shown: str) -> None:
    level = struct.pack("<iBB9sBiIBBBB", 3, kind, 0, bytes(9), 0, 0, 0, 0, 0, 0, 0) + struct.pack(
        "<H2H", 2, 0, ord(")")
    )
    entry = struct.pack("<ii9HBB", 77, 0, *[0xFFF] * 9, 1, 0)
    parts = {
        1: struct.pack("<HHH", 4, 2, 10) + _style(0, "Normal") + _style(1, "Überschrift 1"),
        73: struct.pack("<H", 1) + entry,
        90: level,  # the levels follow the lists, but do not belong to them
        74: struct.pack("<I", 1) + struct.pack("<iII4B", 77, 0, 0, 0, 0, 0, 0) + struct.pack("<I", 0xFFFFFFFF),
    }
    item = sprm(0x460B, struct.pack("<H", 1)) + sprm(0x260A, 0)
    text = "Umfang\rone\rtwo\rtext\r"
    path = write_doc(tmp_path / "a.doc", [(text, b"")], [b"", item, item], styles=[1], parts=parts)
    document = parser.parse(path)
    assert document.text == f"Umfang\n\n{shown}\n\ntext"
    assert (document.blocks[0].kind.value, document.blocks[0].level) == ("heading", 1)


def _style(identity: int, name: str, characters: bytes = b"") -> bytes:
    entry = struct.pack("<HHHHH", identity, 0xFFF1, 2, 0, 0) + struct.pack("<H", len(name))
    entry += name.encode("utf-16-le") + b"\0\0" + struct.pack("<HHH", 2, identity, len(characters)) + characters
    return struct.pack("<H", len(entry)) + entry


def test_the_last_format_of_a_style_counts(parser: Parser, tmp_path: Path) -> None:
    styles = _style(0, "Normal") + _style(10, "Old", sprm(0x0837, 1) + b"\0") + _style(11, "New")
    parts = {1: struct.pack("<HHH", 4, 3, 10) + styles}
    path = write_doc(tmp_path / "a.doc", [("5 EUR\r6 EUR\r", b"")], styles=[1, 2], parts=parts)
    assert parser.parse(path).text == "~~5 EUR~~\n\n6 EUR"


def test_form_fields_show_what_is_chosen(parser: Parser, tmp_path: Path) -> None:
    def stored(kind: int, chosen: int, rest: bytes) -> bytes:
        name = struct.pack("<HHH", 1, ord("N"), 0)
        return struct.pack("<IH62x", 0, 68) + struct.pack("<iHHH", -1, kind | chosen << 2, 0, 0) + name + rest

    box = stored(1, 1, struct.pack("<H", 0) + bytes(20))
    words = b"".join(struct.pack("<H", len(each)) + each.encode("utf-16-le") for each in ("by post", "in person"))
    choice = stored(2, 1, struct.pack("<H", 0) + bytes(20) + struct.pack("<HHH", 0xFFFF, 2, 0) + words)
    runs = [
        ("Paid: \x13 FORMCHECKBOX ", b""), ("\x01", SPECIAL + sprm(0x6A03, struct.pack("<I", 0))), ("\x14\x15", b""),
        (", \x13 FORMDROPDOWN ", b""), ("\x01", SPECIAL + sprm(0x6A03, struct.pack("<I", len(box)))),
        ("\x14\x15.\r", b""),
    ]  # fmt: skip
    path = write_doc(tmp_path / "a.doc", runs, data=box + choice)
    assert parser.parse(path).text == "Paid: [x], in person."


def test_what_a_piece_changes_in_one_byte_counts(parser: Parser, tmp_path: Path) -> None:
    words = ["bold ", "capitals ", "struck", " hidden", ".\r"]
    marks = [0x55, 0x5A, 0x57, 0x5C, 0]  # MS-DOC, 2.9.215
    starts = [0, *accumulate(map(len, words))]
    pieces = b"".join(
        struct.pack("<HIH", 0, 2048 + 2 * start, mark << 1 | (1 << 8 if mark else 0))
        for start, mark in zip(starts, marks, strict=False)
    )
    table = struct.pack(f"<{len(starts)}I", *starts) + pieces
    path = write_doc(
        tmp_path / "a.doc", [("".join(words), b"")], parts={33: b"\x02" + struct.pack("<I", len(table)) + table}
    )
    assert parser.parse(path).text == "bold capitals ~~struck~~."


def test_a_file_without_a_piece_table_is_read_with_a_warning_or_refused(parser: Parser, tmp_path: Path) -> None:
    path = write_doc(tmp_path / "a.doc", [("The rent is 5 EUR.\r", b"")], parts={33: b""})
    try:
        warnings = parser.parse(path).warnings
    except ParseError:
        return
    assert "The file is damaged" in warnings[0]


@pytest.mark.parametrize("seed", range(25))
def test_damaged_files_raise_only_documented_errors(parser: Parser, tmp_path: Path, seed: int) -> None:
    generator = random.Random(seed)
    damaged = bytearray((CASES / "38-doc-notes-lost/d1_notes.doc").read_bytes())
    for _ in range(40):
        damaged[generator.randrange(512, len(damaged))] = generator.choice([0, 1, 255, generator.randrange(256)])
    path = tmp_path / "a.doc"
    path.write_bytes(damaged)
    try:
        text = parser.parse(path).text
    except ParseError:
        return
    assert text
