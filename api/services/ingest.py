"""Ingesting for the service: into a collection that it has open, while it is searched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import Field

from api.bootstrap import Candor
from api.errors import UsageError
from api.services.collection_pool import CollectionPool
from api.settings import Settings
from ingest.pipeline.reports import IngestReport, Progress
from vectorstore.models import FrozenModel


class IngestJobSpec(FrozenModel):
    """What is to be ingested: files and folders of this machine, or known documents; or, without either, what failed
    or was left unfinished.

    An order says all that is needed to do it later, and to do it again after a crash: what is done is not done twice.
    """

    collection: str
    paths: tuple[str, ...] = Field(default=(), description="absolute paths of files and folders")
    documents: tuple[str, ...] = Field(default=(), description="ids of documents that are in the collection")
    retry_failed: bool = Field(default=False, description="try failed files again though they have not changed")
    sync: bool = Field(default=False, description="remove documents whose files are gone from below the paths")


def ingest_for_service(
    candor: Candor,
    pool: CollectionPool,
    order: IngestJobSpec,
    progress: Callable[[Progress], None],
    cancelled: Callable[[], bool],
) -> IngestReport:
    """Do what the order says; waits for others of this service that change the same collection.

    Searches go on: of each document they see the edition before, whole, and then the new one. Once ``cancelled``, no
    further file is begun, and the report says so; done again, it goes on there. Where the collection was made with
    another embedding model, it is embedded anew first. Raises IngestError, StoreError, UsageError.
    """
    name, paths = order.collection, [Path(path) for path in order.paths]
    with pool.turn(name):
        # What cannot be done is told before a collection is made for it.
        candor.plan_ingest(
            name, paths, documents=order.documents, retry_failed=order.retry_failed, sync=order.sync
        )  # fmt: skip
        candor.change_model(name, progress, cancelled)
        if cancelled():
            return _nothing_done(name)
        with candor.open_pipeline(name, pool.take_or_make(name).stored) as pipeline:
            return pipeline.ingest(
                paths, progress,
                documents=order.documents, retry_failed=order.retry_failed, sync=order.sync, cancelled=cancelled,
            )  # fmt: skip


def check_paths(settings: Settings, paths: Sequence[str]) -> None:
    """Whether the service may read all these, wherever links on the way lead. Raises UsageError."""
    roots = [root.expanduser().resolve() for root in settings.service.ingest_roots]
    for path in map(Path, paths):
        if not path.is_absolute():
            raise UsageError(f"{str(path)!r} is not an absolute path.")
        real = path.resolve()
        if real.is_relative_to(settings.home.resolve()) or not any(real.is_relative_to(root) for root in roots):
            allowed = ", ".join(map(str, roots)) or "there are none yet"
            raise UsageError(
                f"The service may not read {str(path)!r}: service.ingest_roots names the folders that it may ingest "
                f"from ({allowed}). Upload the files, or add the folder there."
            )


def _nothing_done(collection: str) -> IngestReport:
    return IngestReport(
        collection=collection, files=0, indexed=0, unchanged=0, failed=(), failed_before=0, left_out=(), removed=(),
        chunks=0, embedded=0, tokens=0, pages=0, stage_seconds={}, seconds=0.0, slowest=(), cancelled=True,
    )  # fmt: skip
