"""all-MiniLM-L6-v2 computed in PyTorch: passages by the thousand, in half the memory and time of the usual way.

The passages of a batch are laid end to end, not padded to the longest; matrices are multiplied in bfloat16 where that
was chosen, and sums, means and norms are kept in float32. The vectors are those of sentence-transformers, whose import
alone takes as much memory as everything here, and seconds.

A batch has one of few sizes. For each size that it meets, PyTorch keeps a compiled multiplication, a megabyte or more
for every matrix: batches of any size would fill memory for as long as the ingest runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vectorstore.embedding.minilm_numpy import MiniLM
from vectorstore.store import Vectors

if TYPE_CHECKING:
    from torch import Tensor

_SMALLEST = 64  # tokens of a batch


class _Affine(NamedTuple):
    """What a linear map, or a normalisation, multiplies by and adds."""

    weight: Tensor
    bias: Tensor


class _Layer(NamedTuple):
    heads_in: _Affine  # queries, keys and values at once
    heads_out: _Affine
    attended: _Affine
    inner_in: _Affine
    inner_out: _Affine
    done: _Affine


class PackedMiniLM:
    """The encoder for many texts at once. Holds no state between texts: safe to use from several threads.

    ``batch_size`` passages of full length are computed at once, of shorter ones more. Raises RuntimeError or
    AssertionError, as PyTorch does, if there is no such device.
    """

    def __init__(self, model: MiniLM, *, device: str, bfloat16: bool, batch_size: int) -> None:
        import torch
        from safetensors.torch import load_file

        self._model = model
        self._device = torch.device(device)
        self._dtype = torch.bfloat16 if bfloat16 else torch.float32
        self._tokens_at_once = batch_size * model.window
        # On a CPU these are mapped, not read: of the words, only the rows that are looked up ever take memory.
        self._weights: dict[str, Tensor] = load_file(model.weights, device=device)
        self._layers = [self._layer(f"encoder.layer.{number}") for number in range(model.layers)]

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text, of length 1, in their order; what goes beyond the model's window is not seen."""
        import torch

        vectors = np.empty((len(texts), self._model.dimension), dtype=np.float32)
        ids = self._model.token_ids(texts)
        with torch.inference_mode():
            for batch in self._batches(ids):
                vectors[batch] = self._encode([ids[place] for place in batch]).cpu().numpy()
        return vectors

    def _batches(self, ids: Sequence[Sequence[int]]) -> list[list[int]]:
        """The places of texts that go together: the longest first, each to the first batch that has room for it."""
        batches: list[list[int]] = []
        room: list[int] = []
        for place in sorted(range(len(ids)), key=lambda place: len(ids[place]), reverse=True):
            length = len(ids[place])
            number = next((number for number, left in enumerate(room) if left >= length), len(batches))
            if number == len(batches):
                batches.append([])
                room.append(self._tokens_at_once)
            batches[number].append(place)
            room[number] -= length
        return batches

    def _size(self, tokens: int) -> int:
        """How many tokens a batch is filled up to."""
        size = self._tokens_at_once
        while size // 2 >= max(tokens, _SMALLEST):
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
        words = self._looked_up("word", [token for text in ids for token in text])
        positions = self._looked_up("position", [place for length in lengths for place in range(length)])
        kind = self._weights["embeddings.token_type_embeddings.weight"][0]
        return self._normalized(self._affine("embeddings.LayerNorm"), words + positions + kind)

    def _looked_up(self, what: str, rows: list[int]) -> Tensor:
        """Those rows of a table, filled up with others to the size of the batch."""
        import torch
        from torch.nn.functional import embedding

        filled = rows + [0] * (self._size(len(rows)) - len(rows))
        return embedding(
            torch.tensor(filled, device=self._device), self._weights[f"embeddings.{what}_embeddings.weight"]
        )

    def _attention(self, layer: _Layer, states: Tensor, lengths: list[int]) -> Tensor:
        """Each text attends to itself alone; what fills the batch up, to nothing."""
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
        """Several linear maps of the same states as one, in the precision in which it is computed."""
        from torch import cat

        parts = [self._affine(name) for name in names]
        return _Affine(
            cat([part.weight for part in parts]).to(self._dtype), cat([part.bias for part in parts]).to(self._dtype)
        )
