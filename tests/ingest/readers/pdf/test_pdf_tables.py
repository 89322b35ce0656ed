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
