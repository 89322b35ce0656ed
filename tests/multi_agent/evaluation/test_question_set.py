"""Question sets in JSONL and CSV, and the errors of invalid ones."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from multi_agent.evaluation.errors import QuestionSetError
from multi_agent.evaluation.question_set import (
    AnswerType,
    Gold,
    Question,
    dump_questions,
    load_questions,
    parse_questions,
    require_unique_ids,
)


def test_only_the_question_is_required() -> None:
    [asked] = parse_questions("mine.jsonl", '{"question": "How loud is it?"}\n').questions
    assert asked.id == "line-1"
    assert asked.answerable is None


def test_all_fields_of_a_question_are_parsed() -> None:
    line = {
        "id": "q3", "question": "How many?", "accepted": ["9,412"], "type": "number", "unit": "pumps",
        "tolerance": 1, "gold": [{"document": "report.pdf", "pages": [1], "quote": "9,412 pumps"}],
        "tags": ["dates"], "weight": 2,
    }  # fmt: skip
    [asked] = parse_questions("mine.jsonl", json.dumps(line)).questions
    assert asked.type is AnswerType.NUMBER
    assert asked.gold == (Gold(document="report.pdf", pages=(1,), quote="9,412 pumps"),)
    assert asked.answerable is True


def test_csv_columns_are_parsed() -> None:
    text = 'question,accepted,type,tags,gold,weight\nWho?,"Ada\nAda L.",text,people,"a.pdf\nb.pdf",2\nWhy?,,none,,,\n'
    who, why = parse_questions("mine.csv", text).questions
    assert who.accepted == ("Ada", "Ada L.")
    assert [each.document for each in who.gold] == ["a.pdf", "b.pdf"]
    assert who.weight == 2
    assert why.answerable is False
    assert why.weight == 1


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_the_csv_delimiter_is_detected(mark: str) -> None:
    """With decimal commas, a byte order mark, and empty rows."""
    rows = [["id", "question", "tolerance"], ["q1", "How much?", '"0,5"'], ["", "", ""]]
    [asked] = parse_questions("mine.csv", "\ufeff" + "\r\n".join(mark.join(row) for row in rows)).questions
    assert (asked.id, asked.tolerance) == ("q1", 0.5)


def test_json_strings_can_contain_other_line_ends() -> None:
    [asked] = parse_questions("mine.jsonl", '{"id": 7, "question": "How\u2028many?", "accepted": [9412]}\n').questions
    assert (asked.id, asked.question, asked.accepted) == ("7", "How\u2028many?", ("9412",))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"accepted": [""]}, "accepted.0: is empty"),
        ({"accepted": "9,412"}, "accepted: must be a list"),
        ({"gold": ["report.pdf"]}, 'gold.0: must be an object, e.g. {"document": "report.pdf"}'),
        ({"gold": [{"document": "a", "page": 3}]}, "'gold.0.page'; the fields are document, pages, quote"),
        ({"gold": [{"document": "a", "pages": [0]}]}, "gold.0.pages.0"),
        ({"weight": 0}, "weight: Input should be greater than 0"),
        ({"weight": float("inf")}, "weight: Input should be a finite number"),
        ({"tolerance": float("nan")}, "tolerance: Input should be a finite number"),
    ],
)
def test_an_invalid_field_is_named(given: dict[str, object], message: str) -> None:
    with pytest.raises(QuestionSetError) as raised:
        parse_questions("mine.jsonl", json.dumps({"question": "How many?", **given}))
    assert message in str(raised.value)


def test_duplicate_columns_and_other_encodings_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(QuestionSetError, match="two columns are called 'question'"):
        parse_questions("mine.csv", "question,question\nWho?,Why?\n")
    (tmp_path / "old.csv").write_bytes("question\nWo ist das Café?\n".encode("latin-1"))
    with pytest.raises(QuestionSetError, match="Save it as UTF-8"):
        load_questions(tmp_path / "old.csv")


def test_every_fault_names_its_line() -> None:
    text = "\n".join(
        [
            '{"question": "Right?"}',
            '{"question": " "}',
            "{not JSON",
            '{"question": "Why?", "expected": "x"}',
            '{"question": "Is it?", "type": "yes_no", "accepted": ["perhaps"]}',
            '{"question": "None?", "type": "none", "accepted": ["one"]}',
            '{"id": "line-1", "question": "Twice?"}',
        ]
    )
    with pytest.raises(QuestionSetError) as raised:
        parse_questions("mine.jsonl", text)
    message = str(raised.value)
    for part in ("line 2", "line 3: not JSON", "line 4: unknown field 'expected'", "line 5", "line 6", "'line-1'"):
        assert part in message


@pytest.mark.parametrize(("name", "text"), [("mine.txt", "x"), ("empty.jsonl", "\n"), ("mine.csv", "question\na,b\n")])
def test_an_invalid_file_is_rejected(name: str, text: str) -> None:
    with pytest.raises(QuestionSetError, match=name.replace(".", r"\.")):
        parse_questions(name, text)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(QuestionSetError, match=r"gone\.jsonl"):
        load_questions(tmp_path / "gone.jsonl")


def test_the_sample_questions_survive_a_round_trip() -> None:
    text = files("sample_docs").joinpath("questions.jsonl").read_text(encoding="utf-8")
    questions = parse_questions("questions.jsonl", text)
    assert {each.type for each in questions.questions} >= {AnswerType.NUMBER, AnswerType.LIST, AnswerType.NONE}
    again = parse_questions("again.jsonl", dump_questions(questions.questions))
    assert again.questions == questions.questions
    assert again.fingerprint == questions.fingerprint
    assert questions.limited(3).fingerprint != questions.fingerprint


def test_only_the_first_faults_are_listed() -> None:
    twice = [Question(id=f"q{number % 30}", question="?") for number in range(60)]
    with pytest.raises(QuestionSetError) as raised:
        require_unique_ids(twice)
    assert str(raised.value).count("two questions have the id") == 20
    assert str(raised.value).endswith("; and 10 more.")
    with pytest.raises(QuestionSetError, match=r"line 21: not JSON .*; and 25 more\.$"):
        parse_questions("many.jsonl", "\n" + "no\n" * 45)
