"""One open collection for several users in a process."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.chunks import SPEC, make_chunk, make_vectors
from vectorstore.edge import EdgeStore
from vectorstore.errors import CollectionClosed, CollectionLocked, CollectionMismatch
from vectorstore.models import Counts
from vectorstore.shared import SharedStore


@pytest.fixture
def store(tmp_path: Path) -> SharedStore:
    return SharedStore(EdgeStore(tmp_path))


def test_users_share_the_collection_until_the_last_one_closes_it(store: SharedStore, tmp_path: Path) -> None:
    one, other = store.create(SPEC), store.open("papers")
    one.upsert([make_chunk("shared")], make_vectors(1))
    one.close()
    one.close()  # counts once
    assert (one.closed, other.closed) == (True, False)
    assert other.count().chunks == 1
    with pytest.raises(CollectionClosed, match="'papers' is closed"):
        one.count()
    with pytest.raises(CollectionLocked):
        EdgeStore(tmp_path).open("papers")
    other.close()
    EdgeStore(tmp_path).open("papers").close()


def test_a_second_user_needs_the_same_specification(store: SharedStore) -> None:
    with store.create(SPEC), pytest.raises(CollectionMismatch, match="dimension"):
        store.create(SPEC.model_copy(update={"dimension": 9}))


def test_dropping_closes_it_for_its_users(store: SharedStore) -> None:
    old = store.create(SPEC)
    store.drop("papers")
    assert old.closed
    with pytest.raises(CollectionClosed, match="it was deleted"):
        old.count()
    with store.create(SPEC) as new:
        old.close()  # does not close the new one
        assert new.count() == Counts(documents=0, chunks=0)
