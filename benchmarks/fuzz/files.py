"""Damaged and generated files: each is indexed, or failed with a reason, within the limits.

A mutant is a truncated file, a file with flipped bits, one with a part of another file inserted, one with a
part repeated many times, or one with the suffix of another format. Half of the mutants of zip-based
formats are damaged in one part, which is compressed again.
"""

from __future__ import annotations

import io
import random
import re
import tempfile
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from api.bootstrap import Candor
from api.settings import Settings
from benchmarks.fuzz.formats import write_formats
from benchmarks.fuzz.search import ROOT, Batch, Finding
from ingest.ledger.records import DocumentRecord, DocumentState, document_id
from ingest.pipeline.plan import IngestRequest
from ingest.settings import IngestSettings

SAMPLES = ROOT / "sample_docs" / "documents"
MUTANTS = 50
"""Files in one batch."""
LARGEST_KB = 100
PARSE_S = 30.0
_LONGEST = 50_000
"""Bytes that a repeated part may take. Embedding more text would take most of the time."""
SLOWEST_S = 60.0
"""Seconds of one file in all stages. More is a finding."""
_KINDS_OF_FAILURE = {
    "hung": r"was not parsed within",
    "out of memory": r"more memory than|MB to parse",
    "crashed": r"crashed the parser \S+ \(",
    "defect": r"made the parser|crashed the parser of|unexpected error",
}
"""Failures that a parser did not handle, by patterns of their reasons."""


def mutants(seeds: Sequence[Path], number: int, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of ``number`` damaged copies, the same number for each format. Keep the suffixes."""
    generator = random.Random(seed)
    contents = {path: path.read_bytes() for path in seeds}
    formats = sorted({path.suffix.lower() for path in seeds})
    for at in range(number):
        path = generator.choice([one for one in seeds if one.suffix.lower() == formats[at % len(formats)]])
        content = contents[path]
        damage = generator.choice([_cut, _flip, _splice, _repeat])
        inside = content.startswith(b"PK") and generator.random() < 0.5
        other = contents[generator.choice(seeds)]
        damaged = (_damage_member if inside else _damage_file)(damage, content, other, generator)
        name = path.name if generator.random() < 0.9 else f"{path.stem}{generator.choice(formats)}"
        yield f"{at:05d}_{damage.__name__[1:]}{'_inside' * inside}_{name}", damaged


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
            written = damage(part, other, generator) if name == chosen else part
            archive.writestr(zipfile.ZipInfo(name), written, zipfile.ZIP_DEFLATED)  # without the time of day
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


def _repeat(content: bytes, _: bytes, generator: random.Random) -> bytes:
    """Repeat a random part, which gives nested elements, many rows or long words."""
    start = generator.randrange(len(content) + 1)
    part = content[start : start + generator.choice([1, 3, 20, 200])]
    times = min(generator.choice([20, 2_000, _LONGEST]), _LONGEST // max(1, len(part)))
    return content[:start] + part * times + content[start:]


def seed_files(folder: Path, largest_kb: int) -> list[Path]:
    """Return the files in a folder that are not larger than this."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "expected.jsonl")
    return [path for path in found if 0 < path.stat().st_size <= largest_kb * 1024]


def ingest(candor: Candor, folder: Path, seeds: Sequence[Path], number: int, seed: int) -> list[DocumentRecord]:
    """Write the mutants into the folder and ingest them. Return their records in the ledger."""
    written = []
    for name, content in mutants(seeds, number, seed):
        written.append(folder / name)
        written[-1].write_bytes(content)
    candor.ingest.ingest(IngestRequest(collection="fuzz", paths=(folder,)))
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


@contextmanager
def damaged_files(documents: Path | None = None) -> Iterator[Callable[[int], Batch]]:
    """Ingest damaged copies of the sample documents, of generated files, and of the files in ``documents``."""
    all_records: list[DocumentRecord] = []
    with tempfile.TemporaryDirectory() as home:
        made, numbers = Path(home) / "made", count()
        made.mkdir()
        seeds = [*write_formats(made), *seed_files(SAMPLES, LARGEST_KB)]
        seeds += seed_files(documents, LARGEST_KB) if documents else []
        candor = Candor(Settings(home=Path(home) / "home", ingest=IngestSettings(parse_timeout_s=PARSE_S)))

        def batch_of(seed: int) -> Batch:
            folder = Path(home) / f"documents_{next(numbers)}"
            folder.mkdir()
            records = ingest(candor, folder, seeds, MUTANTS, seed)
            all_records.extend(records)
            return Batch(MUTANTS, tuple(_findings(folder, records)))

        yield batch_of
        for line in table(all_records):
            print(line)


def _findings(folder: Path, records: Sequence[DocumentRecord]) -> Iterator[Finding]:
    known = {Path(record.path).name for record in records}
    for path in sorted(folder.iterdir()):
        if path.name not in known:
            yield Finding("lost", f"The ledger has no record of {path.name}.", (path.name, path.read_bytes()))
    for record in records:
        if fault := fault_of(record):
            path = Path(record.path)
            title = f"{fault}: {re.sub(r'/?[^ ]*/[^ ]*|[0-9]+', '…', record.reason)[:200]}"
            yield Finding(title, record.model_dump_json(indent=1), (path.name, path.read_bytes()))


def fault_of(record: DocumentRecord) -> str:
    """Return the fault of the outcome of a file, or an empty text."""
    if not has_ended(record):
        return "not in a final state" if record.reason else "without a reason"
    if "defect" in _kind_of_failure(record.reason):
        return "internal error"
    return "slow" if sum(record.seconds.values()) > SLOWEST_S else ""
