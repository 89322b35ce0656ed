"""all-MiniLM-L6-v2 computed in NumPy: embeds a query in milliseconds, a moment after the program has started.

PyTorch and sentence-transformers compute the same vectors, and passages by the thousand much faster, but importing them
takes about five seconds, which a search from the command line would wait for. This is BERT's encoder with mean pooling
(Devlin et al., 2019; Reimers and Gurevych, 2019), for the one model whose weights come with the program.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vectorstore.store import Vectors

SPECIAL_TOKENS = 2  # [CLS] before the text, [SEP] after it
_NUMPYS_BLAS = "libscipy_openblas"  # as NumPy's own packages bring it
_COLUMNS = 32  # of a block of a matrix
# Half of those of the formula, the highest power first.
_BEYOND = tuple(each / 2 for each in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592))


class _Affine(NamedTuple):
    """What a linear map, or a normalisation, multiplies by and adds.

    A linear map is kept in blocks of columns, one after the other: shape (blocks, rows, columns of a block). OpenBLAS
    multiplies the few rows that a query has by a matrix of that size where it lies; one as a whole it copies first,
    each time, which takes as long again: 4 ms of processor time instead of 8, for all matrices at 13 tokens.
    """

    weight: Vectors
    bias: Vectors


class _Layer(NamedTuple):
    heads_in: _Affine  # queries, keys and values at once, a block for each head
    heads_out: _Affine
    attended: _Affine
    inner_in: _Affine
    inner_out: _Affine
    done: _Affine


class _Weights(NamedTuple):
    words: Vectors
    positions: Vectors
    embedded: _Affine
    layers: tuple[_Layer, ...]


class MiniLM:
    """The encoder, from the model's folder. Holds no state between texts: safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer

        config = json.loads((folder / "config.json").read_bytes())
        self.weights = folder / "model.safetensors"
        self.window: int = json.loads((folder / "sentence_bert_config.json").read_bytes())["max_seq_length"]
        self.dimension: int = config["hidden_size"]
        self.max_tokens = self.window - SPECIAL_TOKENS
        self.heads: int = config["num_attention_heads"]
        self.layers: int = config["num_hidden_layers"]
        self.epsilon: float = config["layer_norm_eps"]
        self._head = self.dimension // self.heads  # numbers for each token
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without those that the model adds itself."""
        return [len(encoded) for encoded in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """What the model reads of each text: its tokens between the special ones, as far as the window goes."""
        encoded = [text.ids for text in self._tokenizer.encode_batch_fast(list(texts))]
        return [ids if len(ids) <= self.window else [*ids[: self.window - 1], ids[-1]] for ids in encoded]

    def embed(self, text: str) -> Vectors:
        """The vector of one text, of length 1; what goes beyond the model's window is not seen."""
        ids = self.token_ids([text])[0]
        weights = self._weights
        states = self._normalized(weights.embedded, weights.words[ids] + weights.positions[: len(ids)])
        for layer in weights.layers:
            attended = _linear(layer.heads_out, self._attention(layer.heads_in, states))
            states = self._normalized(layer.attended, attended + states)
            inner = _gelu(_linear(layer.inner_in, states))
            states = self._normalized(layer.done, _linear(layer.inner_out, inner) + states)
        mean: Vectors = states.mean(axis=0)
        return mean / np.linalg.norm(mean)

    @cached_property
    def _weights(self) -> _Weights:
        """90 MB, read when first needed: who only counts tokens, or computes passages in PyTorch, needs none of it.

        NumPy multiplies in one thread from then on: for one query a second one gains little, and where others want the
        processors, too, the threads wait for each other, spinning (on two busy cores, 170 ms of processor time a query
        instead of 18). PyTorch's threads stay as they are.
        """
        from safetensors.numpy import load_file
        from threadpoolctl import ThreadpoolController

        ThreadpoolController().select(prefix=_NUMPYS_BLAS).limit(limits=1)
        loaded = load_file(self.weights)
        kind = loaded["embeddings.token_type_embeddings.weight"][0]
        return _Weights(
            words=loaded["embeddings.word_embeddings.weight"],
            positions=loaded["embeddings.position_embeddings.weight"] + kind,
            embedded=_affine(loaded, "embeddings.LayerNorm"),
            layers=tuple(self._layer(loaded, f"encoder.layer.{number}") for number in range(self.layers)),
        )

    def _layer(self, loaded: Mapping[str, Vectors], name: str) -> _Layer:
        parts = ("query", "key", "value")
        return _Layer(
            heads_in=_matrix(loaded, *(f"{name}.attention.self.{part}" for part in parts), columns=self._head),
            heads_out=_matrix(loaded, f"{name}.attention.output.dense"),
            attended=_affine(loaded, f"{name}.attention.output.LayerNorm"),
            inner_in=_matrix(loaded, f"{name}.intermediate.dense"),
            inner_out=_matrix(loaded, f"{name}.output.dense"),
            done=_affine(loaded, f"{name}.output.LayerNorm"),
        )

    def _attention(self, heads: _Affine, states: Vectors) -> Vectors:
        """What each head makes of the states, side by side."""
        product: Vectors = states @ heads.weight + heads.bias.reshape(-1, 1, self._head)
        query, key, value = product.reshape(3, self.heads, len(states), self._head)
        weights = _softmax(query @ key.transpose(0, 2, 1) / np.float32(np.sqrt(self._head)))
        attended: Vectors = weights @ value
        return attended.transpose(1, 0, 2).reshape(states.shape)

    def _normalized(self, scaling: _Affine, states: Vectors) -> Vectors:
        width = np.float32(self.dimension)
        total: Vectors = np.add.reduce(states, axis=-1, keepdims=True)
        centred: Vectors = states - total / width
        variance: Vectors = np.vecdot(centred, centred)[:, np.newaxis] / width
        scaled: Vectors = centred / np.sqrt(variance + np.float32(self.epsilon))
        return scaled * scaling.weight + scaling.bias


def _affine(loaded: Mapping[str, Vectors], name: str) -> _Affine:
    return _Affine(loaded[f"{name}.weight"], loaded[f"{name}.bias"])


def _matrix(loaded: Mapping[str, Vectors], *names: str, columns: int = _COLUMNS) -> _Affine:
    """Several linear maps of the same states as one, in blocks."""
    parts = [_affine(loaded, name) for name in names]
    weight = np.concatenate([part.weight for part in parts])  # as PyTorch keeps it: a row for each column of ours
    blocks = weight.reshape(-1, columns, weight.shape[-1]).transpose(0, 2, 1)
    return _Affine(np.ascontiguousarray(blocks), np.concatenate([part.bias for part in parts]))


def _linear(matrix: _Affine, states: Vectors) -> Vectors:
    blocks, _, columns = matrix.weight.shape
    product = np.empty((len(states), blocks, columns), np.float32)
    np.matmul(states, matrix.weight, out=product.transpose(1, 0, 2))
    mapped: Vectors = product.reshape(len(states), -1)
    mapped += matrix.bias
    return mapped


def _softmax(scores: Vectors) -> Vectors:
    powers: Vectors = np.exp(scores - scores.max(axis=-1, keepdims=True))
    powers /= np.add.reduce(powers, axis=-1, keepdims=True)
    return powers


def _gelu(states: Vectors) -> Vectors:
    """Each value times the share of the normal distribution below it.

    The share beyond a distance from the middle is taken to 1.5e-7, from the error function in Abramowitz and Stegun,
    1964, formula 7.1.26, which NumPy lacks. Computed in place: its steps take longer to find memory than to count.
    """
    distance = np.abs(states)
    t = distance * np.float32(0.3275911 / np.sqrt(2))
    t += np.float32(1)
    np.reciprocal(t, out=t)
    beyond = t * np.float32(_BEYOND[0])
    for coefficient in _BEYOND[1:]:
        beyond += np.float32(coefficient)
        beyond *= t
    squared = np.square(states, out=t)
    squared *= np.float32(-0.5)
    beyond *= np.exp(squared, out=squared)
    beyond *= distance
    above: Vectors = np.maximum(states, np.float32(0))
    return above - beyond
