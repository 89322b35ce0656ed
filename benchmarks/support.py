"""How often the check of claims lets a wrong claim through, or rejects a right one.

    python -m benchmarks.support [--half HALF] [--show] [--check-call]

With ``--check-call``, the model of the settings judges as well, one call for each claim that is not a copy.

The pairs of a claim and its quote are in ``support_pairs.jsonl`` (made by ``benchmarks.support_pairs``) and in
``support_by_hand.tsv``. A hash divides them into a half that the rules may be tuned with, and one that is only counted.
Pairs by hand that the rules were written with are marked and belong to the first half. ``support_two_quotes.tsv`` holds
claims that join two sentences of different pages, in two halves of their own, and ``support_third.tsv`` claims of five
subjects in four languages that were written before their authors looked at the rules, in two halves by their quotes.
``support_clauses.tsv`` holds claims over appositions, relative clauses, participles and pronouns, all only counted.
``support_replies.tsv`` holds short answers, counts, and claims in everyday words or in another language, in two halves.
``support_natural.tsv`` holds natural claims of all kinds, each with a wrong twin, in two halves by their quotes.
``support_kinds.tsv`` holds claims about columns of other units, exchanged nationalities and contrasts, all tuned with.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from api.settings import load_settings
from multi_agent.grounding.citations import cite
from multi_agent.grounding.judged import Judged, Statement
from multi_agent.grounding.support import SupportRules
from multi_agent.grounding.support_check import SupportCheck
from multi_agent.llm.models import build_llm
from multi_agent.prompts.show_passages import number_units
from multi_agent.values.context import Computation
from vectorstore.models import Chunk, ChunkKind

_FOLDER = Path(__file__).parent
_HALVES = (
    "tuning",
    "untouched",
    "joined",
    "joined untouched",
    "third",
    "third untouched",
    "clauses untouched",
    "answers",
    "replies",
    "replies untouched",
    "natural",
    "natural untouched",
    "kinds",
)
_NATURAL = "support_natural.tsv"
_NOT_CITED = "not cited"
_LONG = 10_000  # characters between the places of two quotes


class Pair(NamedTuple):
    """A claim with its quotes, and whether they support it."""

    kind: str
    right: bool
    claim: str
    quotes: tuple[str, ...]
    question: str = ""
    tuned: bool = False
    of_pages: bool = False
    """Whether the quotes are from different pages."""

    @property
    def untouched(self) -> bool:
        return not self.tuned and hashlib.sha256(self.claim.encode()).digest()[0] % 2 == 0


def pairs() -> Iterator[Pair]:
    """Yield all pairs."""
    for line in (_FOLDER / "support_pairs.jsonl").read_text(encoding="utf-8").splitlines():
        made = json.loads(line)
        yield Pair(made["kind"], made["right"], made["claim"], (made["quote"],))
    for line in (_FOLDER / "support_by_hand.tsv").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            verdict, kind, claim, quotes, *rest = line.split("\t")
            yield Pair(
                kind, verdict[0] == "S", claim, tuple(quotes.split(" @ ")), rest[0] if rest else "", "*" in verdict
            )


def joined() -> Iterator[Pair]:
    """Yield the claims that join two sentences."""
    for line in (_FOLDER / "support_two_quotes.tsv").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            verdict, kind, claim, quotes = line.split("\t")
            yield Pair(kind, verdict[0] == "S", claim, tuple(quotes.split(" @ ")), tuned="*" in verdict, of_pages=True)


def third() -> Iterator[Pair]:
    """Yield the claims whose authors had not seen the rules."""
    return _halved("support_third.tsv")


def clauses() -> Iterator[Pair]:
    """Yield claims about one clause of a sentence. No rule was tuned with them."""
    return (pair._replace(tuned=False) for pair in _tabular("support_clauses.tsv"))


def answers() -> Iterator[Pair]:
    """Yield claims as answers and reports state them, all of which the rules may be tuned with."""
    return _tabular("support_answers.tsv")


def replies() -> Iterator[Pair]:
    """Yield short and everyday claims whose author had not seen the rules."""
    return _halved("support_replies.tsv")


def natural() -> Iterator[Pair]:
    """Yield natural claims, written before their author saw the rules. Quotes of different titles are of two pages."""
    for pair in _tabular(_NATURAL):
        yield pair._replace(of_pages=len({quote.partition(" :: ")[0] for quote in pair.quotes}) > 1)


def kinds() -> Iterator[Pair]:
    """Yield claims about a unit of another column, another nationality, or the other side of a contrast."""
    return _tabular("support_kinds.tsv")


def _halved(name: str) -> Iterator[Pair]:
    for pair in _tabular(name):
        yield pair._replace(tuned=hashlib.sha256(" @ ".join(pair.quotes).encode()).digest()[0] % 2 == 1)


def _tabular(name: str) -> Iterator[Pair]:
    for line in (_FOLDER / name).read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            verdict, kind, claim, quotes, *question = line.split("\t")
            quoted = tuple(quotes.split(" @ "))
            yield Pair(
                kind, verdict[0] == "S", claim, quoted, "".join(question), tuned=name != _NATURAL or "*" in verdict
            )


_SOURCES = {
    "joined": joined,
    "third": third,
    "clauses": clauses,
    "answers": answers,
    "replies": replies,
    "natural": natural,
    "kinds": kinds,
}


def judge(pair: Pair) -> Judged:
    """Judge the claim by rules."""
    rules, statement = _prepare(pair)
    return rules.judge(statement)


async def _check(chosen: list[Pair]) -> list[Judged]:
    """Judge the claims by rules and by the check call of the model in the settings."""
    llm = build_llm(load_settings().llm)

    async def judged(pair: Pair) -> Judged:
        rules, statement = _prepare(pair)
        [found] = await SupportCheck(rules, pair.question, "benchmark", llm, _ignore, ask=True).judge([statement])
        return found

    return await asyncio.gather(*map(judged, chosen))


async def _ignore(_: object) -> None:
    """Publish nothing."""


def _prepare(pair: Pair) -> tuple[SupportRules, Statement]:
    """Return the claim as in an answer, with each quote as a passage of its own, or on the result of a query."""
    if pair.kind == "count":
        return SupportRules(pair.question, (), ()), Statement(pair.claim, (), (_computed(pair.quotes),))
    table = all(" :: |" in quote for quote in pair.quotes)
    quotes = [_table(pair.quotes)] if table else pair.quotes
    kind = ChunkKind.TABLE if table else ChunkKind.PROSE
    chunks = [_chunk(at, at if pair.of_pages else 0, quote, kind) for at, quote in enumerate(quotes)]
    units = number_units(chunks)
    evidence = cite((unit.number for unit in units if _NOT_CITED not in unit.text), units).evidence
    return SupportRules(pair.question or "What is said?", evidence, chunks), Statement(pair.claim, evidence)


def _computed(rows: tuple[str, ...]) -> Computation:
    """Return the rows as the result of a query over the catalogue. The first row is its head."""
    cells = [[cell.strip() for cell in row.partition(" :: ")[2].strip("|").split("|")] for row in rows]
    return Computation(
        purpose=rows[0].partition(" :: ")[0], sql="", columns=tuple(cells[0]), evidence=(),
        rows=tuple(tuple(int(cell) if cell.isdigit() else cell for cell in row) for row in cells[1:]),
        source="the catalogue of 20,000 documents",
    )  # fmt: skip


def _table(rows: tuple[str, ...]) -> str:
    """Return the passage of a table. The first row is its head. An uncited row separates the head from the others."""
    title, _, head = rows[0].partition(" :: ")
    rule = "|" + " --- |" * (head.count("|") - 1)
    return f"{title} :: " + "\n".join(
        (head, rule, f"| {_NOT_CITED} |", *(row.partition(" :: ")[2] for row in rows[1:]))
    )


def _chunk(at: int, page: int, quote: str, kind: ChunkKind) -> Chunk:
    title, _, text = quote.rpartition(" :: ")
    return Chunk(
        id=f"{at}", document_id=f"{page}", document=f"/{page}", name="page", title=title, version="1", index=0,
        text=text.replace(" ¶ ", "\n"), kind=kind, start=at * _LONG, end=at * _LONG + len(text),
    )  # fmt: skip


def main() -> None:
    """Print the shares by kind."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--half", choices=_HALVES, action="append")
    options.add_argument("--show", action="store_true", help="print the mistakes, except those of the untouched half")
    options.add_argument("--check-call", action="store_true", help="ask the model of the settings as well")
    given = options.parse_args()
    for half in given.half or _HALVES:
        chosen = [pair for pair in pairs() if pair.untouched == (half == "untouched")]
        for name, source in _SOURCES.items():
            if half.startswith(name):
                chosen = [pair for pair in source() if pair.tuned == (half == name)]
        _report(half, chosen, show=given.show, asks=given.check_call)


def _report(half: str, chosen: list[Pair], *, show: bool, asks: bool) -> None:
    counts: dict[tuple[bool, str], list[str]] = defaultdict(list)
    judge(chosen[0])  # loads the word lists
    started = time.perf_counter()
    verdicts = asyncio.run(_check(chosen)) if asks else list(map(judge, chosen))
    for pair, judged in zip(chosen, verdicts, strict=True):
        verdict = "supported" if judged.supported else "contradicted" if judged.contradicted else "open"
        counts[pair.right, pair.kind].append(verdict)
        if show and "untouched" not in half and verdict != ("supported" if pair.right else "contradicted"):
            print(f"{'right' if pair.right else 'WRONG'} {pair.kind}: {verdict} ({judged.reason})")
            print(f"    {pair.claim}\n    {pair.quotes}")
    took = time.perf_counter() - started
    print(f"\n{half}: {len(chosen)} pairs, {1000 * took / len(chosen):.1f} ms a claim")
    for (right, kind), given in sorted(counts.items()):
        shares = (given.count(each) / len(given) for each in ("supported", "contradicted", "open"))
        print(
            f"  {'right' if right else 'wrong'} {kind:18} {len(given):4}  "
            + "  ".join(f"{each:.2f}" for each in shares)
        )
    for right, name, verdict in ((False, "wrong let through", "supported"), (True, "right rejected", "contradicted")):
        whole = [each for (is_right, _), given in counts.items() if is_right == right for each in given]
        opened = whole.count("open") / len(whole)
        print(f"  {name}: {whole.count(verdict) / len(whole):.3f} of {len(whole)}; left open: {opened:.3f}")


if __name__ == "__main__":
    main()
