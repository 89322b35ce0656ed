"""What tests of the ingest share."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.workplace import CountingEmbedder, Workplace
from vectorstore.embedding.embedder import Embedder


@pytest.fixture
def workplace(tmp_path: Path, embedder: Embedder) -> Workplace:
    """Where a test ingests."""
    return Workplace(tmp_path, embedder)


@pytest.fixture
def counting(workplace: Workplace) -> CountingEmbedder:
    """The workplace's embedder from now on."""
    workplace.embedder = CountingEmbedder(workplace.embedder)
    return workplace.embedder
