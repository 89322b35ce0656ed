"""Units: sentences, lines and rows with exact spans."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.chunks import make_chunk
from vectorstore.models import Chunk, ChunkKind, TableHeader
from vectorstore.text.sentences import units_of


def units(chunk: Chunk) -> list[str]:
    return [" ".join(chunk.source_text(start, end).split()) for start, end in units_of(chunk)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is red. It is “big.” Is it?", ["It is red.", "It is “big.”", "Is it?"]),
        ("Dr. Olin met J. K. Moe, e.g. in no. 5. They left.", ["Dr. Olin met J. K. Moe, e.g. in no. 5. They left."]),
        (
            "It runs on example.com. It is free, i.e. It costs 1.250. Ask.",
            ["It runs on example.com.", "It is free, i.e. It costs 1.250. Ask."],
        ),
        ("Es begann am 3. Mai. Dann kam Kai.", ["Es begann am 3. Mai. Dann kam Kai."]),
        ("It holds 500 litres. Below −25 °C. it stops.", ["It holds 500 litres.", "Below −25 °C. it stops."]),
        (
            "Where Is He? is a film by A. Moelan. Oh! Calm! was one. Is it? It is.",
            ["Where Is He? is a film by A. Moelan.", "Oh! Calm! was one.", "Is it? It is."],
        ),
        ("Yahoo! Inc. sells it. “Help! I Fell” is a song.", ["Yahoo! Inc. sells it.", "“Help! I Fell” is a song."]),
        (
            "Who Is Harry A.? (1971) is a play. Who wrote it? Moe.",
            ["Who Is Harry A.? (1971) is a play.", "Who wrote it?", "Moe."],
        ),
        ("水泵是红色的。它很大。", ["水泵是红色的。", "它很大。"]),
        ("पंप लाल है। वह बड़ा है।", ["पंप लाल है।", "वह बड़ा है।"]),
        ("هل هي حمراء؟ نعم.", ["هل هي حمراء؟", "نعم."]),
    ],
)
def test_prose_is_divided_into_sentences(text: str, expected: list[str]) -> None:
    assert units(make_chunk(text)) == expected


def test_wrapped_lines_are_joined_and_other_lines_are_not() -> None:
    text = (
        "The Borea 12 heats at outdoor temperatures from −25 °C to\n"
        "+35 °C. Below −25 °C the compressor switches off and\nthe heater takes over.\n\n"
        "The parts that are delivered with the appliance\n- four feet with rubber\n- one cable\n  of 5 m"
    )
    assert units(make_chunk(text)) == [
        "The Borea 12 heats at outdoor temperatures from −25 °C to +35 °C.",
        "Below −25 °C the compressor switches off and the heater takes over.",
        "The parts that are delivered with the appliance",
        "- four feet with rubber",
        "- one cable of 5 m",
    ]


def test_rows_of_a_table_and_its_header_are_units() -> None:
    header = TableHeader(text="| Country | Units |\n| --- | --- |", start=100, end=134)
    rows = make_chunk("| Austria | 812 |\n| Belgium | 318 |", kind=ChunkKind.TABLE, header=header)
    later = rows.model_copy(update={"start": 200, "end": 200 + len(rows.text)})
    assert units(later) == ["| Country | Units |", "| Austria | 812 |", "| Belgium | 318 |"]
    assert units_of(later)[0] == (100, 119)


def test_lines_of_code_are_units() -> None:
    assert units(make_chunk("x = 1. + f(y)\nreturn x", kind=ChunkKind.CODE)) == ["x = 1. + f(y)", "return x"]


@given(text=st.text(alphabet="aB1 .!?\n|-。”", min_size=1, max_size=200).filter(lambda text: bool(text.strip())))
def test_units_are_in_order_and_hold_all_letters(text: str) -> None:
    chunk = make_chunk(text)
    spans = units_of(chunk)
    assert all(one.end <= other.start for one, other in pairwise(spans))
    held = "".join(chunk.source_text(*span) for span in spans)
    assert list(filter(str.isalnum, held)) == list(filter(str.isalnum, text))


def test_a_row_of_short_lines_is_one_unit() -> None:
    hours = "Mon.\n7:30 a.m.\nto\n5 p.m."
    assert units(make_chunk(f"Opening hours of the museum in winter:\n\n{hours}\n\nTue.\nclosed")) == [
        "Opening hours of the museum in winter:", " ".join(hours.split()), "Tue.", "closed",
    ]  # fmt: skip
    assert units(make_chunk("- Eggs\n- Milk\n- Salt\n- Oil")) == ["- Eggs", "- Milk", "- Salt", "- Oil"]


def test_a_sentence_without_a_blank_after_it_ends_there() -> None:
    assert units(make_chunk("The page has 40 views.By country it is read most in Chile.")) == [
        "The page has 40 views.", "By country it is read most in Chile.",
    ]  # fmt: skip
    assert units(make_chunk("See www.example.Com, and the U.S.Army at 3.Mai.")) == [
        "See www.example.Com, and the U.S.Army at 3.Mai."
    ]
