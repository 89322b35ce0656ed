"""What the clients of a chaos run submitted, and what the service acknowledged."""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Upload:
    """One content of a file: its SHA-256 (empty: the document was deleted), and the job that ingests it."""

    sha256: str
    job: str


@dataclass
class Submitted:
    """``runs`` and ``ingests``: the ids that each idempotency key got. ``uploads``: of each file, oldest first."""

    collection: str
    runs: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    ingests: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    evaluations: list[str] = field(default_factory=list)
    uploads: dict[str, list[Upload]] = field(default_factory=lambda: defaultdict(list))
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def jobs(self) -> list[str]:
        """Return the ids of all acknowledged jobs. A research job has the id of its run."""
        keyed = [each for ids in (*self.runs.values(), *self.ingests.values()) for each in ids]
        return list(dict.fromkeys([*keyed, *self.evaluations]))

    def plain(self) -> dict[str, Any]:
        """Return the values as JSON types."""
        return {
            "collection": self.collection, "runs": dict(self.runs), "ingests": dict(self.ingests),
            "evaluations": self.evaluations,
            "uploads": {name: [asdict(each) for each in all_of_it] for name, all_of_it in self.uploads.items()},
        }  # fmt: skip

    @classmethod
    def parse(cls, plain: dict[str, Any]) -> Submitted:
        """Return what ``plain`` returned as JSON types."""
        uploads = {name: [Upload(**each) for each in all_of_it] for name, all_of_it in plain["uploads"].items()}
        return cls(**{**plain, "uploads": uploads})
