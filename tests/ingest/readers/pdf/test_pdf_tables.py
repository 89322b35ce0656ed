"""Column heads, rows and cells of PDF tables, on generated pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from ingest.document import BlockKind
from ingest.parser import Parser, load_parser

LEFT = 20


class Placed(NamedTuple):
    """A text and its place on the page in millimetres. ``x`` is its left end, centre or right end, by ``align``."""

    x: float
    y: float
    text: str
    size: float = 11
    bold: bool = False
    align: str = "L"


Rule = tuple[float, float, float]
"""Left end, right end and height of a drawn line, in millimetres from the top left corner."""


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


def read(
    parser: Parser, tmp_path: Path, *pages: Sequence[Placed], rules: Sequence[Rule] = ()
) -> tuple[list[list[str]], str]:
    """Return the tables and the full text of a PDF with these pages."""
    from fpdf import FPDF

    pdf = FPDF()
    for texts in pages:
        pdf.add_page()
        for placed in texts:
            pdf.set_font("Helvetica", "B" if placed.bold else "", placed.size)
            width = pdf.get_string_width(placed.text)
            pdf.text(placed.x - {"L": 0, "C": width / 2, "R": width}[placed.align], placed.y, placed.text)
        for left, right, y in rules:
            pdf.line(left, y, right, y)
    path = tmp_path / "a.pdf"
    pdf.output(str(path))
    document = parser.parse(path)
    tables = [document.text[block.start : block.end] for block in document.blocks if block.kind is BlockKind.TABLE]
    return [table.splitlines() for table in tables], document.text


def row(y: float, label: str, *values: str, columns: Sequence[float] = (110, 135, 160, 185)) -> list[Placed]:
    """Return a label and figures that are right-aligned in their columns."""
    figures = [Placed(x, y, text, align="R") for x, text in zip(columns, values, strict=False)]
    return [Placed(LEFT, y, label), *figures]


def heads(y: float, *texts: str, columns: Sequence[float] = (110, 135, 160, 185), size: float = 11) -> list[Placed]:
    return [Placed(x, y, text, size, align="R") for x, text in zip(columns, texts, strict=False) if text]


BODY = [*row(70, "Sales", "1,204", "1,120", "3,512", "3,298"), *row(76, "Costs", "804", "799", "2,401", "2,377")]


def test_multi_line_heads_in_small_type_are_read_column_by_column(parser: Parser, tmp_path: Path) -> None:
    stacked = [
        placed
        for column, texts in (
            (110, ["Number", "of", "shares"]),
            (135, ["Price", "paid"]),
            (160, ["Value", "of shares"]),
        )
        for number, text in enumerate(reversed(texts))
        for placed in heads(60 - 3 * number, text, columns=[column], size=8)[::-1]
    ]
    date = [Placed(LEFT, 66, "June 30, 2024", 8)]
    body = [*row(72, "May", "1,204", "1.12", "3,512"), *row(78, "June", "804", "7.99", "2,401")]
    ((head, _, *rows),), _ = read(parser, tmp_path, [*stacked, *date, *body])
    assert head == "|  | Number of shares | Price paid | Value of shares |"
    assert rows[-1] == "| June | 804 | 7.99 | 2,401 |"


def test_the_rule_below_a_head_marks_its_columns(parser: Parser, tmp_path: Path) -> None:
    above = [Placed(147, 58, "Fair value", align="C")]
    names = heads(64, "Carrying", "Level 1", "Level 2", "Level 3")
    ((head, *_),), _ = read(parser, tmp_path, [*above, *names, *BODY], rules=[(120, 186, 59.5)])
    assert head == "|  | Carrying | Fair value Level 1 | Fair value Level 2 | Fair value Level 3 |"


def test_a_right_aligned_head_is_repeated_over_its_columns(parser: Parser, tmp_path: Path) -> None:
    years = heads(58, "2024", "2023", columns=(135, 185))
    ((head, *_),), _ = read(parser, tmp_path, [*years, *heads(64, "Q2", "Q1", "Q2", "Q1"), *BODY])
    assert head == "|  | 2024 Q2 | 2024 Q1 | 2023 Q2 | 2023 Q1 |"


def test_a_unit_below_the_heads_does_not_separate_them(parser: Parser, tmp_path: Path) -> None:
    unit = [Placed(143, 65, "(in thousands)", align="C")]
    years = heads(59, "2024", "2023", "2022", "2021")
    (table,), _ = read(parser, tmp_path, [*years, *unit, *BODY])
    assert table[0].startswith("|  | 2024")
    assert table[2] == "| Sales | 1,204 | 1,120 | 3,512 | 3,298 |"


def test_currency_signs_above_columns_are_heads(parser: Parser, tmp_path: Path) -> None:
    above = [*heads(59, "Debt", "Equity", "Other", "Total"), *heads(64, "£", "£", "£", "£")]
    ((head, *_),), _ = read(parser, tmp_path, [*above, *BODY])
    assert head == "|  | Debt £ | Equity £ | Other £ | Total £ |"


def test_a_title_above_the_whole_table_is_not_a_head(parser: Parser, tmp_path: Path) -> None:
    title = [Placed((LEFT + 185) / 2, 52, "Statement of income", align="C")]
    ((head, *_),), text = read(parser, tmp_path, [*title, *heads(64, "2024", "2023", "2022", "2021"), *BODY])
    assert head == "|  | 2024 | 2023 | 2022 | 2021 |"
    assert text.startswith("Statement of income")


def test_the_day_of_a_date_in_a_head_is_not_a_value(parser: Parser, tmp_path: Path) -> None:
    columns = (110, 135)
    date = [
        placed
        for column, year in zip(columns, ("2024", "2023"), strict=True)
        for y, text in ((54, "October"), (58, "29,"), (62, year))
        for placed in heads(y, text, columns=[column])
    ]
    body = [*row(70, "Sales", "1,204", "1,120"), *row(76, "Costs", "804", "799"), *row(82, "Rent", "8", "7")]
    ((head, *_),), _ = read(parser, tmp_path, [*date, *body])
    assert head == "|  | October 29, 2024 | October 29, 2023 |"


def test_another_header_starts_another_table(parser: Parser, tmp_path: Path) -> None:
    names = ("Gross", "Net")

    def part(y: float, year: str) -> list[Placed]:
        lines = (row(y + 12 + 6 * number, label, "12", "11") for number, label in enumerate(("Cash", "Debt", "Rent")))
        return [Placed(122, y, year, align="C"), *heads(y + 5, *names), *(placed for line in lines for placed in line)]

    (first, second), _ = read(parser, tmp_path, [*part(50, "June 2024"), *part(84, "June 2023")])
    assert first[0] == "|  | June 2024 Gross | June 2024 Net |"
    assert second[0] == "|  | June 2023 Gross | June 2023 Net |"


@pytest.mark.parametrize(
    "label",
    [
        pytest.param([Placed(LEFT, 82, "Loans", 8, bold=True)], id="in smaller type"),
        pytest.param([Placed(LEFT, 82, "Loans for the construction of houses and the like")], id="over a column"),
        pytest.param([Placed(LEFT, 82 + 5 * line, f"shares line {line}") for line in range(5)], id="of five lines"),
    ],
)
def test_a_label_does_not_separate_rows_from_their_heads(parser: Parser, tmp_path: Path, label: list[Placed]) -> None:
    y = label[-1].y + 5
    columns = (100, 135, 160, 185)
    page = [
        *heads(64, "2024", "2023", "2022", "2021", columns=columns),
        *row(70, "Sales", "1,204", "1,120", "3,512", "3,298", columns=columns),
        *row(76.5, "Costs", "804", "799", "2,401", "2,377", columns=columns),
        *label,
        *row(y, "Pass", "12", "11", "10", "9", columns=columns),
    ]
    (table,), _ = read(parser, tmp_path, page)
    assert table[-1].endswith("| 12 | 11 | 10 | 9 |")


def test_figures_without_a_label_form_a_separate_row(parser: Parser, tmp_path: Path) -> None:
    groups = [
        placed
        for number, name in enumerate(("Ann Archer", "Bea Baker"))
        for line in range(4)
        for placed in row(70 + 24 * number + 5 * line, name if line == 0 else "", f"{line}00", f"{line}50", f"{line}")
        if placed.text
    ]
    (table,), _ = read(parser, tmp_path, [*heads(64, "2024", "2023", "2022"), *groups])
    assert table[2:5] == ["| Ann Archer | 000 | 050 | 0 |", "|  | 100 | 150 | 1 |", "|  | 200 | 250 | 2 |"]


def test_a_two_line_label_and_its_values_form_one_row(parser: Parser, tmp_path: Path) -> None:
    chair = [Placed(LEFT, 80, "Chairman and Interim"), Placed(LEFT, 84, "Financial Officer")]
    page = [*heads(64, "2024", "2023"), *row(70, "Clerk", "12", "11"), *chair, *row(82, "", "14", "13")[1:]]
    (table,), _ = read(parser, tmp_path, [*page, *row(92, "Cook", "10", "9"), *row(98, "Guard", "8", "7")])
    assert "| Chairman and Interim Financial Officer | 14 | 13 |" in table


def test_dot_leaders_do_not_join_labels_and_values(parser: Parser, tmp_path: Path) -> None:
    page = [
        Placed(LEFT, 70 + 6 * number, f"{label} {'.' * 60} {value}")
        for number, (label, value) in enumerate((("Cash", "12"), ("Debt", "11"), ("Rent", "10")))
    ]
    (table,), _ = read(parser, tmp_path, page)
    assert [line.rpartition(" | ")[2] for line in table] == ["12 |", "11 |", "10 |"]


def test_a_value_at_the_end_of_its_label_has_its_own_cell(parser: Parser, tmp_path: Path) -> None:
    columns = (70, 110, 150)
    page = [
        *row(70, "Cash", "$ 12", "13", "14", columns=columns),
        *row(76, "Loans to members . $ 2,763", "", "2,801", "2,900", columns=columns),
        *row(82, "Rent", "$ 7", "8", "9", columns=columns),
    ]
    (table,), _ = read(parser, tmp_path, [placed for placed in page if placed.text])
    assert "| Loans to members | $ 2,763 | 2,801 | 2,900 |" in table


def test_a_table_with_different_heads_on_the_next_page_is_separate(parser: Parser, tmp_path: Path) -> None:
    def page(name: str) -> list[Placed]:
        columns = (110, 160)
        body = [*row(70, "2024", "12", "11", columns=columns), *row(76, "2023", "10", "9", columns=columns)]
        return [*heads(64, f"{name} fee", f"{name} bonus", columns=columns), *body]

    tables, _ = read(parser, tmp_path, page("Archer"), page("Baker"))
    assert [table[0] for table in tables] == ["|  | Archer fee | Archer bonus |", "|  | Baker fee | Baker bonus |"]


def test_a_table_with_the_same_heads_on_the_next_page_is_joined(parser: Parser, tmp_path: Path) -> None:
    one = [*heads(64, "Fee", "Bonus"), *row(70, "2024", "12", "11"), *row(76, "2023", "10", "9")]
    two = [*heads(64, "Fee", "Bonus"), *row(70, "2022", "8", "7"), *row(76, "2021", "6", "5")]
    (table,), _ = read(parser, tmp_path, one, two)
    assert [line.split(" | ")[0] for line in table] == ["| ", "| ---", "| 2024", "| 2023", "| 2022", "| 2021"]


def test_figures_that_nearly_touch_are_two_cells(parser: Parser, tmp_path: Path) -> None:
    """One space separates the rates from the amounts."""
    page = [
        Placed(110, 40, "Amount", align="R"),
        Placed(131, 40, "Rate", align="R"),
        Placed(160, 40, "Book", align="R"),
    ]
    for y, amount, rate, book in ((50, "80,000", "1.875%", "79,654"), (60, "130,000", "1.750%", "129,722")):
        page += [Placed(LEFT, y, f"Bond of {y}"), Placed(118, y, amount, align="R")]
        page += [Placed(119, y, rate), Placed(160, y, book, align="R")]
    tables, _ = read(parser, tmp_path, page)
    assert tables == [
        [
            "|  | Amount | Rate | Book |",
            "| --- | --- | --- | --- |",
            "| Bond of 50 | 80,000 | 1.875% | 79,654 |",
            "| Bond of 60 | 130,000 | 1.750% | 129,722 |",
        ]
    ]


def test_a_column_that_no_full_row_has_is_a_column(parser: Parser, tmp_path: Path) -> None:
    """No row has a figure in each column, and the fourth column stands close to its neighbours."""
    columns = (70, 100, 117, 134, 160)
    heads = [
        Placed(at, 40, head, 9, align="R")
        for at, head in zip(columns, ("Loss", "Own", "All", "Part", "Total"), strict=True)
    ]
    page = [
        *heads,
        *row(50, "Balance", "1,100", "(9,072)", "(7,824)", "1,346", columns=(70, 100, 134, 160)),
        *row(60, "Profit", "8,302", "987", "9,289", columns=(117, 134, 160)),
        *row(70, "Rates", "3,903", "3,927", "7,830", columns=(117, 134, 160)),
    ]
    [table], _ = read(parser, tmp_path, page)
    assert table == [
        "|  | Loss | Own | All | Part | Total |",
        "| --- | --- | --- | --- | --- | --- |",
        "| Balance | 1,100 | (9,072) |  | (7,824) | 1,346 |",
        "| Profit |  |  | 8,302 | 987 | 9,289 |",
        "| Rates |  |  | 3,903 | 3,927 | 7,830 |",
    ]


def test_heads_below_a_table_belong_to_the_next_one(parser: Parser, tmp_path: Path) -> None:
    first = [*row(40, "Revenue", "14", "3"), *row(48, "Income", "10", "2"), *row(56, "Other", "7", "1")]
    heads = [Placed(100, 68, "Three months", 9), Placed(128, 68, "Nine months", 9)]
    years = [Placed(110, 78, "2023", align="R"), Placed(135, 78, "2022", align="R")]
    second = [*row(88, "Costs", "198", "156"), *row(96, "Fees", "26", "12"), *row(104, "Total", "224", "168")]
    tables, _ = read(parser, tmp_path, [*first, *heads, *years, *second])
    assert [table[-1] for table in tables] == ["| Other | 7 | 1 |", "| Total | 224 | 168 |"]
    assert tables[1][0] == "|  | Three months 2023 | Nine months 2022 |"


def test_a_head_wider_than_its_column_belongs_to_the_unit_below_it(parser: Parser, tmp_path: Path) -> None:
    names = [Placed(x - 8, y, text, 8, align="C") for x, y, text in HEADS_WITH_UNITS]
    body = [
        *row(70, "Melton", "833", "50,625", columns=(110, 135)),
        *row(76, "Safina", "-", "31,834", columns=(110, 135)),
    ]
    ((head, *_),), _ = read(parser, tmp_path, [Placed(LEFT, 64, "Name", 8), *names, *body])
    assert head == "| Name | Option Awards (#) | Stock Awards (#) |"


HEADS_WITH_UNITS = [(107, 61, "Option Awards"), (107, 64, "(#)"), (135, 61, "Stock Awards"), (135, 64, "(#)")]


def test_a_group_head_is_repeated_over_columns_of_dashes(parser: Parser, tmp_path: Path) -> None:
    columns = (60, 80, 100, 120, 140)
    group = [Placed(82, 56, "Short-term benefits", 8, align="C"), Placed(132, 56, "After work", 8, align="C")]
    names = [
        Placed(x, y, text, 8, align="R")
        for y, texts in (
            (63, ("Basic", "Profit", "Goods", "Other", "Super-")),
            (66, ("salary", "shares", "", "", "annuation")),
        )
        for x, text in zip(columns, texts, strict=True)
        if text
    ]
    units = [Placed(x, 71, "$", 8, align="R") for x in columns]
    body = [*row(77, "Meagher", "60,000", "-", "-", "-", "-", columns=columns)]
    body += row(83, "Jackson", "65,000", "-", "-", "-", "-", columns=columns)
    ((head, *_),), _ = read(parser, tmp_path, [*group, *names, *units, *body])
    short = [f"Short-term benefits {name} $" for name in ("Basic salary", "Profit shares", "Goods", "Other")]
    assert head == f"|  | {' | '.join(short)} | After work Super- annuation $ |"


def test_a_line_of_a_head_is_not_repeated_over_its_neighbours(parser: Parser, tmp_path: Path) -> None:
    lines = (
        (56, ("", "Gross", "", "Gross")),
        (60, ("Fair", "Unrealized", "Fair", "Unrealized")),
        (64, ("Value", "Loss") * 2),
    )
    names = [
        Placed(x - 7, y, text, align="C")
        for y, texts in lines
        for x, text in zip((110, 135, 160, 185), texts, strict=True)
        if text
    ]
    ((head, *_),), _ = read(parser, tmp_path, [*names, *BODY])
    assert head == "|  | Fair Value | Gross Unrealized Loss | Fair Value | Gross Unrealized Loss |"


def test_a_head_above_the_lines_of_several_columns_is_repeated(parser: Parser, tmp_path: Path) -> None:
    above = [Placed(150, 58, "Incorporated by reference", align="C")]
    rules = [(left, left + 21, 59.5) for left in (115, 140, 165)]
    ((head, *_),), _ = read(
        parser, tmp_path, [*above, *heads(64, "Number", "Form", "File", "Date"), *BODY], rules=rules
    )
    group = "Incorporated by reference"
    assert head == f"|  | Number | {group} Form | {group} File | {group} Date |"


def test_cells_that_are_stored_after_a_wrapped_one_belong_to_its_row(parser: Parser, tmp_path: Path) -> None:
    places = (20, 40, 130, 150, 170)
    first = [
        *(
            Placed(x, y, text, 9, bold=True)
            for x, y, text in ((20, 56, "Exhibit"), (20, 60, "No."), (40, 60, "Description"))
        ),
        *(
            Placed(x, y, text, 9, bold=True)
            for x, y, text in ((130, 60, "Form"), (150, 56, "File"), (150, 60, "number"))
        ),
        *(Placed(x, y, text, 9, bold=True) for x, y, text in ((170, 56, "Filing"), (170, 60, "date"))),
    ]
    texts = [
        ("Third Restated Certificate of Incorporation of the old", "company, dated May"),
        ("Bylaws of the old company as they were amended", "and restated in June"),
    ]
    rows = [
        placed
        for number, (above, below) in enumerate(texts, start=1)
        for y in [58 + 9 * number]
        for placed in (
            *(Placed(x, y, text, 9) for x, text in zip(places, (f"3.{number}", above), strict=False)),
            Placed(40, y + 4, below, 9),
            *(Placed(x, y, text, 9) for x, text in zip(places[2:], ("8-K", f"00{number}", "5/22/06"), strict=True)),
        )
    ]
    (table,), _ = read(parser, tmp_path, [*first, *rows])
    assert table[0] == "| Exhibit No. | Description | Form | File number | Filing date |"
    ends = [f"{above} {below} | 8-K | 00{number} | 5/22/06 |" for number, (above, below) in enumerate(texts, start=1)]
    assert table[2:] == [f"| 3.{number} | {end}" for number, end in enumerate(ends, start=1)]


def test_lines_drawn_below_two_columns_separate_values_from_labels(parser: Parser, tmp_path: Path) -> None:
    values = [
        ("(187)", "Loss of the second quarter"),
        ("(569)", "Lower margin of all products"),
        ("288", "Other costs"),
        ("(143)", "Higher charges of the year"),
        ("710", "Income"),
    ]
    texts = [
        placed
        for y, (value, label) in zip((60, 66, 72, 78, 84), values, strict=True)
        for placed in (Placed(37, y, value, align="R"), Placed(41, y, label))
    ]
    rules = [(left, right, y) for y in (61.5, 73.5, 85.5) for left, right in ((20, 37.2), (40.5, 180))]
    (table,), _ = read(parser, tmp_path, texts, rules=rules)
    assert [line for line in table if "--" not in line] == [f"| {value} | {label} |" for value, label in values]


def test_a_row_with_as_many_cells_as_columns_is_read_by_its_places(parser: Parser, tmp_path: Path) -> None:
    columns = (110, 135, 160)
    marked = [Placed(50, 76, "MTS"), Placed(95, 76, "*"), *row(76, "", "51.0", "27.5", "5", columns=columns)[1:]]
    body = [
        *[Placed(50, 70, "Holdings"), *row(70, "America", "100.0", "100.0", "500", columns=columns)],
        *marked,
        *[Placed(50, 82, "Exchange"), *row(82, "Asia", "80.0", "80.0", "7", columns=columns)],
    ]
    (table,), _ = read(parser, tmp_path, [*heads(64, "Control", "Equity", "Capital", columns=columns), *body])
    assert "| MTS |" in next(line for line in table if "27.5" in line)
    assert next(line for line in table if "27.5" in line).startswith("|  |")


def test_a_row_whose_label_begins_a_page_continues_the_table(parser: Parser, tmp_path: Path) -> None:
    above = [*heads(24, "2024", "2023", "2022", "2021"), *row(30, "Sales", "1,204", "1,120", "3,512", "3,298")]
    above += row(36, "Costs", "804", "799", "2,401", "2,377")
    below = [Placed(LEFT, 14.5, "Employee"), *row(19, "payments", "8", "7", "4", "3")]
    below += row(26, "Profit", "392", "314", "1,107", "918")
    rules = [(LEFT, 186, y) for y in (10, 20.5, 28)]
    (table,), _ = read(parser, tmp_path, above, below, rules=rules)
    assert table[-2:] == ["| Employee payments | 8 | 7 | 4 | 3 |", "| Profit | 392 | 314 | 1,107 | 918 |"]


def test_labels_of_several_lines_below_a_blank_row_do_not_divide_a_table(parser: Parser, tmp_path: Path) -> None:
    labels = [
        Placed(LEFT, 86 + 5 * number, text)
        for number, text in enumerate(("Changes", "of the year", "2022:", "Proceeds", "from a"))
    ]
    body = [*heads(64, "2024", "2023", "2022", "2021"), *BODY, *labels, *row(111, "sale", "11", "12", "13", "14")]
    (table,), _ = read(parser, tmp_path, [*body, *row(116, "Options", "1,071", "4,697", "4,653", "44")])
    assert table[-1] == "| Options | 1,071 | 4,697 | 4,653 | 44 |"
    assert table[2] == "| Sales | 1,204 | 1,120 | 3,512 | 3,298 |"


def test_lines_in_different_ruled_rows_are_different_rows(parser: Parser, tmp_path: Path) -> None:
    columns = (110, 135, 160)
    names = ("Holdings", "Markets", "Exchange", "Energy")
    body = [
        placed
        for y, name in zip((70, 76, 82, 88), names, strict=True)
        for placed in (Placed(50, y, name), *row(y, "", "100.0", "27.5*", "USD 5", columns=columns)[1:])
    ]
    texts = [*heads(64, "Control", "Equity", "Capital", columns=columns), Placed(LEFT, 70, "America"), *body]
    rules = [(LEFT, 165, y) for y in (66, 72, 78, 84, 90)]
    (table,), _ = read(
        parser, tmp_path, [*texts, *row(94, "Asia", "80.0", "80.0", "USD 7", columns=columns)], rules=rules
    )
    assert [line.split(" | ")[1] for line in table if "27.5" in line] == list(names)
