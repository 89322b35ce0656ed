"""Ingest damaged copies of real files, and check that each ends indexed, or failed with a reason.

    python -m benchmarks.fuzz --mutants 2000
    python -m benchmarks.fuzz --mutants 2000 --seeds DATA/formats     files of more formats, up to --largest KB

A mutant is a truncated file, a file with flipped bits, or a file with a part of another file inserted. Half of the
mutants of zip-based formats are damaged inside one part, which is compressed again. The same --seed gives the same
mutants. The exit status is 1 if any file is not in a final state, or failed without a reason.
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
from api.settings import Settings
from ingest.ledger.records import DocumentRecord, DocumentState, document_id
from ingest.pipeline.plan import IngestRequest
from ingest.settings import IngestSettings

SAMPLES = Path(__file__).parent.parent / "sample_docs" / "documents"
_KINDS_OF_FAILURE = {
    "hung": r"was not parsed within",
    "out of memory": r"more memory than|MB to parse",
    "crashed": r"crashed the parser \S+ \(",
    "defect": r"made the parser|crashed the parser of",
}
"""Failures that a parser did not handle, by patterns of their reasons."""


def mutants(seeds: Sequence[Path], count: int, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of ``count`` damaged copies, equally many of each format. Names keep the suffix."""
    generator = random.Random(seed)
    contents = {path: path.read_bytes() for path in seeds}
    formats = sorted({path.suffix.lower() for path in seeds})
    for number in range(count):
        path = generator.choice([one for one in seeds if one.suffix.lower() == formats[number % len(formats)]])
        content = contents[path]
        damage = generator.choice([_cut, _flip, _splice])
        inside = content.startswith(b"PK") and generator.random() < 0.5
        other = contents[generator.choice(seeds)]
        damaged = (_damage_member if inside else _damage_file)(damage, content, other, generator)
        yield f"{number:05d}_{damage.__name__[1:]}{'_inside' * inside}_{path.name}", damaged


_Damage = Callable[[bytes, bytes, random.Random], bytes]


def _damage_file(damage: _Damage, content: bytes, other: bytes, generator: random.Random) -> bytes:
    return damage(content, other, generator)


def _damage_member(damage: _Damage, content: bytes, other: bytes, generator: random.Random) -> bytes:
    """Damage one member of an archive."""
    whole, damaged = zipfile.ZipFile(io.BytesIO(content)), io.BytesIO()
    chosen = generator.choice(whole.namelist())
    with zipfile.ZipFile(damaged, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in whole.namelist():
            part = whole.read(name)
            archive.writestr(name, damage(part, other, generator) if name == chosen else part)
    return damaged.getvalue()


def _cut(content: bytes, _: bytes, generator: random.Random) -> bytes:
    return content[: generator.randrange(len(content) + 1)]


def _flip(content: bytes, _: bytes, generator: random.Random) -> bytes:
    damaged = bytearray(content)
    for _bit in range(generator.choice([1, 4, 16, 64]) if damaged else 0):
        damaged[generator.randrange(len(damaged))] ^= 1 << generator.randrange(8)
    return bytes(damaged)


def _splice(content: bytes, other: bytes, generator: random.Random) -> bytes:
    start, other_start = generator.randrange(len(content) + 1), generator.randrange(len(other) + 1)
    length = generator.randrange(4096)
    return content[:start] + other[other_start : other_start + length] + content[start + generator.randrange(4096) :]


def seed_files(folder: Path, largest_kb: int) -> list[Path]:
    """Return the files in a folder up to this size."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "expected.jsonl")
    return [path for path in found if 0 < path.stat().st_size <= largest_kb * 1024]


def ingest(candor: Candor, folder: Path, seeds: Sequence[Path], count: int, seed: int) -> list[DocumentRecord]:
    """Ingest mutants, written into the folder. Return the ledger's records, without those of lost files."""
    written = []
    for name, content in mutants(seeds, count, seed):
        written.append(folder / name)
        written[-1].write_bytes(content)
    candor.ingest.ingest(IngestRequest("fuzz", (folder,)))
    records = (candor.ledger.get("fuzz", document_id(str(path))) for path in written)
    return [record for record in records if record]


def has_ended(record: DocumentRecord) -> bool:
    """Return whether the file is in a final state, with a reason if it is not indexed."""
    if record.state is DocumentState.INDEXED:
        return True
    return record.state in (DocumentState.FAILED, DocumentState.SKIPPED) and bool(record.reason)


def table(records: Iterable[DocumentRecord]) -> Iterator[str]:
    """Yield a line per format with the number of mutants in each state, and of failures the parser did not handle."""
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
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--mutants", type=int, default=2000)
    options.add_argument("--seeds", type=Path, default=SAMPLES, help="folder of the files to damage")
    options.add_argument("--largest", type=int, default=100, metavar="KB", help="skip larger files")
    options.add_argument("--seed", type=int, default=0, help="seed of the random numbers")
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
        f"{time.perf_counter() - started:.0f} s: {lost} lost, {unended} not in a final state or without a reason"
    )
    return 1 if lost or unended else 0


if __name__ == "__main__":
    sys.exit(main())
