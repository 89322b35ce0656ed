"""Show which packages real commands call, in all of their processes, by an import hook.

    PYTHONPATH=tests python -m benchmarks.seen

Runs `candor ingest`, `ask` and `serve` with scripted models, a random reranker and, where one was fetched, a
Qdrant server. Prints what each command does with a package, the function that was called, and the module of Candor that
led to the call.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from support.models import write_cross_encoder
from support.panel import Panel
from support.qdrant import find_binary, running_qdrant
from support.replies import Protocol
from support.scripted_endpoint import ScriptedEndpoint
from support.service import QUESTION, ServiceProcess
from support.waiting import until

ROOT = Path(__file__).parents[2]
NOTES = 130  # more passages than NumPy embeds
FILES = {
    "pumps.md": "# Borea 12\n\nThe Borea 12 works down to -25 °C.",
    "long.txt": "The pump, ordered in spring and delivered in summer, heats the house and the barn, " * 60,
    "papers.bib": "@article{a, title={Valves of heat pumps}, author={Ada Byron}, year=2020}",
    **{f"notes/{number}.txt": f"Pump {number} weighs {number} kg." for number in range(NOTES)},
}
INGEST, PARSE, ASK, SERVE = (
    "ingest",
    "ingest, parser unstructured",
    "ask, with a reranker",
    "serve with a Qdrant server",
)


class Use(NamedTuple):
    """What a command does with a package, and the function that shows it."""

    package: str
    command: str
    work: str
    module: str
    function: str

    @property
    def call(self) -> str:
        return f"{self.module}.{self.function}"


class Seen(NamedTuple):
    """A call: the module of Candor that led to it, and whether in a worker process."""

    by: str
    worker: bool


_CLIENT = "qdrant_client.qdrant_client"
USES = (
    Use("sentence-transformers", INGEST, "embeds passages",
        "sentence_transformers.sentence_transformer.model", "SentenceTransformer.encode_document"),
    Use("sentence-transformers", ASK, "orders passages",
        "sentence_transformers.cross_encoder.model", "CrossEncoder.predict"),
    Use("llama-index-core", INGEST, "divides what is longer than a chunk",
        "llama_index.core.node_parser.text.sentence", "SentenceSplitter.split_text"),
    Use("kreuzberg", INGEST, "reads references", "kreuzberg", "extract_bytes_sync"),
    Use("unstructured", PARSE, "reads all files", "unstructured.partition.auto", "partition"),
    Use("instructor", ASK, "validates responses, asks again", "instructor.v2.core.patch", "patch"),
    Use("ollama", ASK, "calls the model", "ollama._client", "AsyncClient.chat"),
    Use("openai", SERVE, "calls the model", "openai._base_client", "AsyncAPIClient.post"),
    Use("fastapi", SERVE, "answers requests", "fastapi.routing", "run_endpoint_function"),
    Use("qdrant-client", SERVE, "stores passages", _CLIENT, "QdrantClient.upsert"),
    Use("qdrant-client", SERVE, "searches", _CLIENT, "QdrantClient.query_batch_points"),
    *(Use("pydantic", each, "validates values", "pydantic.main", "BaseModel.__init__")
      for each in (INGEST, ASK, SERVE)),
)  # fmt: skip


class Commands:
    """Runs commands with the hook and records the calls of each command."""

    def __init__(self, folder: Path) -> None:
        self.seen: dict[tuple[str, str], list[Seen]] = defaultdict(list)
        self._folder, self._hook = folder, folder / "hook"
        shutil.copytree(Path(__file__).parent / "hook", self._hook)
        calls: dict[str, list[str]] = defaultdict(list)
        for use in dict.fromkeys((use.module, use.function) for use in USES):
            calls[use[0]].append(use[1])
        (self._hook / "calls.json").write_text(json.dumps(calls))

    @property
    def path(self) -> str:
        """The PYTHONPATH of the commands."""
        return os.pathsep.join((str(self._hook), str(ROOT)))

    def run(self, label: str, *arguments: str | Path, **settings: str) -> None:
        environment = {**os.environ, "PYTHONPATH": self.path, **settings}
        command = [sys.executable, "-m", "api.cli", *arguments, "--home", str(self._folder / "home")]
        with self.noting(label):
            done = subprocess.run(
                list(map(str, command)), env=environment, cwd=self._folder, capture_output=True, text=True, timeout=600
            )
            assert done.returncode == 0, (command, done.stdout, done.stderr)

    @contextmanager
    def noting(self, label: str) -> Iterator[None]:
        """Record the calls during this block under the label of the command."""
        file = self._hook / "seen.jsonl"
        file.unlink(missing_ok=True)
        yield
        for line in file.read_text().splitlines():
            found = json.loads(line)
            self.seen[label, found["call"]].append(Seen(" ".join(found["by"]), found["worker"]))


def watch(folder: Path) -> dict[tuple[str, str], list[Seen]]:
    """Run the commands, and return the calls by command and function. Without a Qdrant server, `serve` is left out."""
    commands = Commands(folder)
    for name, text in FILES.items():
        file = folder / "documents" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    document = folder / "documents" / "pumps.md"
    model = write_cross_encoder(folder / "reranker")
    rerank = {"CANDOR_RESEARCH__RERANK__PROVIDER": "local", "CANDOR_RESEARCH__RERANK__MODEL": str(model)}
    commands.run(INGEST, "ingest", folder / "documents", "-c", "papers")
    commands.run(PARSE, "ingest", document, "-c", "other", CANDOR_INGEST__PARSER="unstructured")
    with ScriptedEndpoint(Panel("-25 °C")) as endpoint:
        commands.run(ASK, "ask", QUESTION, "-c", "papers", "--mode", "high", **rerank, **_model(endpoint, "ollama"))
        if find_binary():
            _serve(commands, folder / "served", document, _model(endpoint, "openai"))
    return commands.seen


def _model(endpoint: ScriptedEndpoint, protocol: Protocol) -> dict[str, str]:
    settings = endpoint.settings(protocol).model_dump(include={"provider", "model", "base_url"})
    return {f"CANDOR_LLM__{name.upper()}": value for name, value in settings.items()}


def _serve(commands: Commands, home: Path, document: Path, settings: dict[str, str]) -> None:
    """Upload a document, search it and ask a question over HTTP."""
    with (
        running_qdrant() as server,
        commands.noting(SERVE),
        ServiceProcess(home, **{"PYTHONPATH": commands.path, "CANDOR_STORE__URL": server.url, **settings}) as service,
    ):
        files = {"files": (document.name, document.read_bytes())}
        sent = service.http.post("/v1/collections/papers/documents", files=files)
        assert sent.status_code == 202, sent.text
        until(lambda: service.http.get(sent.headers["location"]).json()["status"] == "done")
        for path, body in (("search", {"query": "pump"}), ("research", {"question": QUESTION, "mode": "high"})):
            response = service.http.post(f"/v1/{path}", json={"collection": "papers", **body})
            assert response.is_success, response.text
        service.stop()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        seen = watch(Path(folder))
    table = Table("package", "command", "what it does there", "function", "called by")
    for use in USES:
        calls = {f"{each.by}{' (worker)' * each.worker}" for each in seen.get((use.command, use.call), ())}
        table.add_row(use.package, use.command, use.work, use.function, "\n".join(sorted(calls)) or "not called")
    Console(width=180).print(table)


if __name__ == "__main__":
    main()
