"""The options of ``candor search``, ``ask`` and ``chat`` that select documents."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.errors import usage_errors

if TYPE_CHECKING:
    from multi_agent.values.request import DocumentFilter


def _day(written: str) -> date:
    for form in ("%Y-%m-%d", "%Y-%m", "%Y"):
        with suppress(ValueError):
            return datetime.strptime(written, form).replace(tzinfo=UTC).date()
    raise typer.BadParameter(f"{written!r} is not a date. Write a day, month or year: 2024-01-31, 2024-01 or 2024.")


Documents = Annotated[
    list[str] | None,
    typer.Option(
        "--document",
        metavar="GLOB",
        help="Read only documents with this name (wildcards * and ?). Repeatable: any of the names.",
    ),
]
Folder = Annotated[
    str | None,
    typer.Option(
        "--folder",
        metavar="PATH",
        help="Read only documents in this folder, at any depth. The end of its path is sufficient.",
    ),
]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type", metavar="TYPE", help="Read only files of this type, as in `candor documents`. Repeatable: any type."
    ),
]
Since = Annotated[
    date | None,
    typer.Option(
        "--since",
        parser=_day,
        metavar="DATE",
        help="Read only documents of this day or later. The date of a document is the date or period that it states, "
        "otherwise the day (UTC) of the last file change.",
    ),
]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", metavar="TAG", help="Read only documents with this tag. Repeatable: all of the tags."),
]

Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where", metavar="NAME=VALUE", help="Read only documents with this metadata. Repeatable: all of it."
    ),
]

Latest = Annotated[
    bool,
    typer.Option("--latest", help="Of several versions of a document, read only the newest. Says which are left out."),
]


def make_filter(
    documents: list[str] | None,
    folder: str | None,
    types: list[str] | None,
    since: date | None,
    tags: list[str] | None,
    where: list[str] | None,
    latest: bool = False,
) -> DocumentFilter | None:
    """Return the filter for the options, or None without options. Raises UsageError for an invalid value."""
    from api.services.documents.selection import named_values
    from multi_agent.values.request import DocumentFilter

    with usage_errors("Invalid filter"):
        wanted = DocumentFilter(
            documents=tuple(documents or ()),
            folder=None if folder is None else _folder(folder),
            type=tuple(types or ()),
            since=since,
            tags=tuple(tags or ()),
            where=named_values(where or ()),
            latest=latest,
        )
    return None if wanted.is_empty else wanted


def _folder(written: str) -> str:
    """Resolve a folder that is relative to the working directory (`.`, `../x`) or the home directory (`~/x`)."""
    from_here = written.split("/")[0] in (".", "..")
    return os.path.abspath(written) if from_here else str(Path(written).expanduser())
