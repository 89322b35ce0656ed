"""Asking the person back, where a question does not say whom or what it means.

A candidate counts only with a quote of a passage that names it. With fewer than two candidates, nobody is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from base.counts import count
from multi_agent.grounding.citations import cite
from multi_agent.grounding.quotes import fold
from multi_agent.grounding.terms import TermIndex, find_terms
from multi_agent.library import Library
from multi_agent.prompts.show_passages import Unit, number_units, show_proof
from multi_agent.values.bus import Publish
from multi_agent.values.context import Candidate, Claim, Clarification, Evidence, Synthesis
from multi_agent.values.context_merge import number_evidence
from multi_agent.values.evidence_events import Searched
from vectorstore.models import Chunk

MOST_CANDIDATES = 5
UNCLEAR = "only for a question that points at one thing without saying which"
_LEAST = 2
_PASSAGES = 3  # best passages in which a name is looked up


class Meant(BaseModel):
    # No docstring: the schema would show it to the model.
    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, description="what it may mean, as the documents name it")
    question: str = Field(min_length=1, description="the whole question with this name")


class AskBack(BaseModel):
    model_config = ConfigDict(extra="forbid")

    question: str = Field(min_length=1, description="what to ask the person, in the language of the question")
    candidates: list[Meant] = Field(
        description="what it may mean, two or more", json_schema_extra={"maxItems": MOST_CANDIDATES}
    )


class CitedMeant(Meant):
    sentences: list[int] = Field(description="numbers of the sentences that name it")


class CitedAskBack(AskBack):
    candidates: list[CitedMeant] = Field(  # type: ignore[assignment]  # read-only
        description="what it may mean, two or more", json_schema_extra={"maxItems": MOST_CANDIDATES}
    )


class Named(NamedTuple):
    """A candidate and the quote that names it."""

    meant: Meant
    quote: Evidence
    chunk: Chunk


async def find_named(candidates: Iterable[Meant], library: Library, publish: Publish) -> list[Named]:
    """Return the candidates that a passage of the library names. Raises StoreError."""
    found: list[Named] = []
    for meant in list(candidates)[:MOST_CANDIDATES]:
        hits = await asyncio.to_thread(library.search, (meant.name,), _PASSAGES)
        await publish(Searched.of((meant.name,), (), hits))
        units = number_units(hit.chunk for hit in hits)
        found += [_named(meant, unit, units) for unit in units if _names(meant.name, unit.text)][:1]
    return found


def cited_names(asked: CitedAskBack, units: Sequence[Unit]) -> list[Named]:
    """Return the candidates that a sentence they cite names with its title and headings, or all of one document."""
    found: list[Named] = []
    for meant in asked.candidates:
        shown = [units[number - 1] for number in meant.sentences if 1 <= number <= len(units)]
        together = [shown] if len({each.chunk.document_id for each in shown}) == 1 else []
        naming = [each for each in (*([unit] for unit in shown), *together) if _names(meant.name, _proof(each))]
        found += [_named(meant, each[0], units) for each in naming[:1]]
    return found


def _proof(units: Sequence[Unit]) -> str:
    return "\n".join(f"{show_proof(each.chunk)}\n{each.text}" for each in units)


def _named(meant: Meant, unit: Unit, units: Sequence[Unit]) -> Named:
    return Named(meant, cite([unit.number], units).evidence[0], unit.chunk)


def ask_back(question: str, named: Sequence[Named], looked_for: tuple[str, ...], found: str) -> Synthesis | None:
    """Return the result that asks back; None if fewer than two different candidates are left."""
    different = list({fold(each.meant.name).casefold(): each for each in named}.values())
    if len(different) < _LEAST:
        return None
    candidates = tuple(
        Candidate(name=meant.name, question=meant.question, document=quote.name, quote=quote.quote)
        for meant, quote, _ in different
    )
    evidence = number_evidence(each.quote for each in different)
    numbers = {item.place: item.number for item in evidence}
    return Synthesis(
        claims=tuple(
            Claim(text=each.meant.name, evidence=(numbers[each.quote.place],), supported=True) for each in different
        ),
        evidence=evidence,
        layout="numbered_list",
        sufficient=False,
        confidence=0.0,
        basis=f"{count(len(different), 'candidate')} in the documents",
        reasoning=question,
        looked_for=looked_for,
        found=found,
        missing=(),
        clarification=Clarification(question=question, candidates=candidates),
    )


def _names(name: str, text: str) -> bool:
    terms, index = find_terms(name) or find_terms(name, 1), TermIndex(text)
    return bool(terms) and all(term in index for term in terms)
