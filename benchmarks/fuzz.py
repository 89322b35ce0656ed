"""Ingests damaged copies of real files: does each end indexed or failed with a reason, and does the ingest survive all?

    python -m benchmarks.fuzz --mutants 2000
    python -m benchmarks.fuzz --mutants 2000 --seeds DATA/formats     files of more formats, up to --largest KB

A mutant is a file cut off, with bits flipped, or with a part of another file put into it; of zip-based formats half are
damaged inside, in one part that is packed anew. The same --seed gives the same mutants. Exit 1 if any file is in no
terminal state, or failed without a reason.
"""

from __future__ import annotations

import argparse
import io
import random
import re
import sys
import tempfile
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from api.bootstrap import Candor
from api.services.ingest import make_ingest_service
from api.settings import Settings
from ingest.ledger.records import DocumentRecord, DocumentState, document_id
from ingest.pipeline.plan import IngestRequest
from ingest.settings import IngestSettings

SAMPLES = Path(__file__).parent.parent / "sample_docs" / "documents"
_KINDS_OF_FAILURE = {
    "hung": r"was not parsed within",
    "out of memory": r"more memory than|MB to parse",
    "crashed": r"crashed the parser",
    "defect": r"made the parser",
}
"""Failures that a parser did not foresee, by what their reasons say."""


def mutants(seeds: Sequence[Path], count: int, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """So many damaged copies, as many of each format, each with a name that keeps the ending of its seed."""
    chance = random.Random(seed)
    contents = {path: path.read_bytes() for path in seeds}
    formats = sorted({path.suffix.lower() for path in seeds})
    for number in range(count):
        path = chance.choice([one for one in seeds if one.suffix.lower() == formats[number % len(formats)]])
        content = contents[path]
        how = chance.choice([_cut, _flip, _splice])
        inside = content.startswith(b"PK") and chance.random() < 0.5
        damaged = (_inside if inside else _plainly)(how, content, contents[chance.choice(seeds)], chance)
        yield f"{number:05d}_{how.__name__[1:]}{'_inside' * inside}_{path.name}", damaged


_Damage = Callable[[bytes, bytes, random.Random], bytes]


def _plainly(how: _Damage, content: bytes, other: bytes, chance: random.Random) -> bytes:
    return how(content, other, chance)


def _inside(how: _Damage, content: bytes, other: bytes, chance: random.Random) -> bytes:
    """The archive with one of its parts damaged."""
    whole, damaged = zipfile.ZipFile(io.BytesIO(content)), io.BytesIO()
    chosen = chance.choice(whole.namelist())
    with zipfile.ZipFile(damaged, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in whole.namelist():
            part = whole.read(name)
            archive.writestr(name, how(part, other, chance) if name == chosen else part)
    return damaged.getvalue()


def _cut(content: bytes, _: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(len(content) + 1)]


def _flip(content: bytes, _: bytes, chance: random.Random) -> bytes:
    damaged = bytearray(content)
    for _bit in range(chance.choice([1, 4, 16, 64]) if damaged else 0):
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def _splice(content: bytes, other: bytes, chance: random.Random) -> bytes:
    start, other_start = chance.randrange(len(content) + 1), chance.randrange(len(other) + 1)
    length = chance.randrange(4096)
    return content[:start] + other[other_start : other_start + length] + content[start + chance.randrange(4096) :]


def seed_files(folder: Path, largest_kb: int) -> list[Path]:
    """The files to damage: all but the largest."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "expected.jsonl")
    return [path for path in found if 0 < path.stat().st_size <= largest_kb * 1024]


def ingest(candor: Candor, folder: Path, seeds: Sequence[Path], count: int, seed: int) -> list[DocumentRecord]:
    """Ingest so many mutants, written into the folder; what the ledger says of each, lost ones left out."""
    written = []
    for name, content in mutants(seeds, count, seed):
        written.append(folder / name)
        written[-1].write_bytes(content)
    make_ingest_service(candor).ingest(IngestRequest("fuzz", (folder,)))
    records = (candor.ledger.get("fuzz", document_id(str(path))) for path in written)
    return [record for record in records if record]


def has_ended(record: DocumentRecord) -> bool:
    """Whether the file is in a terminal state, with a reason if it is not indexed."""
    if record.state is DocumentState.INDEXED:
        return True
    return record.state in (DocumentState.FAILED, DocumentState.SKIPPED) and bool(record.reason)


def table(records: Iterable[DocumentRecord]) -> Iterator[str]:
    """A line per format: how many ended how, and which failures the parser did not foresee."""
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        for row in (Path(record.path).suffix.lower(), "all"):
            outcomes[row].update(["mutants", record.state.value, *_kind_of_failure(record.reason)])
    columns = ["mutants", "indexed", "failed", *_KINDS_OF_FAILURE]
    yield "".join([f"{'format':10}", *(f"{column:>15}" for column in columns)])
    for row in sorted(outcomes, key=lambda name: (name == "all", name)):
        yield "".join([f"{row:10}", *(f"{outcomes[row][column]:>15}" for column in columns)])


def _kind_of_failure(reason: str) -> list[str]:
    return [kind for kind, pattern in _KINDS_OF_FAILURE.items() if re.search(pattern, reason)][:1]


def main() -> int:
    """Run as the command line says."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--mutants", type=int, default=2000)
    options.add_argument("--seeds", type=Path, default=SAMPLES, help="folder of the files to damage")
    options.add_argument("--largest", type=int, default=100, metavar="KB", help="larger files are left out")
    options.add_argument("--seed", type=int, default=0, help="of the random numbers")
    chosen = options.parse_args()
    seeds = seed_files(chosen.seeds, chosen.largest)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "documents"
        folder.mkdir()
        settings = Settings(home=Path(home) / "home", ingest=IngestSettings(parse_timeout_s=30))
        records = ingest(Candor(settings), folder, seeds, chosen.mutants, chosen.seed)
    for line in table(records):
        print(line)
    for record in records:
        if "defect" in _kind_of_failure(record.reason) or not has_ended(record):
            print(f"{record.state.value} {Path(record.path).name}: {record.reason}", file=sys.stderr)
    lost, unended = chosen.mutants - len(records), sum(not has_ended(record) for record in records)
    print(
        f"\n{chosen.mutants} mutants of {len(seeds)} files (seed {chosen.seed}) in "
        f"{time.perf_counter() - started:.0f} s: {lost} lost, {unended} in no terminal state or without a reason"
    )
    return 1 if lost or unended else 0


if __name__ == "__main__":
    sys.exit(main())
