"""A research request: the question, its options, the filter for documents, and the memory entries that apply to it.

``memory`` stores the entries, and ``prompts/show_remembered.py`` renders them.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from fnmatch import fnmatchcase
from functools import partial
from pathlib import PurePath
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import BeforeValidator, Field, JsonValue

from base.models import FrozenModel
from base.text import shorten
from multi_agent.errors import AgentError, NoDocumentMatches
from multi_agent.library import CatalogueEntry
from multi_agent.settings.research import Budget, Source
from multi_agent.values.plan import Plan
from multi_agent.values.report import ReportOptions
from multi_agent.values.versions import Scan, left_out, newest
from vectorstore.models import FieldValue

EXCHANGES = 6
"""Number of earlier exchanges of a conversation that a run reads."""
_QUESTION = 400  # characters of a question in a conversation
_ANSWER = 2_000  # characters of an answer


class Exchange(FrozenModel):
    """An earlier question of the same conversation with its short answer."""

    question: str
    answer: str

    @classmethod
    def in_short(cls, question: str, answer: str) -> Self:
        """Return the exchange with both texts shortened at a word. Nearly all answers fit uncut."""
        return cls(question=shorten(question, _QUESTION), answer=shorten(answer, _ANSWER))


class ToolUse(FrozenModel):
    """A tool call of a run that ended with an answer, without the values of its arguments."""

    call: str = Field(description="the tool and the names of the arguments: `web_search(limit, query)`")
    purpose: str = Field(description="question of the run that made the call")
    run_id: str

    @property
    def tool(self) -> str:
        """The name of the tool."""
        return self.call.partition("(")[0]


class Remembered(FrozenModel):
    """Preferences, conversation, notes and tool use that apply to one question. They are never evidence.

    Only the supervisor reads ``preferences`` and ``conversation``. Agents get their tasks and the shared context.
    Agents with ``reads_memory`` on their card also read ``how_to`` and ``tool_uses``.
    """

    preferences: tuple[str, ...] = Field(default=(), description="wishes of the person for every answer")
    conversation: tuple[Exchange, ...] = Field(
        default=(), description="the last questions of the conversation, in order"
    )
    how_to: tuple[str, ...] = Field(default=(), description="notes of people on how to research such questions")
    tool_uses: tuple[ToolUse, ...] = Field(default=(), description="tool use that led to answers to similar questions")


def words_to_look_up(question: str, conversation: Sequence[Exchange]) -> str:
    """Return the last question and this one, because a question such as "And his time?" has no subject."""
    return " ".join((*(each.question for each in conversation[-1:]), question))


_MOST_WANTED = 100  # names, types or tags in a filter
_LISTED = 12  # known values that an error names
_DATE = re.compile(r"\d{4}-\d\d")
_PERIOD = re.compile(r"\d{4}(-\d\d)?")

Text = Annotated[str, Field(min_length=1, max_length=1_000, pattern=r"\S")]


def _first_day(written: object) -> object:
    """Complete a year or a month. Without it, a year counts as seconds since 1970."""
    period = isinstance(written, str) and _PERIOD.fullmatch(written)
    return f"{written}{'-01-01'[len(period[0]) - 4 :]}" if period else written


class DocumentFilter(FrozenModel):
    """Conditions on documents. A document must meet all of them."""

    documents: tuple[Text, ...] = Field(
        default=(),
        max_length=_MOST_WANTED,
        description="names of documents, any of which; `*` and `?` stand for any characters, as in `2024/*.pdf`",
    )
    folder: Text | None = Field(
        default=None, description="a folder that the document is in, at any depth: its whole path, or the end of it"
    )
    type: tuple[Text, ...] = Field(
        default=(), max_length=_MOST_WANTED, description="types of files, any of which, such as `pdf` or `docx`"
    )
    since: Annotated[date, BeforeValidator(_first_day)] | None = Field(
        default=None,
        description="the earliest date of the document: the date or period that it states, else the day on which its "
        "file was changed",
    )
    tags: tuple[Text, ...] = Field(
        default=(), max_length=_MOST_WANTED, description="tags, all of which the document has"
    )
    where: dict[Text, FieldValue] = Field(
        default_factory=dict,
        max_length=_MOST_WANTED,
        description="metadata and facts, all of which the document has; `2024-05` selects all days of the month",
        examples=[{"project": "Orion", "issuer": "Apple Inc."}],
    )
    latest: bool = Field(
        default=False,
        description="of several versions of a document that meet the conditions, only the newest. Versions have the "
        "title or the first word of the name in common, and 70 % of their sentences",
    )

    def __str__(self) -> str:
        latest = ["latest versions"] if self.latest else []
        return ", ".join([condition.text for condition in self._conditions()] + latest)

    @property
    def is_empty(self) -> bool:
        """Whether the filter has no conditions."""
        return not self.latest and next(self._conditions(), None) is None

    @property
    def within(self) -> Callable[[str], bool] | None:
        """The condition on the path of a document. None if the filter names no folder."""
        if not self.folder:
            return None
        folder = str(PurePath(_folded(self.folder)))
        return partial(_is_in, "" if folder == "." else f"{folder.rstrip('/')}/")

    def choose(self, catalogue: Sequence[CatalogueEntry], collection: str) -> tuple[CatalogueEntry, ...]:
        """Return the documents that meet every condition. Raises NoDocumentMatches, which names the condition."""
        if left := self.matching(catalogue):
            return left
        for condition in self._conditions():
            if not any(map(condition.is_met, catalogue)):
                raise NoDocumentMatches(
                    f"No document of {collection!r} meets the condition '{condition.text}'.{condition.known(catalogue)}"
                )
        raise NoDocumentMatches(
            f"No document of {collection!r} meets all conditions: {self}. Each condition alone matches some documents. "
            "Remove one of them."
        )

    def select(
        self, catalogue: Sequence[CatalogueEntry], collection: str, scan: Scan
    ) -> tuple[tuple[CatalogueEntry, ...], dict[str, str]]:
        """Return the documents to read. With ``latest``, also return the older versions left out: newest name by name.

        ``scan`` reads the documents to find their versions. Raises NoDocumentMatches.
        """
        chosen = self.choose(catalogue, collection)
        return newest(chosen, scan) if self.latest else (chosen, {})

    def matching(self, catalogue: Sequence[CatalogueEntry]) -> tuple[CatalogueEntry, ...]:
        """Return the documents that meet every condition."""
        conditions = tuple(self._conditions())
        return tuple(entry for entry in catalogue if all(condition.is_met(entry) for condition in conditions))

    def _conditions(self) -> "Iterator[_Condition]":
        if self.documents:
            patterns = [_folded(each) for each in self.documents]
            yield _Condition(
                f"document {' or '.join(self.documents)}", partial(_is_named, patterns), lambda entry: (entry.name,)
            )
        if within := self.within:
            named = f"folder {self.folder}"
            yield _Condition(named, lambda entry: within(entry.path), lambda entry: (PurePath(entry.path).parent.name,))
        if self.type:
            types = {_folded(each).removeprefix(".") for each in self.type}
            named = f"type {' or '.join(self.type)}"
            yield _Condition(named, lambda entry: entry.type in types, lambda entry: (entry.type,))
        if since := self.since:
            yield _Condition(f"since {since}", lambda entry: entry.dated is not None and entry.dated >= since, _date)
        for tag in self.tags:
            yield _Condition(f"tag {tag}", partial(_has_tag, _folded(tag)), lambda entry: entry.tags)
        for name, wanted in self.where.items():
            stated = partial(_stated, _folded(name))
            for value in wanted if isinstance(wanted, tuple) else (wanted,):
                yield _Condition(f"{name}={value}", partial(_has_value, stated, _folded(str(value))), stated, name)


class Selection(FrozenModel):
    """The documents of a collection that match a filter."""

    filter: DocumentFilter
    documents: int = Field(description="number of documents that the run could read")
    total: int = Field(description="number of documents in the collection")
    older: dict[str, str] = Field(
        default_factory=dict, description="names of older versions left out, each with the name of its newest version"
    )

    def __str__(self) -> str:
        read = f"{self.documents:,} of {self.total:,} documents ({self.filter})"
        return ". ".join(filter(None, (read, left_out(self.older))))


class _Condition(NamedTuple):
    """A condition as text, a predicate for documents, and a function that returns the compared values of a document."""

    text: str
    is_met: Callable[[CatalogueEntry], bool]
    value: Callable[[CatalogueEntry], Sequence[str]]
    field: str = ""
    """The field of the metadata that is compared."""

    def known(self, catalogue: Sequence[CatalogueEntry]) -> str:
        """Return a sentence with the values that the documents have, or with their fields."""
        values = sorted({value for entry in catalogue for value in self.value(entry)})
        if self.field and not values:
            fields = sorted({name for entry in catalogue for name in entry.metadata})
            return f" No document has the field {self.field!r}. The fields are: {', '.join(fields) or 'none'}."
        more = f" and {len(values) - _LISTED} more" if len(values) > _LISTED else ""
        return f" Values in the collection: {', '.join(values[:_LISTED])}{more}." if values else " There are no values."


def _is_named(patterns: Sequence[str], entry: CatalogueEntry) -> bool:
    """Return whether the name or its last part matches a pattern. An exact name may contain `[` or `*`."""
    name = _folded(entry.name)
    names = (name, PurePath(name).name)
    return any(each in names or any(fnmatchcase(name, each) for name in names) for each in patterns)


def _is_in(folder: str, path: str) -> bool:
    """Return whether the path contains the parts of the folder consecutively, from the root if it is absolute."""
    parents = f"/{_folded(path).rpartition('/')[0]}/"
    found = parents.startswith(f"/{folder}") if folder.startswith("/") else f"/{folder}" in parents
    return found and "/" in path


def _stated(name: str, entry: CatalogueEntry) -> tuple[str, ...]:
    value = entry.metadata.get(name, ())
    return value if isinstance(value, tuple) else (str(value),)


def _has_value(stated: Callable[[CatalogueEntry], Sequence[str]], wanted: str, entry: CatalogueEntry) -> bool:
    """Return whether the document has the value, or a date in the year, in the month or on the day."""
    values = [_folded(each) for each in stated(entry)]
    return wanted in values or any(_DATE.match(each) and each.startswith(wanted) for each in values if wanted)


def _has_tag(tag: str, entry: CatalogueEntry) -> bool:
    return tag in entry.tags


def _date(entry: CatalogueEntry) -> tuple[str, ...]:
    return (str(entry.dated),) if entry.dated else ()


def _folded(text: str) -> str:
    """Return the text in the form in which names are compared. File systems store accents in two forms."""
    return unicodedata.normalize("NFC", " ".join(text.split())).casefold()


LONGEST = 20_000
"""Maximum characters of a question or query. Longer texts belong in the collection as documents."""


MOST_RESULTS = 100
LONGEST_RESULT = 20_000
LONGEST_RESULTS = 400_000
"""Limits on given passages: their number, the characters of one, and the characters of all. Ingest longer texts."""


class RagResult(FrozenModel):
    """A passage that the caller already has, for example from a search elsewhere."""

    text: str = Field(min_length=1, description="the passage; quotes are verified in it")
    source: str = Field(min_length=1, max_length=2_000, description="name or URL of where it is from")
    document: str = Field(default="", max_length=1_000, description="name of its document, if not the source itself")
    page: int | None = Field(default=None, ge=1, description="page of the document")
    score: float | None = Field(default=None, description="the caller's own score; the order of the list decides")
    chunk_id: str = Field(
        default="", max_length=100, description="id of the chunk in the collection, if it is from there"
    )


class ForkChange(FrozenModel):
    """The first step of a run that runs again, and its changes."""

    step: str = Field(min_length=1, max_length=64, description="the first step that runs again")
    model: str = Field(default="", description="named model endpoint for the step")
    instruction: str | None = Field(default=None, max_length=LONGEST, description="another instruction for the step")
    inputs: dict[str, JsonValue] = Field(default={}, description="inputs of the step that get another value")
    prompts: dict[str, Annotated[str, Field(max_length=LONGEST)]] = Field(
        default={}, description="other texts for the prompts of the step's agents, by agent"
    )
    evidence: tuple[int, ...] | None = Field(
        default=None, description="numbers of the evidence that the step and later ones may use; null for all"
    )
    plan: Plan | None = Field(
        default=None, description="another plan; steps that ran before the step must be the same in it"
    )

    @property
    def summary(self) -> str:
        """The kinds of changes, such as "model large, another instruction"."""
        named = [f"model {self.model}"] if self.model else []
        named += ["another instruction"] if self.instruction is not None else []
        named += [f"other inputs ({', '.join(self.inputs)})"] if self.inputs else []
        named += [f"another prompt of {name}" for name in self.prompts]
        if self.evidence is not None:
            named.append(f"only evidence {', '.join(map(str, self.evidence))}" if self.evidence else "no evidence")
        named += ["another plan"] if self.plan else []
        return ", ".join(named) or "no change"


class Fork(ForkChange):
    """A run repeats another run up to a step, and goes on from there with a change."""

    run_id: str = Field(min_length=1, max_length=64, description="id of the run to repeat")


class Request(FrozenModel):
    """A question with its options. In mode ``auto``, triage chooses between ``fast`` and ``high``."""

    question: str
    mode: Literal["auto", "fast", "high", "direct"] = "auto"
    agent: str = Field(default="", description="the only agent that is asked (mode `direct`)")
    agents: tuple[str, ...] = Field(
        default=(), description="agents that are asked the same question (mode `direct`), or `@all` for all agents "
        "that can answer alone; a vote chooses among their answers")  # fmt: skip
    each: Literal["", "document"] = Field(
        default="", description="`document` asks the question of every document (mode `direct`, agent `ForEach`)"
    )
    model: str = Field(default="", description="named model endpoint for all agents without their own")
    session: str = Field(
        default="", max_length=100, description="name of a conversation about a collection, which completes questions"
    )
    conversation: tuple[Exchange, ...] = Field(
        default=(),
        max_length=EXCHANGES,
        description="earlier questions and answers that complete this question, oldest first",
    )
    continues: str = Field(
        default="",
        max_length=64,
        description="id of an earlier run of the same collection, whose question, answer and conversation complete "
        "this question",
    )
    complete: bool = Field(
        default=False,
        description="whether to ask the question as it is, without completing it from the conversation; set it for the "
        "question of a chosen candidate",
    )
    template: str = Field(default="", description="name of a saved plan to follow")
    inputs: dict[str, str] = Field(
        default={}, description="values of the saved plan's parameters; a model finds the others in the question"
    )
    today: date | None = Field(
        default=None, description="date for terms such as 'last year'; by default, the day on which the run starts"
    )
    samples: int | None = Field(default=None, ge=1, le=32, description="instead of `research.samples`")
    strict: bool = Field(default=False, description="omit findings that only come close to an answer")
    sources: tuple[Source, ...] = Field(
        default=("documents",), min_length=1, description="sources of the answer, instead of `research.sources`"
    )
    filter: DocumentFilter | None = Field(
        default=None, description="filter for the documents that the run may read; null for all documents"
    )
    rag_results: tuple[RagResult, ...] = Field(
        default=(), description="passages of the caller, best first, which agents read before others"
    )
    search: bool = Field(default=True, description="search the collection in addition to `rag_results`")
    budget: Budget | None = Field(default=None, description="instead of `research.budget`")
    fork: Fork | None = Field(default=None, description="the run that this one repeats up to a step; null for none")
    report: ReportOptions | None = Field(
        default=None, description="write a report with a run for each section; null for an answer"
    )

    def validated(self) -> "Request":
        """Strip the question. Raises AgentError for an empty or too long question, and for conflicting options.

        Also raises AgentError for given passages over the limits.
        """
        if not self.question.strip():
            raise AgentError("The question is empty.")
        if len(self.question) > LONGEST:
            raise AgentError(
                f"The question has {len(self.question):,} characters, but the maximum is {LONGEST:,}. Ingest long "
                "texts as a document and ask about that document."
            )
        if self.each:
            return self._asking_each().validated()
        if self.agent and self.agents:
            raise AgentError("Name one agent in `agent` or several in `agents`, not both.")
        if self.mode == "direct" and not (self.agent or self.agents):
            raise AgentError("Mode 'direct' needs an agent's name.")
        if self.mode != "direct" and (self.agent or self.agents):
            raise AgentError("Named agents are asked directly. Omit the mode or the names.")
        if self.template and self.mode in ("fast", "direct"):
            raise AgentError(f"A saved plan runs in mode 'high', not in {self.mode!r}.")
        if self.inputs and not self.template:
            raise AgentError("Inputs are values of a saved plan's parameters. Also name the saved plan.")
        if self.filter and "documents" not in self.sources:
            raise AgentError("`filter` selects documents of the collection. Add 'documents' to `sources`.")
        self._check_results()
        wanted = None if self.filter and self.filter.is_empty else self.filter
        return self.model_copy(update={"question": self.question.strip(), "filter": wanted})

    def _asking_each(self) -> "Request":
        if self.agent or self.agents or self.template or self.mode not in ("auto", "direct"):
            raise AgentError("`each` names the agent and the mode. Omit `mode`, `agent`, `agents` and `template`.")
        return self.model_copy(update={"each": "", "mode": "direct", "agent": "ForEach"})

    def _check_results(self) -> None:
        """Raise AgentError if there is nothing to read or given passages are not allowed, blank or over the limits."""
        if not self.search and not self.rag_results:
            raise AgentError("There is nothing to read, because `search` is false and `rag_results` is empty.")
        if self.rag_results and "documents" not in self.sources:
            raise AgentError("The passages of `rag_results` count as documents. Add 'documents' to `sources`.")
        if (count := len(self.rag_results)) > MOST_RESULTS:
            raise AgentError(
                f"`rag_results` has {count} passages, but the maximum is {MOST_RESULTS}. Send only the best ones, or "
                "ingest the documents."
            )
        for number, each in enumerate(self.rag_results, start=1):
            if not each.text.strip() or not each.source.strip():
                raise AgentError(f"Passage {number} of `rag_results` has a blank text or source. Set both.")
            if len(each.text) > LONGEST_RESULT:
                raise AgentError(
                    f"Passage {number} of `rag_results` has {len(each.text):,} characters, but the maximum is "
                    f"{LONGEST_RESULT:,}. Split it, or ingest its document."
                )
        if (size := sum(len(each.text) for each in self.rag_results)) > LONGEST_RESULTS:
            raise AgentError(
                f"`rag_results` has {size:,} characters in total, but the maximum is {LONGEST_RESULTS:,}. Send fewer "
                "passages, or ingest the documents."
            )
