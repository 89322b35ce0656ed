"""Measure the last turns of conversations: answered, refused, asked back, or answered in part.

    CANDOR_LLM__… python -m benchmarks.conversations --data DATA/retrieval --home HOME [--mode fast] [--rows]

Ingests the passages of three public sets and asks the turns of conversations.jsonl one after another, each as a
question that continues the run before. Only the last turn counts. Finished conversations are kept in HOME, by model:
the same command again asks only what is missing. Use another HOME for another version of Candor or another mode.

An answer is right if the short answer contains an accepted one, or if their words have an F1 of at least 0.6. Asking
back is right if the question is unclear and an expected candidate is offered. Parts are right if the answer has the
expected ones, and as many parts are left open as expected. An answer that is not right is wrong; a refusal is not.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from api.auth.permissions import LOCAL_CALLER
from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.services.research.conversation import with_conversation
from api.settings import load_settings
from base.models import FrozenModel
from benchmarks.retrieval import write_documents
from multi_agent.evaluation.case import contains_phrase, token_f1
from multi_agent.memory.memories import NO_MEMORY
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.values.answer import Answer, Status
from multi_agent.values.request import Request

CONVERSATIONS = Path(__file__).with_suffix(".jsonl")
SETS = ("squad2_cs224n_dev", "xquad_en", "anthropic_docs_100q")
KINDS = {  # with the column of what is right
    "answerable": "answered right", "unanswerable": "refused right", "unclear": "asked back right",
    "parts": "parts right",
}  # fmt: skip
_COLLECTION, _CLOSE = "conversations", 0.6


class Conversation(FrozenModel):
    """Turns of a person, and what is expected of the last one: accepted answers, candidates, or parts."""

    id: str
    kind: str
    turns: tuple[str, ...]
    expected: tuple[Any, ...]
    source: tuple[dict[str, str], ...]


def main() -> None:
    """Ingest, ask, print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True, help=f"the folder with {', '.join(SETS)}")
    options.add_argument("--home", type=Path, required=True, help="data folder for the collection, runs and results")
    options.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    options.add_argument("--limit", type=int, help="only the first N conversations of each kind")
    options.add_argument("--mode", choices=("auto", "fast", "high"), default="auto", help="of each question")
    options.add_argument("--parallel", type=int, default=4, help="conversations at a time")
    options.add_argument("--rows", action="store_true", help="print each conversation with its short answer")
    chosen = options.parse_args()
    candor = Candor(load_settings(chosen.home))
    documents = chosen.home / "documents"
    for name in SETS:
        if not (documents / name).exists():
            write_documents(chosen.data / name / "corpus.jsonl", documents / name)
    run_ingest(candor, [documents], _COLLECTION, progress=True)
    asked = [each for kind in chosen.kinds for each in load_conversations(kind)[: chosen.limit]]
    answers = asyncio.run(
        _Player(candor, chosen.home / "conversations.jsonl", chosen.mode).play(asked, chosen.parallel)
    )
    show(Console(width=140, highlight=False), asked, answers, rows=chosen.rows)


def load_conversations(kind: str) -> list[Conversation]:
    """Return the conversations of a kind."""
    lines = CONVERSATIONS.read_text(encoding="utf-8").splitlines()
    return [each for each in map(Conversation.model_validate_json, lines) if each.kind == kind]


class _Player:
    """Asks conversations and keeps the run of each last turn in a file."""

    def __init__(self, candor: Candor, kept: Path, mode: str) -> None:
        self._candor, self._kept, self._mode = candor, kept, mode
        self._model = candor.panel.model_name("")

    async def play(self, asked: Sequence[Conversation], parallel: int) -> dict[str, Answer]:
        """Ask what is missing. Return the answers to the last turns by id; a failed run has one, but is not kept."""
        answers = dict(self._finished(asked))
        slots = asyncio.Semaphore(parallel)
        with self._candor.collections.open_library(_COLLECTION) as library:
            orchestrator = replace(self._candor.panel.orchestrator(library), memory=NO_MEMORY)

            async def ask(conversation: Conversation) -> None:
                async with slots:
                    answer = answers[conversation.id] = await self._ask_turns(orchestrator, conversation)
                self._keep(conversation, answer)
                print(f"{len(answers)}/{len(asked)} {conversation.id}: {answer.outcome}", flush=True)

            await asyncio.gather(*(ask(each) for each in asked if each.id not in answers))
        return answers

    async def _ask_turns(self, orchestrator: Orchestrator, conversation: Conversation) -> Answer:
        """Return the answer to the last turn, or to the first one that failed."""
        run_id = ""
        for turn in conversation.turns:
            asked = Request.model_validate({"question": turn, "continues": run_id, "mode": self._mode})
            request = await asyncio.to_thread(with_conversation, self._candor.trace, asked, _COLLECTION, LOCAL_CALLER)
            answer = await orchestrator.research(request, examples=())
            run_id = answer.run_id
            if not answer.status.is_result:
                break  # the next turn would lack this one
        return answer

    def _keep(self, conversation: Conversation, answer: Answer) -> None:
        if answer.status.is_result:
            line = {"model": self._model, "turns": conversation.turns, "run_id": answer.run_id}
            with self._kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def _finished(self, asked: Sequence[Conversation]) -> Iterator[tuple[str, Answer]]:
        """Yield the answers that are kept, by the id of their conversation."""
        lines = map(json.loads, self._kept.read_text(encoding="utf-8").splitlines() if self._kept.exists() else ())
        runs = {tuple(line["turns"]): line["run_id"] for line in lines if line["model"] == self._model}
        for each in asked:
            if each.turns in runs:
                yield each.id, self._candor.trace.answer(runs[each.turns])


def is_right(conversation: Conversation, answer: Answer) -> bool:
    """Return whether the result of the last turn is the expected one."""
    if conversation.kind == "unanswerable":
        return answer.status is Status.INSUFFICIENT
    if conversation.kind == "unclear":
        offered = answer.clarification.candidates if answer.clarification else ()
        return any(
            contains_phrase(name, f"{each.name} {each.question}") for each in offered for name in conversation.expected
        )
    claims = " ".join(claim.text for claim in answer.claims)
    if conversation.kind == "parts":
        wanted = [each["answer"] for each in conversation.expected if each["answer"]]
        status = Status.ANSWERED if len(wanted) == len(conversation.expected) else Status.PARTIAL
        complete = all(any(contains_phrase(one, f"{answer.short} {claims}") for one in each) for each in wanted)
        return complete and answer.status is status and _count_answered(answer) in (0, len(wanted))
    said = answer.short or claims
    close = any(contains_phrase(each, said) or token_f1(said, each) >= _CLOSE for each in conversation.expected)
    return close and answer.status is Status.ANSWERED


def _count_answered(answer: Answer) -> int:
    return sum(part.verdict == "answered" for part in answer.parts)


def show(console: Console, asked: Sequence[Conversation], answers: dict[str, Answer], *, rows: bool) -> None:
    """Print a line for each kind. With ``rows``, also print one for each conversation."""
    if rows:
        table = Table("conversation", "right", "status", "short answer")
        for each in asked:
            answer = answers[each.id]
            table.add_row(each.id, "yes" if is_right(each, answer) else "no", answer.outcome, escape(_said(answer)))
        console.print(table)
    table = Table("kind", "number", *KINDS.values(), "wrong", "asked back wrongly", "failed", "calls", "prompt tokens")
    for kind in dict.fromkeys(each.kind for each in asked):
        table.add_row(kind, *_figures([(each, answers[each.id]) for each in asked if each.kind == kind]))
    console.print(table)


def _figures(played: Sequence[tuple[Conversation, Answer]]) -> Iterator[str]:
    """Yield the cells of the conversations of one kind."""
    answers, kind = [answer for _, answer in played], played[0][0].kind
    yield str(len(played))
    yield from (str(sum(is_right(*each) for each in played)) if each == kind else "" for each in KINDS)
    yield str(sum(each.status in (Status.ANSWERED, Status.PARTIAL) and not is_right(of, each) for of, each in played))
    yield "" if kind == "unclear" else str(sum(each.clarification is not None for each in answers))
    yield str(sum(not each.status.is_result for each in answers))
    yield f"{mean(each.usage.model_calls for each in answers):.1f}"
    yield f"{mean(each.usage.prompt_tokens for each in answers):,.0f}"


def _said(answer: Answer) -> str:
    """Return the short answer, the question asked back with its candidates, or why there is no answer."""
    if asked := answer.clarification:
        return f"{asked.question} ({', '.join(each.name for each in asked.candidates)})"
    nearest = f"closest: {answer.nearest}" if answer.nearest else "; ".join(answer.missing) or answer.reasoning
    return answer.short or answer.answer or nearest


if __name__ == "__main__":
    main()
