"""Measure how much of each format the parser recovers: words, their order, and tables. Prints a line per format.

    python -m benchmarks.formats --data DATA/formats                    Candor's default parser
    python -m benchmarks.formats --data DATA/formats --beside           and the defaults of kreuzberg and unstructured
    python -m benchmarks.formats --data DATA/formats --files --only docx    a line per file, for one format
    python -m benchmarks.formats --data DATA/formats --parser kreuzberg     reading speed of another parser
    python -m benchmarks.formats --speed            kB a CPU second of markup and references, beside kreuzberg

Texts are compared with references in Markdown, in lower case, without markup, link targets and pictures. The references
flatten raised, lowered and struck text, so the marks that Candor writes for it are left out:

words   share of the reference's words, counted with repetition, that are in the parsed text
order   of the words that occur exactly once in both texts: the share in the longest run in the same order
tables  share of the pairs of adjacent cells in the reference's tables that are adjacent in the parsed tables
strings required strings found, minus forbidden strings found, of all required strings

Means are over files that could be read. The last line counts the others as zero.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import resource
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from ingest.containers.unpack import ContainerLimits, container_kind, expand
from ingest.errors import FileError
from ingest.parser import load_parser
from ingest.parsers.unstructured import spacy_stub

DATA_HELP = """The set is a folder with expected.jsonl: lines of "file" with "reference_markdown" (a path) or
"must_include" and "must_not_include" (strings). The files are from the test suites of docling-project/docling
(tests/data, with their groundtruth) and microsoft/markitdown (packages/markitdown/tests/test_files), both MIT."""

_NO_WORDS = re.compile(
    r"<!--.*?-->|!\[[^\]]*\]\(data:[^)]*\)|<[a-zA-Z/][^>]*>|(?<=\])\([^)\s]*(?:\s\"[^\"]*\")?\)", re.DOTALL
)
_WORD = re.compile(r"\w+")
_MARKS = re.compile(r"[\\*_`#>~]+")
_TABLE_ROW = re.compile(r"^\s*\|(.*)\|\s*$")
_TABLE_RULE = re.compile(r"^[\s|:-]+$")

SAMPLES = Path(__file__).parents[1] / "tests" / "ingest" / "features"
REPEATABLE = (".bib", ".ris", ".nbib", ".rst", ".org", ".md")
SPEED_READERS, SPEED_BYTES = ("candor", "kreuzberg"), 200_000

Pair = tuple[str, str]


@dataclass(frozen=True)
class Expectation:
    """The expected content of one file."""

    file: str
    format: str
    reference: str | None
    must_include: tuple[str, ...]
    must_not_include: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """The text that one parser read from one file."""

    text: str | None
    seconds: float
    reason: str = ""


@dataclass(frozen=True)
class Score:
    """Scores of one file; None where it has no reference."""

    expectation: Expectation
    outcome: Outcome
    words: float | None
    order: float | None
    tables: float | None
    strings: tuple[int, int]


def main() -> None:
    """Read every file with every chosen parser and print the table."""
    arguments = _arguments()
    if arguments.speed:
        _print_speed()
        return
    wanted = [one for one in _expectations(arguments.data) if not arguments.only or one.format in arguments.only]
    names = ["candor", *(["kreuzberg", "unstructured"] if arguments.beside else [])]
    if arguments.parser != "candor":
        names[0] = arguments.parser
    scores = {name: [_score(one, out) for one, out in _read_all(name, wanted, arguments.data)] for name in names}
    if arguments.files:
        _print_files(scores[names[0]])
    _print_formats(scores)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=DATA_HELP, formatter_class=argparse.RawTextHelpFormatter
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path, help="folder of the set")
    source.add_argument(
        "--speed", action="store_true", help="measure reading speed, with long files made of the samples"
    )
    parser.add_argument("--only", nargs="*", help="only these formats, by file suffix")
    parser.add_argument("--parser", default="candor", choices=sorted(READERS), help="parser to measure")
    parser.add_argument("--beside", action="store_true", help="measure kreuzberg's and unstructured's defaults too")
    parser.add_argument("--files", action="store_true", help="print a line per file before the table")
    return parser.parse_args()


def _expectations(data: Path) -> list[Expectation]:
    lines = (data / "expected.jsonl").read_text(encoding="utf-8").splitlines()
    return [_expectation(json.loads(line), data) for line in lines if line.strip()]


def _expectation(line: dict[str, object], data: Path) -> Expectation:
    file, reference = str(line["file"]), line.get("reference_markdown")
    return Expectation(
        file=file,
        format=Path(file).suffix.removeprefix("."),
        reference=(data / str(reference)).read_text(encoding="utf-8") if reference else None,
        must_include=tuple(map(str, line.get("must_include") or ())),  # type: ignore[call-overload]
        must_not_include=tuple(map(str, line.get("must_not_include") or ())),  # type: ignore[call-overload]
    )


# Reading: in a separate process, so that a crash of native code costs one file


def _candor(path: Path) -> str:
    """Read a file like an ingest: files in an archive are separate documents, here joined to one text."""
    parser = load_parser("default")
    kind = container_kind(path)
    if kind is None or kind.is_document:
        return parser.parse(path).text
    with TemporaryDirectory() as folder:
        members = expand(path, ContainerLimits(), Path(folder))
        return "\n\n".join(parser.parse(member.path).text for member in members if member.path)


def _candor_unstructured(path: Path) -> str:
    return load_parser("unstructured").parse(path).text


def _kreuzberg(path: Path) -> str:
    import kreuzberg

    return kreuzberg.extract_file_sync(path).content


def _unstructured(path: Path) -> str:
    from unstructured.partition.auto import partition

    spacy_stub.provide()  # prevents a download
    return "\n\n".join(str(element) for element in partition(filename=str(path)))


READERS: dict[str, Callable[[Path], str]] = {
    "candor": _candor,
    "candor-unstructured": _candor_unstructured,
    "kreuzberg": _kreuzberg,
    "unstructured": _unstructured,
}


def _read_all(name: str, wanted: Sequence[Expectation], data: Path) -> Iterator[tuple[Expectation, Outcome]]:
    """Yield the outcome of each file. After a crash of the process, the next file gets a new one."""
    pool = _pool()
    for one in wanted:
        try:
            yield one, pool.submit(_read, name, data / one.file).result()
        except BrokenProcessPool:
            yield one, Outcome(None, 0.0, "the process died")
            pool = _pool()
    pool.shutdown()


def _pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn"))


def _read(name: str, path: Path) -> Outcome:
    started = time.perf_counter()
    try:
        text = READERS[name](path)
    except FileError as error:
        return Outcome(None, time.perf_counter() - started, str(error))
    except BaseException as error:  # noqa: BLE001  # a library's own errors, and panics of native code, are results
        return Outcome(None, time.perf_counter() - started, f"{type(error).__name__}: {error}")
    seconds = time.perf_counter() - started
    return Outcome(text, seconds) if text.strip() else Outcome(None, seconds, "no text")


def _cpu_seconds(name: str, path: Path) -> float:
    """Return the CPU time of this process and of the programs that it ran, which other work does not change much."""
    before = _used_seconds()
    READERS[name](path)
    return _used_seconds() - before


def _used_seconds() -> float:
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


# Measuring


def _score(one: Expectation, outcome: Outcome) -> Score:
    if outcome.text is None:
        return Score(one, outcome, None, None, None, (0, len(one.must_include)))
    text = outcome.text
    included = sum(_has(text, string) for string in one.must_include)
    unwanted = sum(string in text for string in one.must_not_include)
    strings = (included - unwanted, len(one.must_include))
    if one.reference is None:
        return Score(one, outcome, None, None, None, strings)
    expected, text = _FORM.sub("", one.reference), _FORM.sub("", _ADDRESS.sub("", text))
    reference, found = words_of(expected), words_of(text)
    return Score(
        one,
        outcome,
        words=word_recall(reference, found),
        order=order_kept(reference, found),
        tables=table_recall(expected, text),
        strings=strings,
    )


_FORM = re.compile(r"~~|(?<=\w)[\^_](?=[\w(+−–-])")
_ADDRESS = re.compile(r" \((?:(?:https?|ftp)://[^\s]+|[^()\s]+@[^()\s]+)\)")


def _has(text: str, string: str) -> bool:
    """Return whether the words of a Markdown string are consecutive in the text. One without words must be in it."""
    wanted = " ".join(words_of(string))
    return f" {wanted} " in f" {' '.join(words_of(text))} " if wanted else string in text


def words_of(markdown: str) -> list[str]:
    """Return the visible words in lower case."""
    plain = html.unescape(_MARKS.sub("", _NO_WORDS.sub(" ", html.unescape(markdown))))
    return _WORD.findall(plain.lower())


def word_recall(reference: Sequence[str], found: Sequence[str]) -> float | None:
    """Return the share of the reference's words that were found, counted with repetition."""
    if not reference:
        return None
    return (Counter(reference) & Counter(found)).total() / len(reference)


def order_kept(reference: Sequence[str], found: Sequence[str]) -> float | None:
    """Of the words that occur once in both, return the share in the longest increasing run of positions."""
    once = {word for word, count in Counter(reference).items() if count == 1}
    position = {word: index for index, word in enumerate(found)}
    counts = Counter(found)
    positions = [position[word] for word in reference if word in once and counts[word] == 1]
    if len(positions) < 2:
        return None
    ends: list[int] = []  # the smallest last position of a run of each length
    for index in positions:
        length = bisect_left(ends, index)
        ends[length : length + 1] = [index]
    return len(ends) / len(positions)


def table_recall(reference: str, found: str) -> float | None:
    """Return the share of the reference's pairs of adjacent cells, in rows and in columns, that were found."""
    wanted = Counter(_neighbours(_tables(reference)))
    if not wanted:
        return None
    return (wanted & Counter(_neighbours(_tables(found)))).total() / wanted.total()


def _tables(markdown: str) -> Iterator[list[list[str]]]:
    rows: list[list[str]] = []
    for line in [*markdown.splitlines(), ""]:
        row = _TABLE_ROW.match(line)
        if row and not _TABLE_RULE.match(line):
            rows.append([" ".join(words_of(cell)) for cell in re.split(r"(?<!\\)\|", row[1])])
        elif not row and rows:
            yield rows
            rows = []


def _neighbours(tables: Iterable[list[list[str]]]) -> Iterator[Pair]:
    """Yield pairs of adjacent cells in rows and columns. Empty cells and copies of merged cells are skipped."""
    for rows in tables:
        width = max(len(row) for row in rows)
        columns = [[row[index] for row in rows if index < len(row)] for index in range(width)]
        for axis, line in [*(("row", row) for row in rows), *(("column", column) for column in columns)]:
            filled = [cell for cell in line if cell]
            kept = [cell for index, cell in enumerate(filled) if index == 0 or cell != filled[index - 1]]
            yield from ((f"{axis} {left}", right) for left, right in pairwise(kept))


# Printing


def _print_speed() -> None:
    """Print kB per second of CPU time, over a file of 200 kB that repeats the sample of a format. Best of three."""
    print(f"{'format':<10}" + "".join(f"{name + ' kB/s':>20}" for name in SPEED_READERS))
    with TemporaryDirectory() as folder, _pool() as pool:
        for sample in sorted(each for each in SAMPLES.iterdir() if each.suffix in REPEATABLE):
            path = Path(folder, sample.name)
            path.write_text(f"{sample.read_text('utf-8').strip()}\n\n" * (SPEED_BYTES // sample.stat().st_size))
            line = f"{sample.suffix:<10}"
            for name in SPEED_READERS:
                best = min(pool.submit(_cpu_seconds, name, path).result() for _ in range(3))
                line += f"{path.stat().st_size / 1000 / best:>20,.0f}"
            print(line)


def _print_files(scores: Iterable[Score]) -> None:
    for score in sorted(scores, key=lambda score: (score.expectation.format, score.expectation.file)):
        found, of = score.strings
        print(
            f"{_share(score.words)} {_share(score.order)} {_share(score.tables)} {f'{found}/{of}' if of else '':>6} "
            f"{score.outcome.seconds:6.2f}  {score.expectation.file}  {score.outcome.reason}"
        )
    print()


def _print_formats(scores: dict[str, list[Score]]) -> None:
    (first, *others) = scores
    print(
        f"{'format':<10}{'files':>6}{'read':>6}{'words':>8}{'order':>8}{'tables':>8}{'strings':>9}{'ms a file':>11}"
        + "".join(f"  {name + ' read':>18}{'words':>8}" for name in others)
    )
    formats: dict[str, list[int]] = defaultdict(list)
    for index, score in enumerate(scores[first]):
        formats[score.expectation.format].append(index)
    for name in sorted(formats):
        _print_line(name, {reader: [all_[index] for index in formats[name]] for reader, all_ in scores.items()})
    _print_line("total", scores)
    unread = fmean(score.words or 0.0 for score in scores[first] if score.expectation.reference is not None)
    print(f"words with unread files as zero: {unread:.3f}")


def _print_line(name: str, scores: dict[str, list[Score]]) -> None:
    (first, *others) = scores
    mine = scores[first]
    found, of = (sum(score.strings[part] for score in mine) for part in (0, 1))
    milliseconds = 1000 * fmean(score.outcome.seconds for score in mine)
    print(
        f"{name:<10}{len(mine):>6}{_read_count(mine):>6}{_mean(mine, 'words')}{_mean(mine, 'order')}"
        f"{_mean(mine, 'tables')}{f'{found}/{of}' if of else '':>9}{milliseconds:>11.1f}"
        + "".join(f"  {_read_count(scores[other]):>18}{_mean(scores[other], 'words')}" for other in others)
    )


def _read_count(scores: Iterable[Score]) -> int:
    return sum(score.outcome.text is not None for score in scores)


def _mean(scores: Iterable[Score], measure: str) -> str:
    values = [value for score in scores if (value := getattr(score, measure)) is not None]
    return f"{fmean(values):>8.3f}" if values else " " * 8


def _share(value: float | None) -> str:
    return "  -  " if value is None else f"{value:.3f}"


if __name__ == "__main__":
    main()
