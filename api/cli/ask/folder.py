"""``candor ask "…" FOLDER``: read the files into their own collection before the question is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from api.cli.ingest import exit_code, run_ingest
from api.errors import UsageError
from vectorstore.models import NAME

if TYPE_CHECKING:
    from api.bootstrap import Candor


def ingest_paths(candor: Candor, paths: Sequence[Path], collection: str | None, *, progress: bool) -> str:
    """Ingest what is new below the paths, and return the collection.

    Without ``collection``, it is named after the first path and holds exactly the files below the paths: documents
    whose files are gone are removed. Raises UsageError if it holds documents from elsewhere, IngestError, StoreError;
    Exit after Ctrl-C.
    """
    roots = [path.expanduser().absolute() for path in paths]
    for path, root in zip(paths, roots, strict=True):
        if not root.exists():
            raise UsageError(
                f"There is no file or folder {str(path)!r}. Write the question in quotation marks, then name the files "
                "and folders to read."
            )
    name = collection or collection_name(roots[0])
    if not collection:
        _require_own(candor, name, roots)
    report = run_ingest(candor, roots, name, sync=not collection, progress=progress)
    if report.cancelled:
        raise typer.Exit(exit_code(report))
    return name


def collection_name(path: Path) -> str:
    """Return the collection name of a folder or file: its name, with ``-`` for what a collection name cannot contain.

    Raises UsageError if nothing is left of the name.
    """
    own = path.resolve().name if path.is_dir() else path.stem
    name = re.sub(r"[^A-Za-z0-9_]+", "-", own).strip("-_")[:63]
    if not NAME.fullmatch(name):
        raise UsageError(f"No collection can be named after {str(path)!r}. Name one with --collection.")
    return name


def _require_own(candor: Candor, name: str, roots: Sequence[Path]) -> None:
    """Raise UsageError if the collection holds documents that are not below the paths."""
    from ingest.ledger.records import DocumentState

    settled = (DocumentState.REMOVED, DocumentState.SKIPPED)
    known = (Path(each.path) for each in candor.ledger.snapshot(name).values() if each.state not in settled)
    if foreign := next((path for path in known if not any(path.is_relative_to(root) for root in roots)), None):
        raise UsageError(
            f"The collection {name!r} also holds documents from elsewhere, such as {str(foreign)!r}. Name another "
            f"one with --collection; or ask all of them with --collection {name}."
        )
