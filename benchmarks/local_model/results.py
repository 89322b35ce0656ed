"""The result files of the benchmark and the tables made from them."""

from __future__ import annotations

import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

SYSTEMS = ("fast", "auto", "plain")
SCHEMA_ERRORS = ("InvalidResponse", "PlanError")
_RESULTS = "results.jsonl"

Record = dict[str, Any]
"""One line of results.jsonl: the question, what the system said, and what was measured."""


def key_of(record: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return what identifies a question of one system."""
    return record["system"], record["set"], record["id"]


def append_record(folder: Path, record: Record) -> None:
    """Write the record of a finished question at once."""
    with (folder / _RESULTS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(record, ensure_ascii=False) + "\n")


def read_records(folder: Path) -> list[Record]:
    """Return the finished questions. Cuts a line that a killed run left unfinished."""
    file = folder / _RESULTS
    if not file.exists():
        return []
    content = file.read_bytes()
    complete = content[: content.rfind(b"\n") + 1]
    if complete != content:
        file.write_bytes(complete)
    return [json.loads(line) for line in complete.decode("utf-8").split("\n") if line]


def summary(records: Sequence[Record]) -> str:
    """Return the tables of all systems in one result folder."""
    systems = {name: [each for each in records if each["system"] == name] for name in SYSTEMS}
    return _tables({name: rows for name, rows in systems.items() if rows})


def compare(before: Sequence[Record], after: Sequence[Record]) -> str:
    """Return the tables of two result folders side by side, over the questions that both have."""
    shared = {key_of(each) for each in before} & {key_of(each) for each in after}
    columns = {
        f"{name}, {label}": [each for each in records if key_of(each) in shared and each["system"] == name]
        for name in SYSTEMS
        for label, records in (("before", before), ("after", after))
    }
    return _tables({name: rows for name, rows in columns.items() if rows})


def _tables(columns: Mapping[str, Sequence[Record]]) -> str:
    figures = {name: measure(records) for name, records in columns.items()}
    callers = {name: measure_callers(records) for name, records in columns.items()}
    tables = [_table("", figures)]
    tables += [_table("tokens a call: prompt / cached / completion; calls", callers)] if any(callers.values()) else []
    calibration = {name: calibrate(records) for name, records in columns.items()}
    if any(calibration.values()):
        tables.append(_table("right of the answered, by confidence", calibration))
    return "\n\n".join(tables)


def _table(title: str, columns: Mapping[str, Mapping[str, str]]) -> str:
    rows = list(dict.fromkeys(row for column in columns.values() for row in column))
    lines = [f"| {' | '.join([title, *columns])} |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {' | '.join([row, *(column.get(row, '') for column in columns.values())])} |" for row in rows]
    return "\n".join(lines)


def measure(records: Sequence[Record]) -> dict[str, str]:
    """Return the figures of one system as text, by name."""
    answerable = [each for each in records if each["answerable"]]
    unanswerable = [each for each in records if not each["answerable"]]
    cited = [quote for each in records if each["status"] == "answered" for quote in each["cited"]]
    precise = [quote for each in answerable if each["status"] == "answered" for quote in each["cited"]]
    figures = {
        "questions": str(len(records)),
        "without schema failure": _share(not set(SCHEMA_ERRORS) & set(each["errors"]) for each in records),
        "failed": _share(each["status"] == "failed" for each in records),
        "answerable: right": _share(each["right"] for each in answerable),
    }
    for name in dict.fromkeys(each["set"] for each in records):
        figures[f"… {name}"] = _share(each["right"] for each in answerable if each["set"] == name)
    return figures | {
        "answerable: wrong answer": _share(each["status"] == "answered" and not each["right"] for each in answerable),
        "answerable: refused": _share(each["status"] == "insufficient" for each in answerable),
        "unanswerable: refused": _share(each["status"] == "insufficient" for each in unanswerable),
        "citations in source": _share(quote["in_source"] for quote in cited),
        "citations precise": _share(quote["precise"] for quote in precise),
        "model calls": _mean(_sums(records, "calls"), 1),
        "prompt tokens": _mean(_sums(records, "prompt")),
        "… of them cached": _mean(_sums(records, "cached")),
        "completion tokens": _mean(_sums(records, "completion")),
        "rejected responses": str(sum(each["rejected"] for each in records)),
        "repairs": str(sum(each["repairs"] for each in records)),
        "seconds, median": f"{statistics.median(each['seconds'] for each in records):.0f}",
        "seconds, p90": f"{percentile([each['seconds'] for each in records], 0.9):.0f}",
    }


def measure_callers(records: Sequence[Record]) -> dict[str, str]:
    """Return the tokens of an average call, and the number of calls, by caller."""
    totals: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in records:
        for name, counts in each["callers"].items():
            totals[name].update(counts)
    return {
        name: " / ".join(f"{total[kind] / (total['calls'] or 1):,.0f}" for kind in ("prompt", "cached", "completion"))
        + f"; {total['calls']}"
        for name, total in totals.items()
    }


def calibrate(records: Iterable[Record]) -> dict[str, str]:
    """Return how many answers are right, by confidence rounded to one decimal."""
    bins: defaultdict[float, list[bool]] = defaultdict(list)
    for each in records:
        if each["status"] == "answered" and each["confidence"] is not None:
            bins[round(each["confidence"], 1)].append(each["right"])
    return {f"{value:.1f}": _share(bins[value]) for value in sorted(bins, reverse=True)}


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least ``share`` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def _sums(records: Iterable[Record], kind: str) -> list[float]:
    return [sum(counts[kind] for counts in each["callers"].values()) for each in records]


def _share(values: Iterable[bool]) -> str:
    found = list(values)
    return f"{sum(found)} of {len(found)}" if found else ""


def _mean(values: Sequence[float], digits: int = 0) -> str:
    return f"{statistics.fmean(values):,.{digits}f}"
