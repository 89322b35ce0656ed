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

import numpy as np

from vectorstore.store import Vectors

SPECIAL_TOKENS = 2  # [CLS] before the text, [SEP] after it
_BLAS = "libscipy_openblas"  # in NumPy's wheels
_COLUMNS = 32  # per block of a matrix
_EMBEDDED = ("word", "position", "token_type")
_ERF_COEFFICIENTS = tuple(each / 2 for each in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592))
"""Half the coefficients of the formula in ``_gelu``, highest power first."""


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

    def unload(self) -> None:
        """Free the weights (90 MB). The next text loads them again."""
        self.__dict__.pop("_weights", None)

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
            words, positions, kinds = (self._weights[f"embeddings.{name}_embeddings.weight"] for name in _EMBEDDED)
        states = self._normalized("embeddings.LayerNorm", words[ids] + positions[: len(ids)] + kinds[0])
        for number in range(self.layers):
            layer = f"encoder.layer.{number}"
            heads, attention = self._attention(f"{layer}.attention.self", states)
            attended = self._linear(f"{layer}.attention.output.dense", heads)
            states = self._normalized(f"{layer}.attention.output.LayerNorm", attended + states)
            inner = _gelu(self._linear(f"{layer}.intermediate.dense", states))
            states = self._normalized(
                f"{layer}.output.LayerNorm", self._linear(f"{layer}.output.dense", inner) + states
            )
        mean: Vectors = states.mean(axis=0)
        return mean / np.linalg.norm(mean), attention

    @cached_property
    def _weights(self) -> Mapping[str, Vectors]:
        """The weights (90 MB), loaded with the first query.

        From then on NumPy multiplies in one thread. More threads gain little for one query, and on busy cores they
        spin while waiting for each other; see docs/concurrency.md. PyTorch's threads are not affected.
        """
        from safetensors.numpy import load_file
        from threadpoolctl import ThreadpoolController

        ThreadpoolController().select(prefix=_BLAS).limit(limits=1)
        loaded: dict[str, Vectors] = load_file(self.weights)
        linear = [name for name, each in loaded.items() if name.startswith("encoder") and each.ndim == 2]
        return loaded | {name: _in_blocks(loaded[name]) for name in linear}

    def _attention(self, name: str, states: Vectors) -> tuple[Vectors, Vectors]:
        """Return what all heads read, concatenated, and how much of each token: shape (heads, tokens, tokens)."""
        query, key, value = (
            self._linear(f"{name}.{part}", states).reshape(len(states), self.heads, self._head).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        weights = _softmax(query @ key.transpose(0, 2, 1) / np.float32(np.sqrt(self._head)))
        attended: Vectors = weights @ value
        return attended.transpose(1, 0, 2).reshape(states.shape), weights

    def _linear(self, name: str, states: Vectors) -> Vectors:
        weight = self._weights[f"{name}.weight"]
        blocks, _, columns = weight.shape
        product = np.empty((len(states), blocks, columns), np.float32)
        np.matmul(states, weight, out=product.transpose(1, 0, 2))
        mapped: Vectors = product.reshape(len(states), -1)
        mapped += self._weights[f"{name}.bias"]
        return mapped

    def _normalized(self, name: str, states: Vectors) -> Vectors:
        width = np.float32(self.dimension)
        total: Vectors = np.add.reduce(states, axis=-1, keepdims=True)
        centred: Vectors = states - total / width
        variance: Vectors = np.vecdot(centred, centred)[:, np.newaxis] / width
        scaled: Vectors = centred / np.sqrt(variance + np.float32(self.epsilon))
        return scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]


def _in_blocks(weight: Vectors) -> Vectors:
    """Return the weight of a linear map in blocks of columns: shape (blocks, rows, columns per block).

    With AVX-512, OpenBLAS multiplies the few rows of a query with such a block in place, but copies a whole matrix
    first: 4 ms of CPU time instead of 8 ms for all matrices at 13 tokens. With AVX2 only, blocks take 5 to 12 % longer.
    """
    transposed = weight.reshape(-1, _COLUMNS, weight.shape[-1]).transpose(0, 2, 1)  # PyTorch stores it transposed
    return np.ascontiguousarray(transposed)


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
