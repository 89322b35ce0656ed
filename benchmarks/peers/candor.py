"""Candor in benchmarks/peers.

``candor-fast`` and ``candor-high`` are modes of `candor ask`. ``candor-panel`` is mode high with a plan of the whole
panel (queries, search, extraction, synthesis) instead of Readers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import load_settings
from benchmarks.peers.side import Ask, Ingested, Said, run
from multi_agent.llm.models import Models, build_llm
from multi_agent.llm.settings import EndpointSettings
from multi_agent.values.request import Request

COLLECTION = "peers"


def ingest(folder: Path, store: Path, url: str) -> Ingested:
    """Ingest like `candor ingest`."""
    report = run_ingest(Candor(load_settings(store)), [folder], COLLECTION, progress=False)
    return {"files": report.indexed, "chunks": report.chunks}


async def asking(store: Path, url: str, way: str, ask_all: Callable[[Ask], Awaitable[None]]) -> None:
    """Ask like `candor ask`."""
    # Without examples: the planner would otherwise see the plan of the previous run of the same question.
    candor = Candor(load_settings(store, research={"plan_examples": 0}))
    endpoint = EndpointSettings(provider="openai", base_url=url, model=way, context_window=64_000, timeout_s=600)
    with candor.collections.open(COLLECTION) as collection:
        texts = {chunk.id: _plain(chunk.text) for chunk in collection.scan()}
    with candor.collections.open_library(COLLECTION) as library:
        panel = candor.panel.orchestrator(library, Models(build_llm(endpoint)))

        async def ask(question: str) -> Said:
            answer = await panel.research(Request(question=question, mode="fast" if way == "candor-fast" else "high"))
            if not answer.cited:
                raise SystemExit(f"{question}: {answer.status}, {answer.reasoning}")
            found = [quote for quote in answer.cited if _plain(quote.quote) in texts[quote.chunk_id]]
            cited = len(answer.cited)
            return {
                "answer": answer.answer,
                "citations": cited,
                "quotes": len(found),
                "invented": cited - len(found),
            }

        await ask_all(ask)


def _plain(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    run(["candor"], ingest, asking)
