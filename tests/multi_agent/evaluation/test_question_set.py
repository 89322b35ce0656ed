"""Question sets in JSONL and CSV, and what is said of faulty ones."""

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
    refuse_doubles,
)


def test_a_question_alone_is_a_set() -> None:
    [asked] = parse_questions("mine.jsonl", '{"question": "How loud is it?"}\n').questions
    assert asked.id == "line-1"
    assert asked.answerable is None


def test_what_is_known_of_an_answer_is_read() -> None:
    line = {
        "id": "q3", "question": "How many?", "accepted": ["9,412"], "type": "number", "unit": "pumps",
        "tolerance": 1, "gold": [{"document": "report.pdf", "pages": [1], "quote": "9,412 pumps"}],
        "tags": ["dates"], "weight": 2,
    }  # fmt: skip
    [asked] = parse_questions("mine.jsonl", json.dumps(line)).questions
    assert asked.type is AnswerType.NUMBER
    assert asked.gold == (Gold(document="report.pdf", pages=(1,), quote="9,412 pumps"),)
    assert asked.answerable is True


def test_a_spreadsheet_says_the_same_in_columns() -> None:
    text = 'question,accepted,type,tags,gold,weight\nWho?,"Ada\nAda L.",text,people,"a.pdf\nb.pdf",2\nWhy?,,none,,,\n'
    who, why = parse_questions("mine.csv", text).questions
    assert who.accepted == ("Ada", "Ada L.")
    assert [each.document for each in who.gold] == ["a.pdf", "b.pdf"]
    assert who.weight == 2
    assert why.answerable is False
    assert why.weight == 1


def test_every_fault_is_named_with_its_line() -> None:
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
    with pytest.raises(QuestionSetError) as refused:
        parse_questions("mine.jsonl", text)
    said = str(refused.value)
    for part in ("line 2", "line 3: not JSON", "line 4: there is no field 'expected'", "line 5", "line 6", "'line-1'"):
        assert part in said


@pytest.mark.parametrize(("name", "text"), [("mine.txt", "x"), ("empty.jsonl", "\n"), ("mine.csv", "question\na,b\n")])
def test_what_is_no_set_is_refused(name: str, text: str) -> None:
    with pytest.raises(QuestionSetError, match=name.replace(".", r"\.")):
        parse_questions(name, text)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(QuestionSetError, match=r"gone\.jsonl"):
        load_questions(tmp_path / "gone.jsonl")


def test_the_sample_questions_are_a_set_and_come_back_as_they_were() -> None:
    text = files("sample_docs").joinpath("questions.jsonl").read_text(encoding="utf-8")
    questions = parse_questions("questions.jsonl", text)
    assert {each.type for each in questions.questions} >= {AnswerType.NUMBER, AnswerType.LIST, AnswerType.NONE}
    again = parse_questions("again.jsonl", dump_questions(questions.questions))
    assert again.questions == questions.questions
    assert again.fingerprint == questions.fingerprint
    assert questions.limited(3).fingerprint != questions.fingerprint


def test_of_many_faults_the_first_are_named_and_how_many_more_there_are() -> None:
    twice = [Question(id=f"q{number % 30}", question="?") for number in range(60)]
    with pytest.raises(QuestionSetError) as refused:
        refuse_doubles(twice)
    assert str(refused.value).count("two questions have the id") == 20
    assert str(refused.value).endswith("; and 10 more.")
    with pytest.raises(QuestionSetError, match=r"line 21: not JSON .*; and 25 more\.$"):
        parse_questions("many.jsonl", "\n" + "no\n" * 45)
