"""OpenVINO computes the model that sentence-transformers loads: the same vectors, or a clear error."""

from __future__ import annotations

import importlib.util
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from support.chunks import SPEC, make_chunk
from support.models import write_model
from vectorstore.edge.store import EdgeStore
from vectorstore.embedding.bundled import BundledEmbedder
from vectorstore.embedding.sentence_transformers import SentenceTransformerEmbedder
from vectorstore.errors import EmbeddingModelError
from vectorstore.models import SearchMode
from vectorstore.settings import EmbeddingSettings
from vectorstore.store import Query

pytest.importorskip("openvino")
from vectorstore.embedding import openvino

TEXTS = ["A heat pump warms a house.", "Cats drink milk.", "long " * 300, "Ein Satz auf Deutsch.", "", "x " * 70]


def load(backend: str = "openvino", **settings: Any) -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder(EmbeddingSettings.model_validate({"backend": backend, **settings}))


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of converted models."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(openvino, "CACHE", folder)
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a small model, which is loaded quickly."""
    return str(write_model(tmp_path_factory.mktemp("tiny")))


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """A conversion that fails."""

    def refused(*_: object, **__: object) -> Any:
        raise RuntimeError("Operation aten::unheard_of is not supported.\nMore lines.")

    monkeypatch.setattr("openvino.convert_model", refused)


@pytest.mark.parametrize("precision", ["float32", "auto"])
def test_vectors_are_those_of_pytorch_in_float32(precision: str) -> None:
    exact = load("torch", precision="float32")
    fast = load(precision=precision)
    assert isinstance(fast._model[0].model, openvino.OpenVINOModel)
    same = np.sum(fast.embed_passages(TEXTS) * exact.embed_passages(TEXTS), axis=1)
    assert same.min() >= 0.9999
    assert fast.embed_query(TEXTS[0]) @ exact.embed_query(TEXTS[0]) >= 0.9999
    assert fast.count_tokens(TEXTS) == exact.count_tokens(TEXTS)
    assert (fast.dimension, fast.max_tokens) == (exact.dimension, exact.max_tokens)


def test_a_collection_of_one_backend_is_used_with_the_other(tmp_path: Path) -> None:
    pytorch, fast = load("torch"), load()
    first, second = make_chunk("A heat pump warms a house."), make_chunk("Cats drink milk.", index=1)
    spec = SPEC.model_copy(update={"embedding_model": pytorch.model, "dimension": pytorch.dimension})
    with EdgeStore(tmp_path / "store").create(spec) as collection:
        collection.upsert([first], pytorch.embed_passages([first.text]))
        collection.upsert([second], fast.embed_passages([second.text]))
        for embedder in (pytorch, fast):
            for question, expected in (("How is a home heated?", first), ("What do pets like to drink?", second)):
                vector = embedder.embed_query(question)
                hits = collection.search(SearchMode.MEANING, Query(question, vector), limit=2)
                assert hits[0].chunk.id == expected.id


def test_a_model_is_converted_once(monkeypatch: pytest.MonkeyPatch, cache: Path, tiny: str) -> None:
    converted = load(model=tiny)
    [kept] = cache.iterdir()
    monkeypatch.setattr("openvino.convert_model", None)
    np.testing.assert_array_equal(load(model=tiny).embed_passages(TEXTS), converted.embed_passages(TEXTS))
    assert list(cache.iterdir()) == [kept]


def test_other_weights_are_converted_again(cache: Path, tiny: str, tmp_path: Path) -> None:
    other = str(write_model(tmp_path / "other", seed=1))
    assert not np.allclose(load(model=tiny).embed_query("heat"), load(model=other).embed_query("heat"))
    assert len(list(cache.iterdir())) == 2


def test_conversions_by_other_versions_are_deleted(cache: Path, tiny: str) -> None:
    load(model=tiny)
    [kept] = cache.iterdir()
    kept.rename(cache / f"{kept.name.split('-')[0]}-2020.1-1.0")
    load(model=tiny)
    assert list(cache.iterdir()) == [kept]


def test_a_damaged_conversion_is_replaced(cache: Path, tiny: str, caplog: pytest.LogCaptureFixture) -> None:
    expected = load(model=tiny).embed_passages(TEXTS)
    [kept] = cache.iterdir()
    (kept / "model.xml").write_text("<net")
    np.testing.assert_array_equal(load(model=tiny).embed_passages(TEXTS), expected)
    assert "cannot be read. It is converted again." in caplog.text
    caplog.clear()
    load(model=tiny)
    assert not caplog.text


def test_without_a_cache_folder_the_model_is_converted_at_each_start(
    cache: Path, tiny: str, caplog: pytest.LogCaptureFixture
) -> None:
    cache.write_text("a file, not a folder")
    assert load(model=tiny).embed_query("heat").shape == (32,)
    assert "so the next start converts it again" in caplog.text


@pytest.mark.usefixtures("refuse")
def test_a_model_that_cannot_be_converted_raises(tiny: str) -> None:
    with pytest.raises(EmbeddingModelError, match=r'aten::unheard_of is not supported.*`backend = "torch"`'):
        load(model=tiny)


@pytest.mark.usefixtures("refuse")
def test_auto_uses_pytorch_for_a_model_that_cannot_be_converted(tiny: str, caplog: pytest.LogCaptureFixture) -> None:
    expected = load("torch", model=tiny).embed_passages(TEXTS)
    np.testing.assert_array_equal(load("auto", model=tiny).embed_passages(TEXTS), expected)
    [warning] = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert "PyTorch computes the embedding model" in warning.message
    assert "aten::unheard_of" in warning.message


def test_a_conversion_with_other_vectors_raises(monkeypatch: pytest.MonkeyPatch, tiny: str) -> None:
    right = openvino.OpenVINOModel.forward

    def wrong(self: openvino.OpenVINOModel, **features: Any) -> Any:
        output = right(self, **features)
        output.last_hidden_state = output.last_hidden_state.flip(-1)
        return output

    monkeypatch.setattr(openvino.OpenVINOModel, "forward", wrong)
    with pytest.raises(EmbeddingModelError, match=r"other vectors than PyTorch \(cosine .*delete the folder"):
        load(model=tiny)


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch, tiny: str) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "openvino" else find(name))
    with pytest.raises(EmbeddingModelError, match=r"pip install 'openvino>="):
        load(model=tiny)
    assert not isinstance(load("auto", model=tiny)._model[0].model, openvino.OpenVINOModel)


def test_auto_uses_openvino_on_x86_only(monkeypatch: pytest.MonkeyPatch, tiny: str) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    assert isinstance(load("auto", model=tiny)._model[0].model, openvino.OpenVINOModel)
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    assert not isinstance(load("auto", model=tiny)._model[0].model, openvino.OpenVINOModel)


def test_passages_of_the_bundled_model_use_it() -> None:
    exact = load("torch", precision="float32").embed_passages(TEXTS)
    bundled = BundledEmbedder(EmbeddingSettings(backend="openvino", precision="float32"))
    np.testing.assert_allclose(bundled.embed_passages(TEXTS), exact, atol=1e-5)


def test_another_device_is_rejected() -> None:
    with pytest.raises(ValidationError, match="computes on the CPU only"):
        EmbeddingSettings(backend="openvino", device="cuda")


def test_no_usage_data_are_sent(tiny: str, tmp_path: Path) -> None:
    program = (
        "import sys; sys.addaudithook(lambda event, args: print(event, args[:2], flush=True)"
        " if event in ('socket.getaddrinfo', 'os.fork') else None);"
        "from vectorstore.embedding.sentence_transformers import SentenceTransformerEmbedder;"
        "from vectorstore.settings import EmbeddingSettings;"
        f"SentenceTransformerEmbedder(EmbeddingSettings(model={tiny!r}, backend='openvino'));"
        "import openvino; print('loaded', 'openvino_telemetry' in sys.modules and sys.modules['openvino_telemetry'])"
    )
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "CI": "false"}
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert "google" not in ended.stdout
    assert ended.stdout.splitlines()[-1] == "loaded None"
