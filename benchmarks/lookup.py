"""Measure how often an exact word is found: the passage that has it should be first.

    python -m benchmarks.lookup --data DATA/retrieval --passages 400      # or 20000

Marks are put into passages of public sets, each into one: codes in eight forms. Rare words, names and phrases are those
that one passage has already. Tables of 5, 20 and 41 columns have 40 record numbers to find. Each mark is searched alone
and in three questions, in each mode. One line per kind and mode: share first and among ten, alone and in questions.

Phrases are searched in quotes. Passages and tables are ingested like a user's files.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.retrieval import home_folder, ingested
from vectorstore.embedding.embedder import make_embedder
from vectorstore.models import SearchMode
from vectorstore.retrieval import Retriever
from vectorstore.settings import EmbeddingSettings

QUESTIONS = (
    "Which text has the reference {}?",
    "What do the documents say about {}?",
    "I need the page on which {} is mentioned, please.",
)
RECORD = ("What is the status of record {}?", "Which customer does {} belong to?", "Show me all values of {}.")
COLUMNS = (5, 20, 41)
ROWS = 400
EACH = 50
"""Marks of each kind, at most."""
TEN = 10
_WORD = re.compile(r"[^\W\d_]{5,}")
_SMALL = "(?!(?:A|An|And|For|From|His|In|Is|It|Of|On|The|This|To|With|Your)\\b)"  # words of titles and sentences
_NAME = re.compile(rf"(?<=[a-z] ){_SMALL}[A-Z][a-z]+ {_SMALL}[A-Z][a-z]+\b")
_SEED = 1


class Mark(NamedTuple):
    """A mark, and the text that only the passage of the mark has."""

    kind: str
    text: str
    inside: str
    file: str
    questions: Sequence[str] = QUESTIONS

    def queries(self) -> Iterator[tuple[str, str]]:
        text = f'"{self.text}"' if self.kind == "phrase" else self.text
        yield "alone", text
        for question in self.questions:
            yield "question", question.format(text)


def main() -> None:
    """Ingest the passages, search all marks, print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True, help="folder of sets in BEIR format")
    options.add_argument("--passages", type=int, default=400)
    options.add_argument("--home", type=Path, help="keep the ingested collection here; default: a temporary folder")
    chosen = options.parse_args()
    rng = random.Random(_SEED)
    with home_folder(chosen.home) as home:
        documents = home / "documents"
        documents.mkdir(parents=True, exist_ok=True)
        marks = [*write_passages(chosen.data, chosen.passages, documents, rng), *write_tables(documents, rng)]
        with ingested([documents], "lookup", home, make_embedder(EmbeddingSettings())) as (retriever, report):
            print(f"{report.indexed} documents, {retriever.count().chunks} chunks, ingested in {report.seconds:.0f} s")
            for mode in SearchMode:
                report_mode(mode, marks, retriever)


def report_mode(mode: SearchMode, marks: Iterable[Mark], retriever: Retriever) -> None:
    """Search all marks in the mode and print a line per kind."""
    places: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for mark in marks:
        for form, query in mark.queries():
            places[mark.kind, form].append(place(mark, retriever, query, mode))
    for kind, form in sorted(places):
        found = places[kind, form]
        first, ten = (sum(0 <= each < most for each in found) / len(found) for most in (1, TEN))
        print(f"{mode.value:8} {kind:18} {form:9} first {first:.3f}  among ten {ten:.3f}  of {len(found)}", flush=True)


def place(mark: Mark, retriever: Retriever, query: str, mode: SearchMode) -> int:
    """Return the place of the mark's passage, counted from 0; -1 if it is not among ten."""
    hits = retriever.find(query, TEN, mode=mode)
    found = (hit.chunk.name == mark.file and mark.inside in hit.chunk.text for hit in hits)
    return next((number for number, right in enumerate(found) if right), -1)


def write_passages(data: Path, count: int, folder: Path, rng: random.Random) -> Iterator[Mark]:
    """Write ``count`` passages, with a code in each of up to 8 · EACH of them. Yield all marks."""
    written: list[str] = []
    for number, text in enumerate(load_texts(data, count)):
        code = codes(rng)[number % 8] if number < 8 * EACH else None
        if code:
            kind, mark = code
            half = text.find(" ", len(text) // 2)
            text = f"{text[:half]} The reference here is {mark} as agreed.{text[half:]}"
            yield Mark(kind, mark, mark, f"{number:05}.txt")
        (folder / f"{number:05}.txt").write_text(text, encoding="utf-8")
        written.append(text)
    yield from rare(written, rng)


def load_texts(data: Path, count: int) -> Iterator[str]:
    """Yield different passages of the sets, one set after another."""
    seen: set[str] = set()
    for corpus in sorted(data.glob("*_en*/corpus.jsonl")) + sorted(data.glob("[hos]*/corpus.jsonl")):
        for line in corpus.read_text(encoding="utf-8").splitlines():
            text = " ".join(json.loads(line)["text"].split())[:900]
            if len(text) > 200 and text not in seen:
                seen.add(text)
                yield text
                if len(seen) == count:
                    return


def codes(rng: random.Random) -> list[tuple[str, str]]:
    """Return a new code in each of the eight forms."""
    letters, number = "".join(rng.choices("ABCDEFGHKLMNPRSTUVWXYZ", k=3)), rng.randrange(10_000, 99_999)
    return [
        ("letters and digits", f"{letters}{number}"),
        ("digits", f"{number}"),
        ("hyphen", f"{letters[:2]}-{number}"),
        ("slash", f"{letters}/{number % 1000}/{rng.randrange(10, 99)}"),
        ("dot", f"{rng.randrange(10, 99)}.{rng.randrange(100, 999)}.{rng.randrange(10, 99)}"),
        ("blank", f"{letters[:2]} {number}"),
        ("underscore", f"{letters.lower()}_{number}"),
        ("lower case", f"{letters[0].lower()}{rng.randrange(1, 9)}{letters[1].lower()}{number}"),
    ]


def rare(texts: Sequence[str], rng: random.Random) -> Iterator[Mark]:
    """Yield words, names and phrases of four words that one passage only has."""
    kinds = {
        "rare word": [set(_WORD.findall(text)) for text in texts],
        "name": [set(_NAME.findall(text)) for text in texts],
        "phrase": [set(phrases(text)) for text in texts],
    }
    folded = [text.casefold() for text in texts]
    for kind, found in kinds.items():
        of_all = Counter(each.casefold() for some in found for each in some)
        only = [(each, n) for n, some in enumerate(found) for each in sorted(some) if of_all[each.casefold()] == 1]
        rng.shuffle(only)
        if kind != "rare word":
            only = [each for each in only[: 4 * EACH] if sum(each[0].casefold() in text for text in folded) == 1]
        for mark, number in only[:EACH]:
            yield Mark(kind, mark, mark, f"{number:05}.txt")


def phrases(text: str) -> Iterator[str]:
    words = text.split()
    for start in range(len(words) - 4):
        phrase = words[start : start + 4]
        if all(word.isalpha() for word in phrase):
            yield " ".join(phrase)


def write_tables(folder: Path, rng: random.Random) -> Iterator[Mark]:
    """Write a CSV of each width. Yield the record numbers of some rows."""
    for columns in COLUMNS:
        names = ["record_id", "customer", "city", "product", "status", *(f"value_{n}" for n in range(columns - 5))]
        file = folder / f"table{columns}.csv"
        with file.open("w", encoding="utf-8", newline="") as lines:
            writer = csv.writer(lines)
            writer.writerow(names)
            for row in range(ROWS):
                words = (f"{rng.choice(('Alder', 'Birch', 'Cedar', 'Elm'))} {rng.randrange(30)}", rng.choice("ABCDE"))
                status = rng.choice(("open", "closed", "paid"))
                figures = (rng.randrange(10_000) for _ in range(columns - 5))
                writer.writerow([f"R{columns:02}{row:04}", *words, f"item {rng.randrange(50)}", status, *figures])
        for row in sorted(rng.sample(range(ROWS), 40)):
            number = f"R{columns:02}{row:04}"
            yield Mark(f"table of {columns}", number, number, file.name, RECORD)


if __name__ == "__main__":
    main()
