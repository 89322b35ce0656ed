"""Question sets in JSONL or CSV, with questions, accepted answers, and their places in the documents.

A question in JSONL, of which only ``question`` is required:

    {"id": "q3", "question": "How many were delivered in Q3?", "accepted": ["9,412"], "type": "number",
     "unit": "heat pumps", "tolerance": 0, "tags": ["dates"], "weight": 1,
     "gold": [{"document": "report.pdf", "pages": [1], "quote": "delivered 9,412 heat pumps"}]}

A CSV file has columns with the same names, separated by commas, semicolons or tabs. Cells of ``accepted`` and ``tags``
have one entry per line, or a JSON list. Cells of ``gold`` have one document per line, or a JSON list.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

from pydantic import Field, PositiveInt, ValidationError, model_validator

from base.models import FrozenModel
from multi_agent.evaluation.errors import QuestionSetError
from multi_agent.grounding.quotes import fold
from multi_agent.records.numbers_and_dates import read_number

_LISTS = ("accepted", "tags", "gold")
_NUMBERS = ("tolerance", "weight")
_DELIMITERS = ",;\t"
_MAX_FAULTS = 20
_MESSAGES = {
    "missing": "is missing",
    "string_pattern_mismatch": "is empty",
    "string_too_short": "is empty",
    "string_type": "must be a string",
    "tuple_type": 'must be a list, e.g. ["…"]',
    "model_type": 'must be an object, e.g. {"document": "report.pdf"}',
}
"""Replacements for pydantic messages that mention Python types."""

NonEmptyText = Annotated[str, Field(pattern=r"\S", coerce_numbers_to_str=True)]
"""A string that is not blank. Numbers are converted to strings."""


class AnswerType(StrEnum):
    """The way of comparing an answer. With ``NONE``, the documents contain no answer, and a run should abstain.

    With ``UNCLEAR``, the question does not say whom or what it means, and a run should ask back.
    """

    TEXT = "text"
    NUMBER = "number"
    DATE = "date"
    LIST = "list"
    YES_NO = "yes_no"
    NONE = "none"
    UNCLEAR = "unclear"


class Gold(FrozenModel):
    """The place of an answer, which is a document with optional pages and an optional verbatim quote."""

    document: str = Field(min_length=1, description="name in the collection")
    pages: tuple[PositiveInt, ...] = ()
    quote: str = ""


class Question(FrozenModel):
    """A question and its known answer. A metric skips questions without the fields that it needs."""

    id: NonEmptyText
    question: NonEmptyText
    answer: str | None = Field(default=None, description="full answer, for people and for the judge")
    accepted: tuple[NonEmptyText, ...] = Field(
        default=(), description="accepted short answers; for type list, the items"
    )
    type: AnswerType = AnswerType.TEXT
    unit: str = Field(default="", description="for type number: the unit of the accepted values")
    tolerance: float = Field(
        default=0.0, ge=0, allow_inf_nan=False, description="for type number: the accepted deviation, in the same unit"
    )
    gold: tuple[Gold, ...] = ()
    tags: tuple[str, ...] = ()
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    note: str = Field(default="", description="note for people, such as the fault of an earlier answer")

    @property
    def answerable(self) -> bool | None:
        """Whether the documents contain an answer. None if the set does not specify it, or the question is unclear."""
        if self.type is AnswerType.NONE:
            return False
        if self.type is AnswerType.UNCLEAR:
            return None
        return True if self.accepted or self.answer or self.gold else None

    @model_validator(mode="after")
    def _check_type(self) -> Self:
        if self.type in (AnswerType.NONE, AnswerType.UNCLEAR) and (self.accepted or self.answer):
            raise ValueError(f"a question of type {self.type.value!r} has no answer, so remove `accepted` and `answer`")
        if self.type is AnswerType.YES_NO and any(each.casefold() not in ("yes", "no") for each in self.accepted):
            raise ValueError("a question of type 'yes_no' accepts only 'yes' or 'no'")
        return self


class QuestionSet(FrozenModel):
    """A named, ordered set of questions."""

    name: str
    questions: tuple[Question, ...]

    @property
    def fingerprint(self) -> str:
        """A hash of the questions, independent of the name and of notes."""
        dumped = (each.model_dump_json(exclude={"note"}) for each in self.questions)
        return hashlib.sha256("\n".join(dumped).encode()).hexdigest()[:16]

    def limited(self, limit: int | None) -> QuestionSet:
        """Return a set of the first ``limit`` questions."""
        return self if limit is None else self.model_copy(update={"questions": self.questions[:limit]})


def load_questions(path: Path) -> QuestionSet:
    """Load a set from a .jsonl or .csv file. Raises QuestionSetError."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise QuestionSetError(f"Cannot read the question set {str(path)!r}: {error}.") from error
    except UnicodeDecodeError as error:
        raise QuestionSetError(f"The question set {str(path)!r} is not UTF-8: {error}. Save it as UTF-8.") from error
    return parse_questions(path.name, text)


def parse_questions(name: str, text: str) -> QuestionSet:
    """Parse the text of a question set file. ``name`` is the name of the file. Raises QuestionSetError."""
    readers = {".jsonl": _json_rows, ".csv": _csv_rows}
    suffix = Path(name).suffix.lower()
    if suffix not in readers:
        raise QuestionSetError(f"A question set must be a {' or '.join(readers)} file, not {name!r}.")
    questions: list[Question] = []
    faults: list[str] = []
    for line, row in readers[suffix](text.removeprefix("\ufeff")):
        if isinstance(row, str):
            faults.append(f"line {line}: {row}")
            continue
        try:
            questions.append(Question.model_validate({"id": f"line-{line}", **row}))
        except ValidationError as error:
            faults += [f"line {line}: {_explain(each)}" for each in error.errors()]
    faults += _find_duplicates(questions)
    if not questions and not faults:
        faults = ["the file has no questions"]
    _raise_faults(f"The question set {name!r}", faults)
    return QuestionSet(name=Path(name).stem, questions=tuple(questions))


def dump_questions(questions: Sequence[Question]) -> str:
    """Return the questions as JSONL, without default values."""
    return "".join(f"{each.model_dump_json(exclude_defaults=True)}\n" for each in questions)


def require_unique_ids(questions: Sequence[Question]) -> None:
    """Raise QuestionSetError if two questions have the same id."""
    _raise_faults("The question set", _find_duplicates(questions))


def find_delimiter(text: str, column: str) -> str:
    """Return the delimiter of a CSV file with which ``column`` is one of its columns. Default: a comma."""
    head = text.partition("\n")[0]
    return next((each for each in _DELIMITERS if column in next(csv.reader([head], delimiter=each), ())), ",")


def _raise_faults(what: str, faults: Sequence[str]) -> None:
    """Raise QuestionSetError if there are faults. The message contains the first ones and the number of others."""
    if faults:
        more = f"; and {len(faults) - _MAX_FAULTS} more" if len(faults) > _MAX_FAULTS else ""
        raise QuestionSetError(f"{what} is invalid: {'; '.join(faults[:_MAX_FAULTS])}{more}.")


def _find_duplicates(questions: Sequence[Question]) -> list[str]:
    counts = Counter(each.id for each in questions)
    return [f"two questions have the id {each!r}" for each, times in counts.items() if times > 1]


def _json_rows(text: str) -> Iterator[tuple[int, dict[str, Any] | str]]:
    for number, line in enumerate(text.split("\n"), start=1):  # strings can contain other line ends, e.g. U+2028
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            yield number, f"not JSON ({error.msg} at column {error.colno})"
            continue
        yield number, row if isinstance(row, dict) else "not a JSON object"


def _csv_rows(text: str) -> Iterator[tuple[int, dict[str, Any] | str]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=find_delimiter(text, "question"))
    names = reader.fieldnames or ()
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        yield 1, f"two columns are called {twice[0]!r}"
        return
    try:
        for row in reader:
            if None in row:
                yield reader.line_num, "more cells than columns"
                continue
            filled = {name: _cell(name, cell) for name, cell in row.items() if cell and cell.strip()}
            if filled:  # spreadsheets also write empty rows
                yield reader.line_num, filled
    except csv.Error as error:
        yield reader.line_num + 1, f"not CSV ({error})"


def _cell(name: str, cell: str) -> Any:
    if name in _NUMBERS and len(readings := read_number(cell)) == 1:
        return float(*readings)  # also reads "0,5"
    if name not in _LISTS:
        return cell.strip()
    if cell.lstrip().startswith("["):
        try:
            return json.loads(cell)
        except json.JSONDecodeError:
            return cell  # validation reports that it is not a list
    entries = [line.strip() for line in cell.splitlines() if line.strip()]
    return [{"document": entry} for entry in entries] if name == "gold" else entries


def _explain(error: Any) -> str:
    field = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        fields = Gold.model_fields if error["loc"][0] == "gold" else Question.model_fields
        return f"unknown field {field!r}; the fields are {', '.join(fields)}"
    message = str(_MESSAGES.get(error["type"], error["msg"])).removeprefix("Value error, ")
    return f"{field}: {message}" if field else message


class DocumentInfo(NamedTuple):
    """A document of the collection."""

    id: str
    name: str
    pages: int
    """0 for formats without pages."""


def find_missing_gold(
    questions: Iterable[Question], documents: Sequence[DocumentInfo], text_of: Callable[[str], str]
) -> list[str]:
    """Return one line for each missing gold entry. ``text_of`` returns the text of a document by its id.

    A misspelt document name would look like a retrieval failure in every figure.
    """
    by_name = _index_by_name(documents)
    folded_text = lru_cache(maxsize=1)(lambda document: fold(text_of(document)))  # entries are sorted by document
    entries = [(question.id, gold) for question in questions for gold in question.gold]
    found = []
    for question, gold in sorted(entries, key=lambda each: each[1].document):
        if fault := _find_fault(gold, by_name, folded_text):
            found.append(f"{question}: {fault}")
    return found


def _index_by_name(documents: Iterable[DocumentInfo]) -> Mapping[str, list[DocumentInfo]]:
    """Index documents by every name that gold can use: the full path, and each part of it after a slash."""
    named: defaultdict[str, list[DocumentInfo]] = defaultdict(list)
    for document in documents:
        parts = document.name.split("/")
        for start in range(len(parts)):
            named["/".join(parts[start:])].append(document)
    return named


def _find_fault(gold: Gold, by_name: Mapping[str, list[DocumentInfo]], text_of: Callable[[str], str]) -> str:
    matches = by_name.get(gold.document)
    if not matches:
        return f"unknown document {gold.document!r}"
    last = max(document.pages for document in matches)
    if gold.pages and max(gold.pages) > last:
        return f"{gold.document} has {last or 'no'} pages, but the gold names page {max(gold.pages)}"
    if gold.quote and not any(fold(gold.quote) in text_of(document.id) for document in matches):
        return f"the parsed text of {gold.document} does not contain {gold.quote!r}"
    return ""
