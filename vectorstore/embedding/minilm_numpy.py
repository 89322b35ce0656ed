"""all-MiniLM-L6-v2 in NumPy: embeds a text without importing PyTorch, a query in milliseconds.

Importing sentence-transformers takes five seconds or more, too long for a search from the command line. It embeds long
passages in half the time. The model is BERT's encoder with mean pooling (Devlin et al., 2019; Reimers and Gurevych,
2019).
"""

import json
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vectorstore.store import Vectors

SPECIAL_TOKENS = 2  # [CLS] before the text, [SEP] after it
_BLAS = "libscipy_openblas"  # in NumPy's wheels
_COLUMNS = 32  # per block of a matrix
_ERF_COEFFICIENTS = tuple(each / 2 for each in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592))
"""Half the coefficients of the formula in ``_gelu``, highest power first."""


class _Affine(NamedTuple):
    """The weight and bias of a linear map or a normalization.

    The weight of a linear map is stored in blocks of columns: shape (blocks, rows, columns per block). With AVX-512,
    OpenBLAS multiplies the few rows of a query with such a block in place, but copies a whole matrix first: 4 ms of CPU
    time instead of 8 ms for all matrices at 13 tokens. With AVX2 only, blocks take 5 to 12 % longer than a whole
    matrix.
    """

    weight: Vectors
    bias: Vectors


class _Layer(NamedTuple):
    heads_in: _Affine  # queries, keys and values
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
    """The encoder, loaded from the model's folder. Stateless between texts, so threads may share it."""

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
        self._head = self.dimension // self.heads  # dimension of one head
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._load_lock = threading.Lock()  # since Python 3.12, threads may compute a cached property at the same time

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, without special tokens."""
        return [len(encoded) for encoded in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text with special tokens, truncated to the window."""
        encoded = [text.ids for text in self._tokenizer.encode_batch_fast(list(texts))]
        return [ids if len(ids) <= self.window else [*ids[: self.window - 1], ids[-1]] for ids in encoded]

    def embed(self, text: str) -> Vectors:
        """Return the vector of one text, of length 1. The text is truncated to the window."""
        return self._encode(self.token_ids([text])[0])[0]

    def attend(self, text: str) -> tuple[Vectors, Vectors | None]:
        """Return the vector, and each character's share of the attention: shape (len(text),). None if truncated.

        A token's share is what all tokens and heads of the last layer attend to it, on average. In 160 questions of
        four public sets, it ranks words like the change of the vector when the word is left out (Spearman's ρ .88).
        """
        encoded = self._tokenizer.encode(text)
        if len(encoded.ids) > self.window:
            return self.embed(text), None
        vector, attention = self._encode(encoded.ids)
        shares = np.zeros(len(text), np.float32)
        for (start, end), share in zip(encoded.offsets, attention.mean(axis=(0, 1)), strict=True):
            shares[start:end] += share / max(end - start, 1)
        return vector, shares

    def _encode(self, ids: Sequence[int]) -> tuple[Vectors, Vectors]:
        """Return the vector, and the attention of the last layer: shape (heads, tokens, tokens)."""
        with self._load_lock:
            weights = self._weights
        states = self._normalized(weights.embedded, weights.words[ids] + weights.positions[: len(ids)])
        for layer in weights.layers:
            heads, attention = self._attention(layer.heads_in, states)
            attended = _linear(layer.heads_out, heads)
            states = self._normalized(layer.attended, attended + states)
            inner = _gelu(_linear(layer.inner_in, states))
            states = self._normalized(layer.done, _linear(layer.inner_out, inner) + states)
        mean: Vectors = states.mean(axis=0)
        return mean / np.linalg.norm(mean), attention

    @cached_property
    def _weights(self) -> _Weights:
        """The weights (90 MB), loaded with the first query.

        From then on NumPy multiplies in one thread. More threads gain little for one query, and on busy cores they
        spin while waiting for each other; see docs/concurrency.md. PyTorch's threads are not affected.
        """
        from safetensors.numpy import load_file
        from threadpoolctl import ThreadpoolController

        ThreadpoolController().select(prefix=_BLAS).limit(limits=1)
        loaded = load_file(self.weights)
        kind = loaded["embeddings.token_type_embeddings.weight"][0]
        return _Weights(
            words=loaded["embeddings.word_embeddings.weight"],
            positions=loaded["embeddings.position_embeddings.weight"] + kind,
            embedded=_affine(loaded, "embeddings.LayerNorm"),
            layers=tuple(_layer(loaded, f"encoder.layer.{number}") for number in range(self.layers)),
        )

    def _attention(self, heads: _Affine, states: Vectors) -> tuple[Vectors, Vectors]:
        """Return what all heads read, concatenated, and how much of each token: shape (heads, tokens, tokens)."""
        product = _linear(heads, states).reshape(len(states), 3, self.heads, self._head)
        query, key, value = product.transpose(1, 2, 0, 3)
        weights = _softmax(query @ key.transpose(0, 2, 1) / np.float32(np.sqrt(self._head)))
        attended: Vectors = weights @ value
        return attended.transpose(1, 0, 2).reshape(states.shape), weights

    def _normalized(self, scaling: _Affine, states: Vectors) -> Vectors:
        width = np.float32(self.dimension)
        total: Vectors = np.add.reduce(states, axis=-1, keepdims=True)
        centred: Vectors = states - total / width
        variance: Vectors = np.vecdot(centred, centred)[:, np.newaxis] / width
        scaled: Vectors = centred / np.sqrt(variance + np.float32(self.epsilon))
        return scaled * scaling.weight + scaling.bias


def _layer(loaded: Mapping[str, Vectors], name: str) -> _Layer:
    parts = ("query", "key", "value")
    return _Layer(
        heads_in=_matrix(loaded, *(f"{name}.attention.self.{part}" for part in parts)),
        heads_out=_matrix(loaded, f"{name}.attention.output.dense"),
        attended=_affine(loaded, f"{name}.attention.output.LayerNorm"),
        inner_in=_matrix(loaded, f"{name}.intermediate.dense"),
        inner_out=_matrix(loaded, f"{name}.output.dense"),
        done=_affine(loaded, f"{name}.output.LayerNorm"),
    )


def _affine(loaded: Mapping[str, Vectors], name: str) -> _Affine:
    return _Affine(loaded[f"{name}.weight"], loaded[f"{name}.bias"])


def _matrix(loaded: Mapping[str, Vectors], *names: str) -> _Affine:
    """Return several linear maps of the same input as one, in blocks."""
    parts = [_affine(loaded, name) for name in names]
    weight = np.concatenate([part.weight for part in parts])  # transposed, as PyTorch stores it
    blocks = weight.reshape(-1, _COLUMNS, weight.shape[-1]).transpose(0, 2, 1)
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
    """Return each value multiplied by the cumulative normal distribution at that value.

    NumPy has no error function. This is formula 7.1.26 of Abramowitz and Stegun, 1964, with an error below 1.5e-7. It
    is computed in place because allocating memory takes longer than the arithmetic.
    """
    distance = np.abs(states)
    t = distance * np.float32(0.3275911 / np.sqrt(2))
    t += np.float32(1)
    np.reciprocal(t, out=t)
    beyond = t * np.float32(_ERF_COEFFICIENTS[0])
    for coefficient in _ERF_COEFFICIENTS[1:]:
        beyond += np.float32(coefficient)
        beyond *= t
    squared = np.square(states, out=t)
    squared *= np.float32(-0.5)
    beyond *= np.exp(squared, out=squared)
    beyond *= distance
    above: Vectors = np.maximum(states, np.float32(0))
    return above - beyond
