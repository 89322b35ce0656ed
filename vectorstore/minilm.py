"""all-MiniLM-L6-v2 computed in NumPy: embeds a query in milliseconds, a moment after the program has started.

PyTorch and sentence-transformers compute the same vectors, and passages by the thousand much faster, but importing them
takes about five seconds, which a search from the command line would wait for. This is BERT's encoder with mean pooling
(Devlin et al., 2019; Reimers and Gurevych, 2019), for the one model whose weights come with the program.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from vectorstore.store import Vectors

SPECIAL_TOKENS = 2  # [CLS] before the text, [SEP] after it
_NUMPYS_BLAS = "libscipy_openblas"  # as NumPy's own packages bring it


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
        states = self._embeddings(ids)
        for layer in range(self.layers):
            states = self._layer(f"encoder.layer.{layer}", states)
        mean: Vectors = states.mean(axis=0)
        return mean / np.linalg.norm(mean)

    @cached_property
    def _weights(self) -> dict[str, Vectors]:
        """90 MB, read when first needed: who only counts tokens, or computes passages in PyTorch, needs none of it.

        The matrices lie in memory as they are multiplied, which takes two thirds of the time that their transposed
        views take. NumPy multiplies in one thread from then on: for one query a second one gains little, and where
        others want the processors, too, the threads wait for each other, spinning (on two busy cores, 170 ms of
        processor time a query instead of 18). PyTorch's threads stay as they are.
        """
        from safetensors.numpy import load_file
        from threadpoolctl import ThreadpoolController

        ThreadpoolController().select(prefix=_NUMPYS_BLAS).limit(limits=1)
        loaded = load_file(self.weights)
        return {
            name: np.ascontiguousarray(weight.T) if _is_linear(name, weight) else weight
            for name, weight in loaded.items()
        }

    def _embeddings(self, ids: Sequence[int]) -> Vectors:
        words = self._weights["embeddings.word_embeddings.weight"][ids]
        positions = self._weights["embeddings.position_embeddings.weight"][: len(ids)]
        kind = self._weights["embeddings.token_type_embeddings.weight"][0]
        return self._normalized("embeddings.LayerNorm", words + positions + kind)

    def _layer(self, name: str, states: Vectors) -> Vectors:
        attended = self._linear(f"{name}.attention.output.dense", self._attention(f"{name}.attention.self", states))
        states = self._normalized(f"{name}.attention.output.LayerNorm", attended + states)
        inner = _gelu(self._linear(f"{name}.intermediate.dense", states))
        return self._normalized(f"{name}.output.LayerNorm", self._linear(f"{name}.output.dense", inner) + states)

    def _attention(self, name: str, states: Vectors) -> Vectors:
        query, key, value = (
            self._per_head(self._linear(f"{name}.{part}", states)) for part in ("query", "key", "value")
        )
        weights = _softmax(query @ key.transpose(0, 2, 1) / np.float32(np.sqrt(query.shape[-1])))
        return (weights @ value).transpose(1, 0, 2).reshape(states.shape)

    def _per_head(self, states: Vectors) -> Vectors:
        return states.reshape(len(states), self.heads, -1).transpose(1, 0, 2)

    def _linear(self, name: str, states: Vectors) -> Vectors:
        product: Vectors = states @ self._weights[f"{name}.weight"]
        return product + self._weights[f"{name}.bias"]

    def _normalized(self, name: str, states: Vectors) -> Vectors:
        centred: Vectors = states - states.mean(axis=-1, keepdims=True)
        variance: Vectors = np.square(centred).mean(axis=-1, keepdims=True)
        scaled: Vectors = centred / np.sqrt(variance + np.float32(self.epsilon))
        return scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]


def _is_linear(name: str, weight: Vectors) -> bool:
    return name.startswith("encoder.") and weight.ndim == 2


def _softmax(scores: Vectors) -> Vectors:
    powers: Vectors = np.exp(scores - scores.max(axis=-1, keepdims=True))
    total: Vectors = powers.sum(axis=-1, keepdims=True)
    return powers / total


def _gelu(states: Vectors) -> Vectors:
    half, root = np.float32(0.5), np.float32(np.sqrt(2))
    below: Vectors = half + half * _erf(states / root)  # the share of the normal distribution below each value
    return states * below


def _erf(values: Vectors) -> Vectors:
    """The error function to 1.5e-7, which NumPy lacks: Abramowitz and Stegun, 1964, formula 7.1.26."""
    one = np.float32(1)
    t: Vectors = one / (one + np.float32(0.3275911) * np.abs(values))
    polynomial: Vectors = np.zeros_like(values)
    for coefficient in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        polynomial = (polynomial + np.float32(coefficient)) * t
    beyond: Vectors = polynomial * np.exp(-np.square(values))
    signed: Vectors = np.copysign(one - beyond, values)
    return signed
