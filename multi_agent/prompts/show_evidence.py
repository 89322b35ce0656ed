"""Renders evidence, computations, findings and records for prompts, with their numbers in the context.

Limits the amount. For a computation over hundreds of rows, the prompt has the query, its result and some quotes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from base.counts import count
from base.text import shorten
from base.tokens import estimate_tokens
from multi_agent.prompts.show_dates import show_dates
from multi_agent.prompts.show_outside import OUTSIDE, show_words
from multi_agent.prompts.show_passages import fitted, show_location
from multi_agent.records.table import Row, locate_records
from multi_agent.values.answer import in_short
from multi_agent.values.context import Claim, Computation, Evidence, Finding, ResearchContext
from vectorstore.models import Chunk, ChunkKind

_FLAWS_SHOWN = 5
_WHOLE = 1_000_000  # characters
_LONGEST = (_WHOLE, 600, 300, 150)
_TOKENS = 1000  # of the rows of one computation over the collection itself, and of a passage with its column headings


def select_evidence(context: ResearchContext, most: int) -> tuple[Evidence, ...]:
    """Return the evidence to show. Only this evidence may be cited.

    If computations use at most ``most`` records, return all evidence. Otherwise, limit the quotes of records to the
    first ``most`` of each computation, which belong to its result.
    """
    located = locate_records(context) if context.computations else []
    rows = {item.place for row in located for item in (row.evidence, *row.further)}
    if len(rows) <= most:
        return context.evidence
    behind = {item.place for each in context.computations for item in each.evidence[:most]}
    return tuple(item for item in context.evidence if item.place not in rows - behind)


def cut_evidence(shown: Sequence[Evidence]) -> Iterator[tuple[Sequence[Evidence], int]]:
    """Yield the quotes with the characters to show of each: all, then shorter ones, then fewer quotes."""
    for longest in _LONGEST:
        yield shown, longest
    while len(shown) > 1:
        shown = _halve(shown)
        yield shown, _LONGEST[-1]


def _halve(shown: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Return half of the quotes, the first ones of each document, in order."""
    places: Counter[str] = Counter()
    ranks: dict[int, int] = {}
    for item in shown:
        ranks[item.number] = places[item.document_id]
        places[item.document_id] += 1
    kept = sorted(shown, key=lambda item: ranks[item.number])[: len(shown) // 2]
    return tuple(sorted(kept, key=lambda item: item.number))


def describe_left_out(context: ResearchContext, shown: Sequence[Evidence], longest: int) -> str:
    """Return what of the quotes did not fit into the prompt, or an empty text. Computations stand for their rows."""
    left_out = 0 if context.computations else len(context.evidence) - len(shown)
    cut = sum(len(item.quote) > longest for item in shown)
    parts = [f"{count(left_out, 'quote')} of {len(context.evidence)}"] if left_out else []
    parts += [f"what {count(cut, 'quote')} say after {longest} characters"] if cut else []
    return f"Did not fit into the model's context window: {'; '.join(parts)}." if parts else ""


def show_evidence(context: ResearchContext, shown: Sequence[Evidence], longest: int = _WHOLE) -> str:
    """Return the quotes with their locations, and table rows below their column headings.

    A quote of more than ``longest`` characters is cut.
    """
    if not context.evidence and context.computations and not context.chunks:
        return "There is none: no passage was read, the computations answer alone."
    if not context.evidence:
        return "There is none: no quote that bears on the question was found in what was read."
    chunks = {chunk.id: fitted(chunk, _TOKENS) for chunk in context.chunks}
    lines: list[str] = []
    table = ""
    dates = dict(show_dates([chunks[item.chunk_id] for item in shown]))
    for item in shown:
        chunk = chunks[item.chunk_id]
        if (columns := _columns(chunk)) and columns != table:
            lines.append(f"(The next rows are of a table that begins with {columns})")
        table = columns
        cut = item.model_copy(update={"quote": shorten(item.quote, longest)})
        lines.append(_show_quote(cut if len(item.quote) > longest else item, chunk, dates.pop(chunk.document_id, "")))
    if any(item.origin for item in shown):
        lines.append(f"(Quotes of web pages and results of tools are {OUTSIDE.replace(' it', ' them')}.)")
    if left_out := describe_left_out(context, shown, longest):
        lines.append(f"({left_out})")
    if context.computations and (hidden := len(context.evidence) - len(shown)):
        lines.append(f"({hidden} more rows went into the records and are not shown; computations stand for them.)")
    return "\n".join(lines)


def renumber_computations(context: ResearchContext) -> tuple[Computation, ...]:
    """Return the computations with the current numbers of their evidence. The numbers change when evidence is added."""
    now = {item.place: item for item in context.evidence}
    return tuple(
        each.model_copy(update={"evidence": tuple(now.get(item.place, item) for item in each.evidence)})
        for each in context.computations
    )


def show_computations(context: ResearchContext) -> str:
    """Return each computation with its query, its result and its evidence."""
    if not context.computations:
        return ""
    shown = "\n".join(map(_show_computation, renumber_computations(context)))
    if any(each.source for each in context.computations):
        return (
            f"\nComputations over all that is named after 'from' (no rows, or 0, proves that there is none):\n{shown}\n"
        )
    return f"\nComputations over the records:\n{shown}\n"


def show_findings(context: ResearchContext) -> str:
    """Return the answers to sub-questions, with the numbers of their evidence."""
    if not context.findings:
        return ""
    return "\nAnswered on the way:\n" + "\n".join(_show_finding(each, context) for each in context.findings) + "\n"


def show_records(context: ResearchContext, shown: Sequence[Evidence]) -> str:
    """Return the records of the shown quotes, or an empty text if there are computations over them."""
    if not context.records or context.computations:
        return ""
    numbers = {item.number for item in shown}
    located = [row for row in locate_records(context) if row.evidence.number in numbers]
    rows = [f"{_numbers(row)} {json.dumps(row.record.values, ensure_ascii=False)}" for row in located]
    return "\nThe same as records:\n" + "\n".join(rows) + "\n"


def _numbers(row: Row) -> str:
    return _ranges(sorted({item.number for item in (row.evidence, *row.further)}))


def _show_quote(item: Evidence, chunk: Chunk, date: str) -> str:
    """Return the quote with its location. Only the first quote of a document has a ``date``."""
    why = f"\n    It shows: {show_words(item.why, item.origin)}" if item.why else ""
    origin = f" ({item.picture})" if item.picture else ""
    location = show_location(chunk.model_copy(update={"section": item.section}), item.pages)
    place = ", ".join(filter(None, (location, date)))
    return f"[{item.number}] {place}{origin}: {show_words(item.quote, item.origin)}{why}"


def _columns(chunk: Chunk) -> str:
    """Return the first row of the chunk's table, which has the column headings if the table has any."""
    if chunk.kind is not ChunkKind.TABLE:
        return ""
    lines = (chunk.header.text if chunk.header else chunk.text).splitlines()
    return next((line for line in lines if line.startswith("|")), "")  # skip a title above the table


def _show_computation(computation: Computation) -> str:
    rows = [
        " | ".join(computation.columns),
        *(" | ".join("NULL" if value is None else str(value) for value in row) for row in computation.rows),
    ]
    if computation.source:
        return _show_sourced(computation, rows)
    lines = [f"SQL: {' '.join(computation.sql.split())}", "Result:", *(f"  {row}" for row in rows)]
    lines += ["  (no rows)"] if not computation.rows else []
    lines += ["  (and more rows, which are not kept)"] if computation.truncated else []
    lines.append(f"Made from the records at {_ranges(sorted(item.number for item in computation.evidence))}")
    if flaws := computation.flaws:
        more = f"; and {len(flaws) - _FLAWS_SHOWN} more" if len(flaws) > _FLAWS_SHOWN else ""
        lines.append(f"Left out, as they do not fit: {'; '.join(flaws[:_FLAWS_SHOWN])}{more}")
    return f"[C{computation.number}] {computation.purpose}\n" + "\n".join(f"    {line}" for line in lines)


def _show_sourced(computation: Computation, rows: Sequence[str]) -> str:
    """Return a computation over everything that its source holds, with as many rows as ``_TOKENS`` allow."""
    used = list(accumulate(map(estimate_tokens, rows)))
    fitting = [row for row, tokens in zip(rows, used, strict=True) if tokens <= _TOKENS] or rows[:1]
    lines = [f"{' '.join(computation.sql.split())}, from {computation.source}:", *(f"  {row}" for row in fitting)]
    lines += ["  (no rows)"] if not computation.rows else []
    cut = computation.truncated or len(fitting) < len(rows)
    lines += [f"  (these are the first {count(len(fitting) - 1, 'row')}, more are not shown)"] if cut else []
    if computation.flaws:
        lines.append(f"Not covered: {'; '.join(computation.flaws)}")
    return f"[C{computation.number}] {computation.purpose}\n" + "\n".join(f"    {line}" for line in lines)


def _ranges(numbers: Iterable[int]) -> str:
    """Format ascending numbers with ranges: [2] [5]-[9]."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    return " ".join("-".join(f"[{number}]" for number in run) for run in runs)


def _show_finding(finding: Finding, context: ResearchContext) -> str:
    synthesis = finding.synthesis
    if not synthesis.sufficient:
        return f"- {finding.question} → {in_short(synthesis)}"
    evidence = {item.place: item.number for item in context.evidence}
    numbers = {item.number: evidence[item.place] for item in synthesis.evidence if item.place in evidence}
    origin = next((item.origin for item in synthesis.evidence if item.origin), None)
    supported = [(show_words(claim.text, origin), claim) for claim in synthesis.claims if claim.stands]
    claims = [f"\n    {text}{_marks(claim, numbers)}" for text, claim in supported]
    return f"- {finding.question} → {show_words(synthesis.short, origin) or 'see the claims'}" + "".join(claims)


def _marks(claim: Claim, numbers: dict[int, int]) -> str:
    """Return the evidence numbers of a claim, as numbered in the context."""
    return "".join(f" [{numbers[number]}]" for number in claim.evidence if number in numbers)
