"""all-MiniLM-L6-v2 in PyTorch, for many passages: half the memory and time of sentence-transformers.

Passages of a batch are concatenated instead of padded. Matrices are multiplied in bfloat16 where the settings choose
it; sums, means and norms stay in float32. The vectors equal those of sentence-transformers. Importing that package
alone takes seconds and as much memory as this computation.

Batches have only a few sizes. PyTorch keeps a compiled multiplication of a megabyte or more per matrix for each size it
meets, so arbitrary sizes would fill the memory during a long ingest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vectorstore.embedding.minilm_numpy import MiniLM
from vectorstore.store import Vectors

if TYPE_CHECKING:
    from torch import Tensor

_MIN_TOKENS = 64  # of a batch


class _Affine(NamedTuple):
    """The weight and bias of a linear map or a normalization."""

    weight: Tensor
    bias: Tensor


class _Layer(NamedTuple):
    heads_in: _Affine  # queries, keys and values
    heads_out: _Affine
    attended: _Affine
    inner_in: _Affine
    inner_out: _Affine
    done: _Affine


class PackedMiniLM:
    """The encoder for many texts. Stateless between texts, so threads may share it.

    A batch holds ``batch_size`` passages of full length, or more shorter ones. Raises RuntimeError or AssertionError,
    like PyTorch, for an unknown device.
    """

    def __init__(self, model: MiniLM, *, device: str, bfloat16: bool, batch_size: int) -> None:
        import torch
        from safetensors.torch import load_file

        self._model = model
        self._device = torch.device(device)
        self._dtype = torch.bfloat16 if bfloat16 else torch.float32
        self._max_tokens = batch_size * model.window
        # On a CPU the file is memory-mapped: only the word vectors that are used take memory.
        self._weights: dict[str, Tensor] = load_file(model.weights, device=device)
        self._layers = [self._layer(f"encoder.layer.{number}") for number in range(model.layers)]

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, of length 1. Texts are truncated to the window."""
        import torch

        vectors = np.empty((len(texts), self._model.dimension), dtype=np.float32)
        ids = self._model.token_ids(texts)
        with torch.inference_mode():
            for batch in self._batches(ids):
                vectors[batch] = self._encode([ids[index] for index in batch]).cpu().numpy()
        return vectors

    def _batches(self, ids: Sequence[Sequence[int]]) -> list[list[int]]:
        """Return the indices of texts per batch: longest first, each in the first batch with room (first fit)."""
        batches: list[list[int]] = []
        room: list[int] = []
        for index in sorted(range(len(ids)), key=lambda index: len(ids[index]), reverse=True):
            length = len(ids[index])
            number = next((number for number, left in enumerate(room) if left >= length), len(batches))
            if number == len(batches):
                batches.append([])
                room.append(self._max_tokens)
            batches[number].append(index)
            room[number] -= length
        return batches

    def _size(self, tokens: int) -> int:
        """Return the padded number of tokens of a batch."""
        size = self._max_tokens
        while size // 2 >= max(tokens, _MIN_TOKENS):
            size //= 2
        return size

    def _encode(self, ids: Sequence[Sequence[int]]) -> Tensor:
        from torch import split, stack
        from torch.nn.functional import gelu, normalize

        lengths = [len(text) for text in ids]
        states = self._embeddings(ids, lengths)
        for layer in self._layers:
            attended = self._linear(layer.heads_out, self._attention(layer, states, lengths))
            states = self._normalized(layer.attended, attended + states)
            inner = gelu(self._linear(layer.inner_in, states))
            states = self._normalized(layer.done, self._linear(layer.inner_out, inner) + states)
        return normalize(stack([text.mean(dim=0) for text in split(states[: sum(lengths)], lengths)]))

    def _embeddings(self, ids: Sequence[Sequence[int]], lengths: list[int]) -> Tensor:
        words = self._lookup("word", [token for text in ids for token in text])
        positions = self._lookup("position", [position for length in lengths for position in range(length)])
        kind = self._weights["embeddings.token_type_embeddings.weight"][0]
        return self._normalized(self._affine("embeddings.LayerNorm"), words + positions + kind)

    def _lookup(self, table: str, rows: list[int]) -> Tensor:
        """Return rows of an embedding table, padded to the size of the batch."""
        import torch
        from torch.nn.functional import embedding

        padded = rows + [0] * (self._size(len(rows)) - len(rows))
        return embedding(
            torch.tensor(padded, device=self._device), self._weights[f"embeddings.{table}_embeddings.weight"]
        )

    def _attention(self, layer: _Layer, states: Tensor, lengths: list[int]) -> Tensor:
        """Compute attention within each text; the padding gets zeros."""
        from torch import cat, split
        from torch.nn.functional import scaled_dot_product_attention

        tokens = sum(lengths)
        heads = self._linear(layer.heads_in, states).view(len(states), 3, self._model.heads, -1)
        attended = [
            scaled_dot_product_attention(*text.permute(1, 2, 0, 3).unsqueeze(1)).squeeze(0).transpose(0, 1).flatten(1)
            for text in split(heads[:tokens], lengths)
        ]
        return cat([*attended, attended[0].new_zeros(len(states) - tokens, self._model.dimension)])

    def _linear(self, affine: _Affine, states: Tensor) -> Tensor:
        from torch.nn.functional import linear

        return linear(states.to(self._dtype), affine.weight, affine.bias)

    def _normalized(self, affine: _Affine, states: Tensor) -> Tensor:
        from torch.nn.functional import layer_norm

        return layer_norm(states, (self._model.dimension,), affine.weight, affine.bias, self._model.epsilon)

    def _layer(self, name: str) -> _Layer:
        return _Layer(
            heads_in=self._matrix(*(f"{name}.attention.self.{part}" for part in ("query", "key", "value"))),
            heads_out=self._matrix(f"{name}.attention.output.dense"),
            attended=self._affine(f"{name}.attention.output.LayerNorm"),
            inner_in=self._matrix(f"{name}.intermediate.dense"),
            inner_out=self._matrix(f"{name}.output.dense"),
            done=self._affine(f"{name}.output.LayerNorm"),
        )

    def _affine(self, name: str) -> _Affine:
        return _Affine(self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _matrix(self, *names: str) -> _Affine:
        """Return several linear maps of the same input as one, in the chosen precision."""
        from torch import cat

        parts = [self._affine(name) for name in names]
        return _Affine(
            cat([part.weight for part in parts]).to(self._dtype), cat([part.bias for part in parts]).to(self._dtype)
        )
