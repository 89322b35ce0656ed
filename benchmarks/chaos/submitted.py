"""Records the requests of a chaos run and the jobs that the service acknowledged."""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Upload:
    """An upload or a deletion of a file. ``sha256`` is empty for a deletion. ``job`` is the id of the ingest job."""

    sha256: str
    job: str


@dataclass
class Submitted:
    """The acknowledged requests: job ids by idempotency key, evaluation ids, and uploads by file name, oldest first."""

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
        """Return the fields as values for JSON."""
        return {
            "collection": self.collection, "runs": dict(self.runs), "ingests": dict(self.ingests),
            "evaluations": self.evaluations,
            "uploads": {name: [asdict(each) for each in uploads] for name, uploads in self.uploads.items()},
        }  # fmt: skip

    @classmethod
    def parse(cls, plain: dict[str, Any]) -> Submitted:
        """Create an instance from the result of ``plain``."""
        uploads = {name: [Upload(**each) for each in contents] for name, contents in plain["uploads"].items()}
        return cls(**{**plain, "uploads": uploads})
