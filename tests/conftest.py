"""Shared fixtures: the real embedding model, loaded once, and Candor on an empty home folder."""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import certifi
import psutil
import pytest
from hypothesis import HealthCheck, settings

from api.bootstrap import Candor
from api.settings import Settings
from api.storage import upgrade
from multi_agent.llm.settings import EndpointSettings
from support.forking import fork_children
from support.postgres import PostgresServer, find_binaries, restartable_server
from support.replies import Protocol, Responder
from support.schema import copy_schema
from support.scripted_endpoint import ScriptedEndpoint
from vectorstore.embedding.bundled import BundledEmbedder
from vectorstore.embedding.embedder import Embedder
from vectorstore.settings import EmbeddingSettings

# No limit of time per example, and none for generating them: the machine may be slow or busy.
settings.register_profile("patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# PyTorch's threads spin while they wait for each other. On a machine with more busy processes than cores, that takes
# two to four times the CPU time of the computation. Read when PyTorch is imported, also by child processes.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# httpx loads all certificate authorities for each client, which takes 24 ms. No test needs more than one of them.
_END = "-----END CERTIFICATE-----\n"
_ONE_AUTHORITY = Path(tempfile.mkdtemp(prefix="candor-tests-")) / "authority.pem"
atexit.register(shutil.rmtree, _ONE_AUTHORITY.parent, ignore_errors=True)
_ONE_AUTHORITY.write_text(certifi.contents().partition(_END)[0] + _END)
os.environ["SSL_CERT_FILE"] = str(_ONE_AUTHORITY)

# Each ingest of a few small files would start a second process, which takes 0.25 s of CPU time.
os.environ["CANDOR_INGEST__PARSE_WORKERS"] = "1"

# A shell without job control starts background commands with SIGINT ignored, which child processes inherit. Tests of
# Ctrl-C need the handler of Python.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


_GROWTH = 100 << 20
_collected_at = 0

upgrade._run_migrations = copy_schema
fork_children()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Reject tests with the same id, because pytest-xdist runs only one of them."""
    repeated = [name for name, count in Counter(item.nodeid for item in items).items() if count > 1]
    if repeated:
        raise pytest.UsageError(f"Several tests have the same id: {', '.join(repeated)}.")


@pytest.fixture(autouse=True)
def _no_network_and_no_user_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep tests from the model hub and from the user's settings and data folder."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="module", autouse=True)
def _free_memory() -> Iterator[None]:
    """Collect garbage once a process has grown by 100 MB. Python itself would wait until it has grown by a quarter."""
    yield
    global _collected_at
    if psutil.Process().memory_info().rss > _collected_at + _GROWTH:
        gc.unfreeze()  # the service hides all objects from the collector
        gc.collect()
        if sys.platform == "linux":
            ctypes.CDLL(None).malloc_trim(0)
        _collected_at = psutil.Process().memory_info().rss


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    """The default model, computed by NumPy for every passage: PyTorch takes 600 MB, and 10 s of CPU time to import."""
    loaded = BundledEmbedder(EmbeddingSettings(precision="float32"))
    loaded._left_to_numpy = sys.maxsize
    return loaded


@pytest.fixture
def make_candor(tmp_path: Path, embedder: Embedder) -> Callable[..., Candor]:
    """Return a function that makes Candor on an empty home folder, with these settings and the loaded model."""

    def make(**settings: Any) -> Candor:
        candor = Candor(Settings(home=tmp_path / "home", **settings))
        candor.embedder = embedder
        return candor

    return make


@pytest.fixture
def serve() -> Iterator[Callable[..., EndpointSettings]]:
    """Return a function that starts a scripted endpoint and returns its settings. Endpoints stop after the test."""
    running: list[ScriptedEndpoint] = []

    def start(
        responder: Responder, protocol: Protocol = "openai", *, sees: bool = False, **settings: Any
    ) -> EndpointSettings:
        endpoint = ScriptedEndpoint(responder, sees=sees)
        running.append(endpoint.__enter__())
        return endpoint.settings(protocol, **settings)

    yield start
    for endpoint in running:
        endpoint.__exit__(None, None, None)


@pytest.fixture(scope="module")
def postgres_server() -> Iterator[PostgresServer]:
    """A real Postgres server that a test may restart, shared by the tests of a module."""
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("Postgres is not installed (on Debian: apt-get install postgresql).")
    with restartable_server(binaries) as server:
        yield server


@pytest.fixture(scope="module")
def postgres(postgres_server: PostgresServer) -> str:
    """The URL of a real Postgres server, shared by the tests of a module."""
    return postgres_server.url
