"""What both clients send and receive, apart from the connection: files of an upload, and the events of a run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

import httpx
from pydantic import BaseModel

from candor_client.answer import Answer
from candor_client.errors import RunFailed, Unreachable, parsed
from candor_client.models import DescribedEvent


class EndedRun(BaseModel):
    """A run with its answer. None while it is active."""

    answer: Answer | None


class LateFile:
    """A file that is open only while it is sent, because a process may have only some hundred files open."""

    def __init__(self, path: Path) -> None:
        path.stat()  # raises FileNotFoundError before anything is sent
        self._path = path
        self._file: BinaryIO | None = None

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes. At the end, close the file."""
        self._file = self._file or self._path.open("rb")
        data = self._file.read(size)
        if not data:
            self._file.close()
        return data


def upload(paths: Sequence[Path | str]) -> Iterator[tuple[str, tuple[str, LateFile]]]:
    """Yield the parts of a form. A file in a folder is named from the folder on, such as ``papers/2024/a.pdf``."""
    for path in (Path(os.path.abspath(each)) for each in paths):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            name = file.relative_to(path.parent)
            hidden = file.is_symlink() or any(part.startswith(".") for part in name.parts[1:])
            if file == path or (file.is_file() and not hidden):
                yield "files", (name.as_posix(), LateFile(file))


def path_of(*parts: str) -> str:
    """Return a path of the API. Names may contain any character."""
    return "/".join(("/v1", *(quote(part, safe="") for part in parts)))


class Events:
    """Reads the server-sent events of a run. The last one is the answer."""

    def __init__(self, response: httpx.Response) -> None:
        self.run_id = response.headers["Location"].rpartition("/")[2]
        self._received = b""
        self._answer: Answer | None = None

    def _feed(self, data: bytes) -> Iterator[DescribedEvent]:
        # httpx would also divide lines at U+2028, which JSON may contain.
        *blocks, self._received = (self._received + data).split(b"\n\n")
        for block in blocks:
            fields = dict(line.partition(b": ")[::2] for line in block.split(b"\n"))
            if fields.get(b"event") == b"answer":
                self._answer = parsed(Answer, fields[b"data"])
            elif b"data" in fields:
                yield parsed(DescribedEvent, fields[b"data"])

    def _result(self) -> Answer:
        if self._answer is None:
            raise Unreachable(
                f"The stream of the run {self.run_id} ended early. Call answer({self.run_id!r}) when the run has ended."
            )
        if self._answer.status == "failed":
            raise RunFailed(self._answer)
        return self._answer
