"""``candor ask "…" FOLDER``: ingest files into their own collection before the question is asked."""

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from api.bootstrap import Candor
from api.cli.ingest import exit_code, run_ingest
from api.errors import UsageError
from ingest.ledger.records import DocumentState
from multi_agent.errors import LLMError
from multi_agent.llm.probe import require_reachable
from vectorstore.models import NAME


def ingest_paths(
    candor: Candor, paths: Sequence[Path], collection: str | None, model: str = "", *, progress: bool
) -> str:
    """Check that the ``model`` that will be asked can be reached; empty for the default model.

    Then ingest new and changed files below the paths and return the name of their collection.

    Without ``collection``, the collection is named after the first path and contains exactly the files below the paths.
    Documents whose files no longer exist are removed.

    Raises UsageError if that collection contains documents from other paths, LLMError if the model cannot be reached,
    IngestError, StoreError, and Exit after Ctrl-C.
    """
    roots = [path.expanduser().absolute() for path in paths]
    for path, root in zip(paths, roots, strict=True):
        if not root.exists():
            raise UsageError(
                f"There is no file or folder {str(path)!r}. Write the question in quotation marks, then name the files "
                "and folders to read."
            )
    name = collection or (choose_collection(candor, roots) if roots[0].is_dir() else collection_name(roots[0]))
    if not collection:
        _require_own(candor, name, roots)
    _require_model(candor, model, roots[0])
    report = run_ingest(candor, roots, name, sync=not collection, progress=progress)
    if report.cancelled:
        raise typer.Exit(exit_code(report))
    return name


def _require_model(candor: Candor, model: str, folder: Path) -> None:
    """Raise LLMError if the model cannot be reached. Reading a folder first could take minutes for nothing."""
    settings = candor.settings
    try:
        asyncio.run(require_reachable(settings.llms.get(model, settings.llm), settings.home / "endpoints"))
    except LLMError as error:
        without = f"Nothing was read. Without a model, `candor ingest {folder}` and then `candor search` work."
        raise error.with_command(" ".join(filter(None, (error.command, without)))) from None


def collection_name(path: Path) -> str:
    """Return the collection name for a folder or file. Characters that a name cannot contain become ``-``.

    Raises UsageError if no characters remain.
    """
    own = path.resolve().name if path.is_dir() else path.stem
    name = re.sub(r"[^A-Za-z0-9_]+", "-", own).strip("-_")[:63]
    if not NAME.fullmatch(name):
        raise UsageError(f"No collection can be named after {str(path)!r}. Name one with --collection.")
    return name


def choose_collection(candor: Candor, paths: Sequence[Path]) -> str:
    """Return the collection for paths if none is named; without paths, the only one.

    That of a folder has its documents and no others, also if the folder was moved, or it is named after it. Other paths
    go to ``documents``. Raises UsageError.
    """
    if not paths:
        return candor.collections.resolve(None)
    if not (root := paths[0].expanduser().absolute()).is_dir():
        return "documents"
    known = {each: _documents(candor, each) for each in candor.collections.counts()}
    own = [name for name, documents in known.items() if root in {each.parent for each in documents}
           and all(each.is_relative_to(root) for each in documents)]  # fmt: skip
    own = own or [name for name, files in known.items() if files and _are_now_below(root, files)]
    return own[0] if len(own) == 1 else collection_name(root)


def _documents(candor: Candor, name: str) -> dict[Path, int]:
    """Return the paths of the files of a collection, with their sizes in bytes."""
    settled = (DocumentState.REMOVED, DocumentState.SKIPPED)
    return {
        Path(each.path): each.size
        for each in candor.ledger.snapshot(name).values()
        if each.state not in settled and not each.container
    }


def _are_now_below(root: Path, files: Mapping[Path, int]) -> bool:
    """Return whether none of the files is where it was, and all are below the root with the same sizes."""
    if any(file.exists() for file in files):
        return False
    common = Path(os.path.commonpath([file.parent for file in files]))
    for old in (common, *common.parents):
        moved = {root / file.relative_to(old): size for file, size in files.items()}
        if all(file.is_file() and file.stat().st_size == size for file, size in moved.items()):
            return True
    return False


def _require_own(candor: Candor, name: str, roots: Sequence[Path]) -> None:
    """Raise UsageError if the collection contains documents that are not below the paths."""
    known = _documents(candor, name)
    if foreign := next((path for path in known if not any(path.is_relative_to(root) for root in roots)), None):
        raise UsageError(
            f"The collection {name!r} also contains documents from other folders, such as {str(foreign)!r}. Name "
            f"another collection with --collection, or use --collection {name} to ask about all of its documents."
        )
