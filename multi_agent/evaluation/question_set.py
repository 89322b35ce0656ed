"""Question sets: what is asked, what is accepted as an answer, and where it stands. JSONL or CSV.

One question of a set in JSONL, of which only ``question`` is needed:

    {"id": "q3", "question": "How many were delivered in Q3?", "accepted": ["9,412"], "type": "number",
     "unit": "heat pumps", "tolerance": 0, "tags": ["dates"], "weight": 1,
     "gold": [{"document": "report.pdf", "pages": [1], "quote": "delivered 9,412 heat pumps"}]}

In CSV the columns have the same names, with commas between them, or as some spreadsheets write it, semicolons or tabs.
``accepted`` and ``tags`` hold one entry per line of their cell, or a JSON list; ``gold`` a JSON list, or documents, one
per line.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, PositiveInt, ValidationError, model_validator

from multi_agent.evaluation.errors import QuestionSetError
from multi_agent.records.numbers_and_dates import read_number
from vectorstore.models import FrozenModel

_LISTS = ("accepted", "tags", "gold")
_NUMBERS = ("tolerance", "weight")
_DELIMITERS = ",;\t"
_FAULTS_SHOWN = 20
_PLAINLY = {
    "missing": "is missing",
    "string_pattern_mismatch": "is empty",
    "string_too_short": "is empty",
    "string_type": "is to be a text",
    "tuple_type": 'is to be a list, such as ["…"]',
    "model_type": 'is to be an object, such as {"document": "report.pdf"}',
}
"""Faults by their names in pydantic, where it would speak of Python."""

Written = Annotated[str, Field(pattern=r"\S", coerce_numbers_to_str=True)]
"""A text with something in it; a bare number in JSON is meant as one."""


class AnswerType(StrEnum):
    """What an answer is compared as. ``NONE``: the documents hold no answer, and none is to be given."""

    TEXT = "text"
    NUMBER = "number"
    DATE = "date"
    LIST = "list"
    YES_NO = "yes_no"
    NONE = "none"


class Gold(FrozenModel):
    """Where an answer stands: a document, or some of its pages, or a passage of it, word for word."""

    document: str = Field(min_length=1, description="its name in the collection")
    pages: tuple[PositiveInt, ...] = ()
    quote: str = ""


class Question(FrozenModel):
    """One question with what is known of its answer; metrics that need more than that leave it out."""

    id: Written
    question: Written
    answer: str | None = Field(default=None, description="in full, for people and for the judge")
    accepted: tuple[Written, ...] = Field(
        default=(), description="short answers, each of them right; of a list: its items"
    )
    type: AnswerType = AnswerType.TEXT
    unit: str = Field(default="", description="of a number: what the accepted ones are counted in")
    tolerance: float = Field(
        default=0.0, ge=0, allow_inf_nan=False, description="of a number: how far off is right, in its unit"
    )
    gold: tuple[Gold, ...] = ()
    tags: tuple[str, ...] = ()
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)

    @property
    def answerable(self) -> bool | None:
        """Whether the documents hold an answer; None where the set does not say."""
        if self.type is AnswerType.NONE:
            return False
        return True if self.accepted or self.answer or self.gold else None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.type is AnswerType.NONE and (self.accepted or self.answer):
            raise ValueError("a question of type 'none' has no answer; leave `accepted` and `answer` out")
        if self.type is AnswerType.YES_NO and any(each.casefold() not in ("yes", "no") for each in self.accepted):
            raise ValueError("a question of type 'yes_no' accepts 'yes' or 'no'")
        return self


class QuestionSet(FrozenModel):
    """The questions of a set, in their order."""

    name: str
    questions: tuple[Question, ...]

    @property
    def fingerprint(self) -> str:
        """Equal for sets with equal questions, whatever their files are called."""
        return hashlib.sha256("\n".join(each.model_dump_json() for each in self.questions).encode()).hexdigest()[:16]

    def limited(self, limit: int | None) -> QuestionSet:
        """The first questions alone."""
        return self if limit is None else self.model_copy(update={"questions": self.questions[:limit]})


def load_questions(path: Path) -> QuestionSet:
    """Read a set from a .jsonl or .csv file. Raises QuestionSetError, which names its faults (20 at most) by line."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise QuestionSetError(f"The question set {str(path)!r} cannot be read: {error}.") from error
    except UnicodeDecodeError as error:
        raise QuestionSetError(f"The question set {str(path)!r} is not UTF-8 ({error}); save it as that.") from error
    return parse_questions(path.name, text)


def parse_questions(name: str, text: str) -> QuestionSet:
    """A set from the text of a file of that name. Raises QuestionSetError."""
    readers = {".jsonl": _json_rows, ".csv": _csv_rows}
    suffix = Path(name).suffix.lower()
    if suffix not in readers:
        raise QuestionSetError(f"{name!r} is no question set: its name has to end in {' or '.join(readers)}.")
    questions: list[Question] = []
    faults: list[str] = []
    for line, row in readers[suffix](text.removeprefix("\ufeff")):
        if isinstance(row, str):
            faults.append(f"line {line}: {row}")
            continue
        try:
            questions.append(Question.model_validate({"id": f"line-{line}", **row}))
        except ValidationError as error:
            faults += [f"line {line}: {_explained(each)}" for each in error.errors()]
    faults += _doubles(questions)
    if not questions and not faults:
        faults = ["it holds no question"]
    _refuse(f"The question set {name!r}", faults)
    return QuestionSet(name=Path(name).stem, questions=tuple(questions))


def dump_questions(questions: Sequence[Question]) -> str:
    """As JSONL, without what is as it is by default."""
    return "".join(f"{each.model_dump_json(exclude_defaults=True)}\n" for each in questions)


def refuse_doubles(questions: Sequence[Question]) -> None:
    """Raises QuestionSetError if two questions have the same id."""
    _refuse("The question set", _doubles(questions))


def delimiter(text: str, column: str) -> str:
    """What stands between the columns of a CSV file: that by which one of them has this name."""
    head = text.partition("\n")[0]
    return next((each for each in _DELIMITERS if column in next(csv.reader([head], delimiter=each), ())), ",")


def _refuse(what: str, faults: Sequence[str]) -> None:
    """Raises QuestionSetError if there are faults, naming the first ones and how many more there are."""
    if faults:
        more = f"; and {len(faults) - _FAULTS_SHOWN} more" if len(faults) > _FAULTS_SHOWN else ""
        raise QuestionSetError(f"{what} has faults: {'; '.join(faults[:_FAULTS_SHOWN])}{more}.")


def _doubles(questions: Sequence[Question]) -> list[str]:
    counts = Counter(each.id for each in questions)
    return [f"two questions have the id {each!r}" for each, times in counts.items() if times > 1]


def _json_rows(text: str) -> Iterator[tuple[int, dict[str, Any] | str]]:
    for number, line in enumerate(text.split("\n"), start=1):  # a string may hold other line ends, such as U+2028
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            yield number, f"not JSON ({error.msg} at column {error.colno})"
            continue
        yield number, row if isinstance(row, dict) else "not a JSON object"


def _csv_rows(text: str) -> Iterator[tuple[int, dict[str, Any] | str]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter(text, "question"))
    names = reader.fieldnames or ()
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        yield 1, f"two columns are called {twice[0]!r}"
        return
    try:
        for row in reader:
            if None in row:
                yield reader.line_num, "more cells than the head has columns"
                continue
            filled = {name: _cell(name, cell) for name, cell in row.items() if cell and cell.strip()}
            if filled:  # spreadsheets write empty rows, too
                yield reader.line_num, filled
    except csv.Error as error:
        yield reader.line_num + 1, f"not CSV ({error})"


def _cell(name: str, cell: str) -> Any:
    if name in _NUMBERS and len(readings := read_number(cell)) == 1:
        return float(*readings)  # "0,5", too
    if name not in _LISTS:
        return cell.strip()
    if cell.lstrip().startswith("["):
        try:
            return json.loads(cell)
        except json.JSONDecodeError:
            return cell  # told as what it is not: a list
    entries = [line.strip() for line in cell.splitlines() if line.strip()]
    return [{"document": entry} for entry in entries] if name == "gold" else entries


def _explained(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        fields = Gold.model_fields if error["loc"][0] == "gold" else Question.model_fields
        return f"there is no field {place!r}; there are {', '.join(fields)}"
    said = str(_PLAINLY.get(error["type"], error["msg"])).removeprefix("Value error, ")
    return f"{place}: {said}" if place else said
