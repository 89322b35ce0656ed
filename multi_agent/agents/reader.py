"""The Reader, which answers one question with a search and a model call that cites sentences."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Self

from pydantic import ConfigDict, Field, PrivateAttr

from base.models import FrozenModel
from base.text import shorten
from multi_agent.agent import AgentCard, AgentKit, DocumentNames, StepAgent, StepOutput
from multi_agent.grounding.asked import without_instruction
from multi_agent.grounding.asking_back import UNCLEAR, CitedAskBack, ask_back, cited_names
from multi_agent.grounding.citations import Cited, cite, publish_unknown
from multi_agent.grounding.draft_claims import CheckedClaim, draft_callback
from multi_agent.grounding.judged import Judged, Statement
from multi_agent.grounding.pictures import PagePictures, PictureReading
from multi_agent.grounding.rare_names import may_name, shared_names
from multi_agent.grounding.reading_order import ReadingOrder
from multi_agent.grounding.support import SupportRules, mark_pictured
from multi_agent.grounding.support_check import SupportCheck
from multi_agent.grounding.written_answer import (
    ResponseClaim,
    WrittenResponse,
    answers_absence,
    build_synthesis,
    describe_answer,
    describe_read,
    unread_answer,
)
from multi_agent.library import within
from multi_agent.prompt import Prompt
from multi_agent.prompts.reading import in_turn, read_around
from multi_agent.prompts.show_passages import Unit, best_document_last, bullets, number_units, show_units
from multi_agent.prompts.show_task import show_said, show_task, show_today
from multi_agent.toolbox.granted_tool import OfferedTools
from multi_agent.toolbox.loop import ToolLoop, ToolUse
from multi_agent.values.answer import in_short, nearest_of
from multi_agent.values.context import ContextUpdate, Finding, ResearchContext, Synthesis
from multi_agent.values.context_merge import number_evidence
from multi_agent.values.evidence_events import DraftWithdrawn, Searched
from multi_agent.values.tasks import TaskData
from vectorstore.models import Chunk, Hit

_FURTHER = 2  # further searches for what is missing
_OWN = 2  # best passages for the person's own words, where the conversation completed the question
_PICTURED = 3  # best passages whose pages are shown as pictures, too
_KEPT = 3  # best passages of a search that are shown even if an earlier attempt read them: they hold the open point
_NOTHING = "There was nothing to read, so no model was asked."
_UNNAMED = "The question does not say whom or what it means."
_OFF_TOPIC = "Two searches found nothing about the subject of the question."
_SHOWN = 600  # characters of an answer without a short form in an error message


class ReaderInputs(FrozenModel):
    """What the planner gives the Reader."""

    question: str = Field(
        min_length=1,
        description="the one question to answer, complete in itself: no 'it' or 'that company', but the name, or a "
        "reference to the step that finds it",
    )
    queries: tuple[str, ...] = Field(
        max_length=8, description="further wordings to search with; [] if the question's own words will do"
    )
    documents: DocumentNames = Field(default=(), description="names of the documents to search, as listed; [] for all")


class ReaderOutput(StepOutput):
    """The output of an answer for later steps."""

    answer: str = Field(description="the bare answer, such as a name, a date or a figure; several divided by '; '")
    sufficient: bool = Field(description="whether the passages answered the question")
    _in_full: str = PrivateAttr(default="")

    @classmethod
    def of(cls, update: ContextUpdate) -> Self:
        """Build the output. An insufficient answer is passed on as far as its evidence supports it.

        The agent that answers sees how the closest answer differs, and judges whether what follows from it counts.
        """
        [finding] = update.findings
        synthesis = finding.synthesis
        if not synthesis.sufficient:
            closest = nearest_of(synthesis)
            return cls(answer=closest.answer if closest else "", sufficient=False)
        output = cls(answer=synthesis.short, sufficient=True)
        output._in_full = "" if output.answer else " ".join(each.text for each in synthesis.claims if each.stands)
        return output

    @property
    def why_empty(self) -> str:
        """The full answer. A later step cannot use it as a name, but the planner can ask about its parts."""
        if not self._in_full:
            return super().why_empty
        return (
            "has no bare answer, as it takes a sentence: "
            f"“{shorten(self._in_full, _SHOWN)}” Ask about each of them in a step of its own, or "
            "more narrowly."
        )


class ReaderClaim(ResponseClaim):
    sentences: list[int] = Field(
        description="numbers of the sentences that state it, usually one to three; all figures of a sum"
    )
    text: str = Field(min_length=1, description="the claim, as short as the question allows")

    @property
    def references(self) -> Sequence[int]:
        return self.sentences


class ReaderAnswer(WrittenResponse[ReaderClaim]):
    search: list[str] = Field(
        default=[],
        description="one or two searches for what is missing; [] if nothing is",
        json_schema_extra={"maxItems": _FURTHER},
    )
    off_topic: bool = Field(
        default=False, description="whether no sentence is about the subject of the question at all"
    )
    ask_back: CitedAskBack | None = Field(default=None, description=UNCLEAR)


class PicturedClaim(ReaderClaim):
    pictures: list[PictureReading] = Field(description="what states it in the pictures; [] if nothing there does")

    @property
    def references(self) -> Sequence[int]:
        return [*self.sentences, *(each.picture for each in self.pictures)]


class PicturedAnswer(ReaderAnswer):
    model_config = ConfigDict(title="ReaderAnswer")

    claims: list[PicturedClaim] = Field(  # type: ignore[assignment]  # read-only
        description="what answers the question, or comes closest"
    )


class _Reading(NamedTuple):
    """The passages that were found, the answer and everything that was read for it."""

    found: list[Chunk]
    answer: Synthesis
    read: tuple[Chunk, ...]


class Reader(StepAgent):
    """Searches, reads the best passages and answers. Checks that the cited sentences support the claims."""

    card: ClassVar[AgentCard] = AgentCard(
        name="Reader",
        description="Answers one question: searches, reads the best passages and answers with verified quotes. For a "
        "fact, an explanation or a comparison of a few facts. Not for going through all rows of a table.",
        capabilities=("search", "reading", "answering"),
        writes=frozenset({"chunks", "ranking", "evidence", "findings"}),
        instructed=False,
        inputs=ReaderInputs,
        asked=lambda question: ReaderInputs(question=question, queries=()),
        outputs=ReaderOutput,
        searches=frozenset({"documents"}),
    )

    def __init__(self, kit: AgentKit) -> None:
        super().__init__(kit)
        self._missing: tuple[str, ...] = ()  # searches for what the last answer lacked
        self._hopeless = ""  # why no other plan can help, if the last answer says so

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        inputs = ReaderInputs.model_validate(task.inputs.model_dump())
        searches = "passages" in self._kit.require_prompt().placeholders and "documents" in self._kit.sources
        said = context.follows if context.question == inputs.question else None
        own = (said.asked,) if said else ()
        queries = _queries(inputs, said.left_out if said else ())
        hits = await self._search(queries, inputs.documents) if searches else []
        if own and searches:  # few, as their scores lie close together and would displace others in one ranking
            known = frozenset(hit.chunk.id for hit in hits)
            hits += (await self._search(own, inputs.documents, known))[:_OWN]
        if names := await self._unknown_names(inputs, own, hits):
            reason = f"Two searches found no passage with {names}, so no model was asked."
            answer = unread_answer(_looked_for(inputs), reason, f"documents about {names}", hopeless=reason)
            reading = _Reading([hit.chunk for hit in hits], answer, ())
        else:
            reading = await self._read([hit.chunk for hit in hits], context, task, inputs)
        again = searches and self._missing and not (reading.answer.sufficient and reading.answer.claims)
        if again:
            missing = self._missing
            inputs = inputs.model_copy(update={"queries": tuple(dict.fromkeys((*inputs.queries, *missing)))})
            reading = await self._search_again(missing, reading, context, task, inputs)
        synthesis, ids = reading.answer, {chunk.id for chunk in reading.read}
        if not synthesis.sufficient and (again or self._hopeless == _UNNAMED):
            synthesis = synthesis.model_copy(update={"hopeless": self._hopeless})
        self._reasoning = describe_answer(inputs.question, synthesis)
        return ContextUpdate(
            chunks=reading.read,
            ranking=tuple(chunk.id for chunk in reading.found if chunk.id in ids),
            evidence=synthesis.evidence,
            findings=(Finding(step=task.step, synthesis=synthesis, **inputs.model_dump()),),
        )

    async def _unknown_names(self, inputs: ReaderInputs, own: Sequence[str], hits: Sequence[Hit]) -> str:
        """Return the names of the question if no passage has one of them, after a search for the names alone.

        ``own`` are the person's words, if the conversation completed the question: only names among them count. Where
        tools may find more, nothing is decided.
        """
        names = shared_names(inputs.question, (*inputs.queries, *own))
        if not (names and hits) or inputs.documents or (await self._kit.tools()).tools or may_name(names, hits):
            return ""
        again = await self._search((" ".join(name.text for name in names),), ())
        return "" if may_name(names, again) else ", ".join(name.text for name in names)

    async def _search(
        self, queries: tuple[str, ...], documents: tuple[str, ...], known: frozenset[str] = frozenset()
    ) -> list[Hit]:
        """Return the best passages without the ``known`` ones.

        Those that earlier attempts read come last, except the very best: they may hold what this question asks for.
        """
        limit, before = self._kit.settings.reader_passages, self._kit.read_before
        most = limit + len(known | before)
        found = await self._kit.search(queries, most, documents)
        new = [hit for hit in found if hit.chunk.id not in known]
        new = [*new[:_KEPT], *sorted(new[_KEPT:], key=lambda hit: hit.chunk.id in before)][:limit]
        await self._kit.publish(Searched.of(queries, documents, new))
        return new

    async def _search_again(
        self,
        missing: tuple[str, ...],
        first: _Reading,
        context: ResearchContext,
        task: TaskData,
        inputs: ReaderInputs,
    ) -> _Reading:
        """Search again for what the first answer lacked, and answer from the passages of both searches.

        One call may not hold all of them, so it gets the cited passages, then those of both searches alternately. Of 13
        questions that the first reading left open, this put all needed passages into the call for 13, with the new ones
        first for 12 (``benchmarks/second_reading.py``). Returns the better answer, with all passages.
        """
        hits = await self._search(missing, inputs.documents, frozenset(chunk.id for chunk in first.read))
        new = [hit.chunk for hit in hits]
        answer = first.answer.model_copy(update={"looked_for": _looked_for(inputs)})
        if not new:
            return first._replace(answer=answer)
        # The budget may end here. What the first answer cited then still counts.
        await self._kit.keep(ContextUpdate(chunks=first.read, evidence=answer.evidence))
        if task.streams_claims and answer.claims:
            await self._kit.publish(DraftWithdrawn(agent=self.card.name, claims=len(answer.claims)))
        cited = {item.chunk_id for item in answer.evidence}
        again = [*(chunk for chunk in first.read if chunk.id in cited), *in_turn(new, first.found)]
        closest, queries = (" ".join(text.split()) for text in (in_short(answer), "; ".join(missing)))
        known = Prompt.part("found_before", closest=closest, queries=queries)
        second = await self._read(again, context, task, inputs, known)
        near, near_before = nearest_of(second.answer), nearest_of(answer)
        is_new = near and not (
            near_before and near.answer == near_before.answer
        )  # otherwise, keep what the first reading reported as missing
        if second.answer.sufficient or (is_new and not answer.sufficient):
            answer = second.answer
        read = tuple({chunk.id: chunk for chunk in (*first.read, *second.read)}.values())
        answer = answer.model_copy(update={"found": describe_read(read)})
        return _Reading([*first.found, *new], answer, read)

    async def _read(
        self, found: list[Chunk], context: ResearchContext, task: TaskData, inputs: ReaderInputs, known: str = ""
    ) -> _Reading:
        """Read the passages and answer. ``known`` says what was found before."""
        shown = await asyncio.to_thread(self._readable, found)
        offered = await self._kit.tools()
        if not shown and not offered.tools:
            missing = "documents that could answer it"
            return _Reading(found, unread_answer(_looked_for(inputs), _NOTHING, missing), ())
        pictures = await self._pictures(found, shown)
        return _Reading(found, *await self._answer(shown, pictures, offered, context, task, inputs, known))

    def _readable(self, found: Sequence[Chunk]) -> tuple[Chunk, ...]:
        """Return the best passages and the rest of their tables, pages and sections, as many as fit into one call."""
        settings, library = self._kit.settings, self._kit.library
        return best_document_last(read_around(found, library, settings.tokens_per_call)) if found else ()

    async def _pictures(self, found: Sequence[Chunk], shown: Sequence[Chunk]) -> PagePictures:
        """Return pictures of pages of the best passages, best first. Raises PictureUnavailable, LLMError."""
        kit, read = self._kit, {chunk.id for chunk in shown}
        best = [chunk for chunk in found if chunk.id in read][:_PICTURED]
        return await PagePictures.load(best, shown, kit.settings.pictures_per_call, kit.library, kit.llm)

    async def _answer(
        self,
        chunks: Sequence[Chunk],
        pictures: PagePictures,
        offered: OfferedTools,
        context: ResearchContext,
        task: TaskData,
        inputs: ReaderInputs,
        known: str,
    ) -> tuple[Synthesis, tuple[Chunk, ...]]:
        """Return the answer and all passages that it is based on, including those from tools."""
        values = {
            "today": show_today(context),
            "task": "\n\n".join(
                filter(None, (show_said(context), known, show_task(context, inputs.question, task.instruction)))
            ),
            "whole": context.question,
            "intent": context.understanding.intent,
            "requirements": bullets(context.understanding.requirements),
            "question": inputs.question,
            "instruction": task.instruction,
            "searched": "; ".join(_looked_for(inputs)),
            "passages": show_units(number_units(chunks)),
        }
        prompt = self._kit.require_prompt()
        messages = pictures.attach(prompt.render(**{name: values[name] for name in prompt.placeholders}))
        use = await ToolLoop(self._kit.llm, offered, chunks).run(messages)
        return await self.write(use, pictures, task, inputs), use.passages

    async def write(self, use: ToolUse, pictures: PagePictures, task: TaskData, inputs: ReaderInputs) -> Synthesis:
        """Ask the model for the answer, check its citations, and return it."""
        units = number_units(use.passages)
        shown = [item for unit in units for item in cite([unit.number], units).evidence]
        rules = SupportRules(inputs.question, shown, (unit.chunk for unit in units))
        draft = _DraftChecker(rules, units, pictures)
        shape = PicturedAnswer if pictures else ReaderAnswer
        on_text = draft_callback(task, self.card.name, shape, draft.check, self._kit.publish)
        response = (await self._kit.llm.complete(use.closing, shape, on_text=on_text)).value
        self._missing = tuple(filter(None, map(str.strip, response.search)))[:_FURTHER]
        judged = await self._judge(response, inputs.question, rules, units, pictures)
        looked_for, found = _looked_for(inputs), describe_read(use.passages)
        synthesis = build_synthesis(
            response,
            judged,
            inputs.question,
            rules,
            evidence=number_evidence(item for each in judged for item in each.statement.evidence),
            looked_for=looked_for,
            found=found,
        )
        if synthesis.sufficient or not response.ask_back:
            self._hopeless = _OFF_TOPIC if response.off_topic else ""
            return synthesis
        self._hopeless, named = _UNNAMED, cited_names(response.ask_back, units)
        if asked := ask_back(response.ask_back.question, named, looked_for, found):
            self._missing = ()
        return asked or synthesis

    async def _judge(
        self, response: ReaderAnswer, question: str, rules: SupportRules, units: Sequence[Unit], pictures: PagePictures
    ) -> list[Judged]:
        absent = answers_absence(response, question)
        claims = [] if absent else response.claims
        cited = [_cite(claim, units, pictures) for claim in claims]
        await publish_unknown(
            (number for each in cited for number in each.unknown), units, self._kit.publish, self.card.name
        )
        readings = [reading for claim in claims for reading in _readings(claim)]
        await pictures.publish_faults(readings, self.card.name, self._kit.publish)
        statements = [Statement(claim.text, each.evidence) for claim, each in zip(claims, cited, strict=True)]
        rules = rules.with_short(response.short)
        ask = self._kit.checks_claims and response.sufficient  # the check rejects answers that only come close
        check = SupportCheck(rules, question, self.card.name, self._kit.llm, self._kit.publish, ask=ask)
        return await check.judge(statements, response.short.strip() if response.sufficient and not absent else "")


class _DraftChecker:
    """Checks claims while they are drafted, and numbers their evidence in reading order."""

    def __init__(self, rules: SupportRules, units: Sequence[Unit], pictures: PagePictures) -> None:
        self._rules, self._units, self._pictures = rules, units, pictures
        self._order = ReadingOrder()

    def check(self, written: ReaderClaim) -> CheckedClaim:
        cited = _cite(written, self._units, self._pictures)
        judged = mark_pictured(self._rules.judge(Statement(written.text, cited.evidence)), self._rules)
        evidence = self._order.number(judged.statement.evidence)
        claim = judged.claim(written.text, tuple(item.number for item in evidence))
        return CheckedClaim(claim, evidence, tuple(f"[{number}]" for number in cited.unknown))


def _cite(claim: ReaderClaim, units: Sequence[Unit], pictures: PagePictures) -> Cited:
    """Return the quotes and picture readings that the claim cites."""
    cited = cite(claim.sentences, units)
    return cited._replace(evidence=(*cited.evidence, *pictures.evidence(_readings(claim))))


def _readings(claim: ReaderClaim) -> Sequence[PictureReading]:
    return claim.pictures if isinstance(claim, PicturedClaim) else ()


def _queries(inputs: ReaderInputs, left_out: Sequence[str] = ()) -> tuple[str, ...]:
    """Return what to search for, without the names that are left out."""
    queries = (without_instruction(inputs.question, inputs.queries), *inputs.queries)
    for name in left_out:
        queries = tuple(" ".join(re.sub(rf"\b{re.escape(name)}\b", "", query).split()) for query in queries)
    return tuple(dict.fromkeys(queries))


def _looked_for(inputs: ReaderInputs) -> tuple[str, ...]:
    return tuple(within(query, inputs.documents) for query in _queries(inputs))
