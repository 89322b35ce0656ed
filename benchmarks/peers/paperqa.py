"""paper-qa in benchmarks/peers: its index of a folder, then its agent, or `Docs.aquery` over the same texts.

``paperqa-agent`` is `pqa ask`. ``paperqa-query`` retrieves and summarizes ten passages and answers. Defaults: four
concurrent calls, two calls per document during indexing (its citation), one per picture or table, and no metadata
lookup, because no title is found. Office files are excluded: they need a model that unstructured downloads.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmarks.peers.side import Ask, Ingested, Said, embedding_model, run

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # otherwise it is downloaded

from paperqa import Docs, Settings
from paperqa.agents import agent_query
from paperqa.agents.search import get_directory_index

KINDS = {".txt", ".pdf", ".html", ".md"}
_KEY = re.compile(r"pqac-[0-9a-f]+")


def ingest(folder: Path, store: Path, url: str) -> Ingested:
    """Ingest like `pqa index`."""
    settings = _settings(folder, store, url, "paperqa-agent")
    docs = asyncio.run(_docs(settings, build=True))
    (store / "folder").write_text(str(folder), encoding="utf-8")
    return {"files": len(docs.docs), "chunks": len(docs.texts)}


async def asking(store: Path, url: str, way: str, ask_all: Callable[[Ask], Awaitable[None]]) -> None:
    """Ask. The agent starts without texts, as by default; `aquery` starts with those of all documents."""
    settings = _settings(Path((store / "folder").read_text(encoding="utf-8")), store, url, way)
    docs = await _docs(settings, build=False)
    embedding = settings.get_embedding_model()  # otherwise it is loaded for every question

    async def ask(question: str) -> Said:
        if way == "paperqa-agent":
            session = (await agent_query(question, settings)).session
        else:
            session = await docs.aquery(question, settings, embedding_model=embedding)
        shown = set(_KEY.findall(session.answer))  # paper-qa replaces valid keys by names
        cited = len(session.used_contexts) + len(shown)
        return {"answer": session.answer, "citations": cited, "quotes": 0, "invented": len(shown)}

    await ask_all(ask)


def _settings(folder: Path, store: Path, url: str, model: str) -> Settings:
    name = f"openai/{model}"
    parameters = {"model": name, "api_base": url, "api_key": "none"}
    models = {"model_list": [{"model_name": name, "litellm_params": parameters}]}
    return Settings(
        llm=name,
        llm_config=models,
        summary_llm=name,
        summary_llm_config=models,
        embedding=f"st-{embedding_model()}",
        agent={
            "agent_llm": name,
            "agent_llm_config": models,
            "index": {
                "name": "peers",
                "paper_directory": folder,
                "index_directory": store,
                "files_filter": lambda path: path.suffix in KINDS,
            },
        },
        parsing={"enrichment_llm": name, "enrichment_llm_config": models},
    )


async def _docs(settings: Settings, *, build: bool) -> Docs:
    """Return all indexed documents, as the agent's search tool does."""
    index = await get_directory_index(settings, build=build)
    docs = Docs()
    for file in await index.index_files:
        if saved := await index.get_saved_object(file):
            for document in saved.docs.values():
                await docs.aadd_texts([text for text in saved.texts if text.doc.dockey == document.dockey], document)
    return docs


if __name__ == "__main__":
    run(["paper-qa", "fhlmi", "litellm"], ingest, asking)
