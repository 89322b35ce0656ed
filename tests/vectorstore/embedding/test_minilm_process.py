"""Query embedding in a separate process: same vectors, restarts, and no process left behind."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import pytest

from support.waiting import LIMIT_S
from vectorstore.embedding.embedder import make_embedder
from vectorstore.embedding.minilm_numpy import MiniLM
from vectorstore.embedding.minilm_process import MiniLMProcess
from vectorstore.embedding.model_folder import bundled_model
from vectorstore.errors import EmbeddingModelError
from vectorstore.settings import EmbeddingSettings

PROGRAM = """
import psutil, sys, time
from vectorstore.embedding.embedder import make_embedder
from vectorstore.settings import EmbeddingSettings
embedder = make_embedder(EmbeddingSettings(), separate_query_process=True)
embedder.embed_query("heat")
print(psutil.Process().children()[0].pid, "threadpoolctl" in sys.modules, flush=True)
time.sleep(600)
"""


class InspectedProcess(MiniLMProcess):
    """Gives access to its process."""

    @property
    def process(self) -> psutil.Process:
        return psutil.Process(self._process.pid)


@pytest.fixture
def remote() -> InspectedProcess:
    return InspectedProcess(bundled_model())


def test_vectors_equal_those_computed_in_process(remote: InspectedProcess) -> None:
    model = MiniLM(bundled_model())
    texts = ["", "Ünïcödé 漢字", *(f"case {number} of the pump" for number in range(20))]
    with ThreadPoolExecutor(4) as threads:
        for text, vector in zip(texts, threads.map(remote.embed, texts), strict=True):
            np.testing.assert_array_equal(vector, model.embed(text))


def test_invalid_text_raises_and_keeps_the_process(remote: InspectedProcess) -> None:
    before = remote.process
    with pytest.raises(TypeError, match="TextEncodeInput"):
        remote.embed("\ud800")
    assert remote.embed("heat").shape == (384,)
    assert remote.process == before


def test_a_killed_process_is_replaced(remote: InspectedProcess, caplog: pytest.LogCaptureFixture) -> None:
    expected = remote.embed("heat")
    process = remote.process
    process.kill()
    np.testing.assert_array_equal(remote.embed("heat"), expected)
    assert f"The process {process.pid}, which embeds queries, ended (SIGKILL). Starting another one." in caplog.text
    assert process != remote.process


def test_a_missing_model_fails_after_two_attempts(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingModelError, match=r"ended \(exit status 1\).*second process to end"):
        MiniLMProcess(tmp_path).embed("heat")


def test_it_ends_with_a_killed_program() -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout
        pid, loaded_weights = program.stdout.readline().split()
        process = psutil.Process(int(pid))
        process.terminate()  # as a signal to the whole program does
        assert process.is_running()
        program.kill()
        process.wait(LIMIT_S)
    assert loaded_weights == "False", "only the child loads the weights"


def test_passages_are_embedded_in_process() -> None:
    embedder = make_embedder(EmbeddingSettings(precision="float32"), separate_query_process=True)
    passage, query = embedder.embed_passages(["heat"])[0], embedder.embed_query("heat")
    np.testing.assert_allclose(passage, query, atol=2e-6)
