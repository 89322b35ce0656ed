"""The filter of the options that select documents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from api.cli.common import Cli
from api.errors import usage_errors

if TYPE_CHECKING:
    from multi_agent.values.request import DocumentFilter


def make_filter(cli: Cli, documents: list[str] | None = None) -> DocumentFilter | None:
    """Return the filter for the options, and for names of documents. None without any. Raises UsageError."""
    from api.services.documents.selection import named_values
    from multi_agent.values.request import DocumentFilter

    with usage_errors("Invalid filter"):
        wanted = DocumentFilter(
            documents=tuple(documents or cli.documents or ()),
            folder=None if cli.folder is None else _folder(cli.folder),
            type=tuple(cli.types or ()),
            since=cli.since,
            tags=tuple(cli.tags or ()),
            where=named_values(cli.where or ()),
            latest=cli.latest,
        )
    return None if wanted.is_empty else wanted


def _folder(written: str) -> str:
    """Resolve a folder that is relative to the working directory (`.`, `../x`) or the home directory (`~/x`)."""
    from_here = written.split("/")[0] in (".", "..")
    return os.path.abspath(written) if from_here else str(Path(written).expanduser())
