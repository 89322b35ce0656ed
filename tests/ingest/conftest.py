"""Fixtures of the ingest tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.workplace import CountingEmbedder, Workplace
from vectorstore.embedding.embedder import Embedder


@pytest.fixture
def workplace(tmp_path: Path, embedder: Embedder) -> Workplace:
    """A folder, a ledger and a store for the ingests of one test."""
    return Workplace(tmp_path, embedder)


@pytest.fixture
def counting(workplace: Workplace) -> CountingEmbedder:
    """Replace the embedder of the workplace with one that counts."""
    workplace.embedder = CountingEmbedder(workplace.embedder)
    return workplace.embedder
