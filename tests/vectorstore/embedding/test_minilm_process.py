"""Queries embedded in a process of their own: the same vectors, and no process is left behind or missed."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import pytest

from vectorstore.embedding.embedder import bundled_model, make_embedder
from vectorstore.embedding.minilm_numpy import MiniLM
from vectorstore.embedding.minilm_process import MiniLMProcess
from vectorstore.errors import EmbeddingModelError
from vectorstore.settings import EmbeddingSettings

PROGRAM = """
import psutil, sys, time
from vectorstore.embedding.embedder import make_embedder
from vectorstore.settings import EmbeddingSettings
embedder = make_embedder(EmbeddingSettings(), queries_apart=True)
embedder.embed_query("heat")
print(psutil.Process().children()[0].pid, "threadpoolctl" in sys.modules, flush=True)
time.sleep(60)
"""


class Apart(MiniLMProcess):
    """Knows its process."""

    @property
    def process(self) -> psutil.Process:
        return psutil.Process(self._process.pid)


@pytest.fixture
def apart() -> Apart:
    """With a process of its own, which ends when nothing holds it any more."""
    return Apart(bundled_model())


def test_the_vectors_are_those_of_the_model_itself(apart: Apart) -> None:
    model = MiniLM(bundled_model())
    texts = ["", "Ünïcödé 漢字", *(f"case {number} of the pump" for number in range(20))]
    with ThreadPoolExecutor(4) as threads:
        for text, vector in zip(texts, threads.map(apart.embed, texts), strict=True):
            np.testing.assert_array_equal(vector, model.embed(text))


def test_what_cannot_be_embedded_is_told_and_the_process_goes_on(apart: Apart) -> None:
    before = apart.process
    with pytest.raises(TypeError, match="TextEncodeInput"):
        apart.embed("\ud800")
    assert apart.embed("heat").shape == (384,)
    assert apart.process == before


def test_when_it_is_killed_another_one_takes_its_place(apart: Apart, caplog: pytest.LogCaptureFixture) -> None:
    expected = apart.embed("heat")
    process = apart.process
    process.kill()
    np.testing.assert_array_equal(apart.embed("heat"), expected)
    assert f"The process {process.pid}, which embeds queries, ended (SIGKILL). Another one is started." in caplog.text
    assert process != apart.process


def test_one_that_cannot_begin_is_tried_twice_and_told(tmp_path: Path) -> None:
    apart = MiniLMProcess(tmp_path)  # where there is no model
    with pytest.raises(EmbeddingModelError, match=r"ended \(exit status 1\).*second one to end"):
        apart.embed("heat")


def test_it_ends_with_the_program_that_was_killed_and_the_program_has_loaded_no_weights() -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout
        pid, loaded = program.stdout.readline().split()
        process = psutil.Process(int(pid))
        process.terminate()  # as a signal to all of a program does
        assert process.is_running()
        program.kill()
        process.wait(30)
    assert loaded == "False"


def test_passages_are_embedded_here() -> None:
    embedder = make_embedder(EmbeddingSettings(precision="float32"), queries_apart=True)
    passage, query = embedder.embed_passages(["heat"])[0], embedder.embed_query("heat")
    np.testing.assert_allclose(passage, query, atol=2e-6)
