"""LlamaIndex in benchmarks/peers: its readers, splitter and vector index, with defaults.

``llamaindex-citations`` is CitationQueryEngine, ``llamaindex-sub-questions`` is SubQuestionQueryEngine over one query
engine of the index, both through `aquery`. LLMQuestionGenerator generates the sub-questions, because the default,
llama-index-question-gen-openai, does not install with llama-index-core 0.14.

A chunk has 1,024 tokens by default. The embedding model reads the first 256. Two chunks are retrieved.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from llama_index.core import Settings, SimpleDirectoryReader, StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.query_engine import CitationQueryEngine, SubQuestionQueryEngine
from llama_index.core.question_gen import LLMQuestionGenerator
from llama_index.core.tools import QueryEngineTool
from llama_index.embeddings.huggingface import HuggingFaceEmbedding
from llama_index.llms.openai_like import OpenAILike

from benchmarks.peers.side import Ask, Ingested, Said, embedding_model, marks, run

PACKAGES = ["llama-index-core", "llama-index-embeddings-huggingface", "llama-index-llms-openai-like"]


def ingest(folder: Path, store: Path, url: str) -> Ingested:
    """Read, split, embed and write to disk."""
    _settle(url, "llamaindex")
    documents = SimpleDirectoryReader(folder, recursive=True).load_data()
    index = VectorStoreIndex.from_documents(documents)
    index.storage_context.persist(store)
    files = {document.metadata["file_path"] for document in documents}
    return {"files": len(files), "chunks": len(index.docstore.docs)}


async def asking(store: Path, url: str, way: str, ask_all: Callable[[Ask], Awaitable[None]]) -> None:
    """Ask one engine over the stored index."""
    _settle(url, way)
    index = load_index_from_storage(StorageContext.from_defaults(persist_dir=str(store)))
    engine = {"llamaindex-citations": _citations, "llamaindex-sub-questions": _sub_questions}[way](index)

    async def ask(question: str) -> Said:
        response = await engine.aquery(question)
        cited = marks(str(response))
        invented = [number for number in cited if number > len(response.source_nodes)]
        return {"answer": str(response), "citations": len(cited), "quotes": 0, "invented": len(invented)}

    await ask_all(ask)


def _settle(url: str, model: str) -> None:
    Settings.embed_model = HuggingFaceEmbedding(model_name=embedding_model(), device="cpu")
    Settings.llm = OpenAILike(
        model=model, api_base=url, api_key="none", is_chat_model=True, context_window=64_000, timeout=600
    )


def _citations(index: VectorStoreIndex) -> BaseQueryEngine:
    return CitationQueryEngine.from_args(index)


def _sub_questions(index: VectorStoreIndex) -> BaseQueryEngine:
    tool = QueryEngineTool.from_defaults(
        query_engine=index.as_query_engine(), name="documents", description="A person's own documents."
    )
    return SubQuestionQueryEngine.from_defaults(
        query_engine_tools=[tool], question_gen=LLMQuestionGenerator.from_defaults()
    )


if __name__ == "__main__":
    run(PACKAGES, ingest, asking)
