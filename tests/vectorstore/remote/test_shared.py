"""One open collection for several users in a process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.chunks import SPEC, make_chunk, make_vectors
from vectorstore.edge.store import EdgeStore
from vectorstore.errors import CollectionClosed, CollectionLocked, CollectionMismatch
from vectorstore.models import Counts
from vectorstore.remote.server import SharedStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SharedStore]:
    with SharedStore(EdgeStore(tmp_path)) as shared:
        yield shared


def test_users_share_the_collection_until_the_end_of_the_block(tmp_path: Path) -> None:
    with SharedStore(EdgeStore(tmp_path)) as store:
        store.create(SPEC).upsert([make_chunk("shared")], make_vectors(1))
        assert store.open("papers").count().chunks == 1
        with pytest.raises(CollectionLocked):
            EdgeStore(tmp_path).open("papers")
    EdgeStore(tmp_path).open("papers").close()


def test_a_second_user_needs_the_same_specification(store: SharedStore) -> None:
    store.create(SPEC)
    with pytest.raises(CollectionMismatch, match="dimension"):
        store.create(SPEC.model_copy(update={"dimension": 9}))


def test_dropping_closes_it_for_its_users(store: SharedStore) -> None:
    old = store.create(SPEC)
    store.drop("papers")
    with pytest.raises(CollectionClosed, match="it was deleted"):
        old.count()
    assert store.create(SPEC).count() == Counts(documents=0, chunks=0)


def test_one_whose_files_were_deleted_is_made_again(store: SharedStore, tmp_path: Path) -> None:
    store.create(SPEC).upsert([make_chunk("lost")], make_vectors(1))
    shutil.rmtree(tmp_path / "papers")
    assert store.create(SPEC).count().chunks == 0
