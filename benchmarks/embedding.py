"""Compare how fast Candor embeds passages in each precision, beside plain sentence-transformers.

    python -m benchmarks.embedding [--passages 600] [--rounds 3] [--model all-MiniLM-L6-v2]

The floor is `SentenceTransformer.encode` in float32 with its default batch of 32. The passages are cut from the
repository's documentation. The variants run in turn, in one process. Prints the fastest round of each, the least cosine
of its vectors to those of the floor, and the CPU time in which it is loaded.

`ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2` measures PyTorch as on a processor with AVX2.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from sentence_transformers import SentenceTransformer

from vectorstore.embedding.model_folder import find_model
from vectorstore.embedding.sentence_transformers import SentenceTransformerEmbedder
from vectorstore.settings import DEFAULT_MODEL, EmbeddingSettings
from vectorstore.store import Vectors

ROOT = Path(__file__).parents[1]
LENGTHS = (20, 200)  # words of the shortest and the longest passage
FLOOR = "sentence-transformers, float32"
PRECISIONS = ("bfloat16", "float32")

Embed = Callable[[Sequence[str]], Vectors]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--passages", type=int, default=600)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--model", default=DEFAULT_MODEL, help="a name or folder, as in the settings")
    chosen = options.parse_args()
    texts = passages(chosen.passages)
    variants = make_variants(chosen.model)
    seconds = dict.fromkeys(variants, float("inf"))
    cpu, vectors = dict(seconds), {}
    for _ in range(chosen.rounds):
        for name, (embed, _) in variants.items():
            began, began_cpu = time.perf_counter(), time.process_time()
            vectors[name] = embed(texts)
            seconds[name] = min(seconds[name], time.perf_counter() - began)
            cpu[name] = min(cpu[name], time.process_time() - began_cpu)
    table = Table("embedding", "seconds", "of the floor", "CPU seconds", "of the floor", "least cosine", "load")
    for name in variants:
        cosine = np.sum(vectors[name] * vectors[FLOOR], axis=1).min()
        table.add_row(
            name, f"{seconds[name]:.2f}", f"{seconds[name] / seconds[FLOOR]:.2f}",
            f"{cpu[name]:.2f}", f"{cpu[name] / cpu[FLOOR]:.2f}", f"{cosine:.5f}",
            f"{variants[name][1]:.1f}",
        )  # fmt: skip
    Console(width=140).print(f"{len(texts)} passages, {torch.get_num_threads()} threads", table)


def passages(count: int) -> list[str]:
    """Return passages of different lengths, always the same."""
    words = " ".join(file.read_text() for file in sorted((ROOT / "docs").glob("*.md"))).split()
    random = np.random.default_rng(0)
    starts = random.integers(0, len(words) - LENGTHS[1], count)
    return [" ".join(words[start : start + random.integers(*LENGTHS)]) for start in starts]


def make_variants(name: str) -> dict[str, tuple[Embed, float]]:
    """Return embedding functions and the CPU seconds in which they were loaded, by variant. The first is the floor."""
    floor = SentenceTransformer(str(find_model(name)), device="cpu", local_files_only=True)
    variants = {FLOOR: (encoder(floor), 0.0)}
    for precision in PRECISIONS:
        settings = EmbeddingSettings.model_validate({"model": name, "precision": precision})
        began = time.process_time()
        embed = SentenceTransformerEmbedder(settings).embed_passages
        variants[f"Candor, {precision}"] = embed, time.process_time() - began
    return variants


def encoder(model: SentenceTransformer) -> Embed:
    """Return the library's own function for passages."""
    return lambda texts: model.encode_document(list(texts), normalize_embeddings=True, show_progress_bar=False)


if __name__ == "__main__":
    main()
