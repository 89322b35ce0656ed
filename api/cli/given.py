"""Reads what users give to a command: texts, rights, requests, files, and the options that select documents."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from api.cli.common import Cli
from api.errors import UsageError, usage_errors

if TYPE_CHECKING:
    from pydantic import BaseModel

    from multi_agent.catalog.store import EntryT
    from multi_agent.values.request import DocumentFilter

ModelT = TypeVar("ModelT", bound="BaseModel")


def require_encoding(text: str, name: str) -> None:
    """Raises UsageError if the text was typed in another encoding."""
    if text.encode(errors="ignore").decode() != text:
        raise UsageError(
            f"The {name} is not written in {sys.getfilesystemencoding()}. Set the terminal and the locale to UTF-8."
        )


def require_text(text: str, name: str) -> str:
    """Return the text. Raises UsageError if it is blank, or was typed in another encoding."""
    require_encoding(text, name)
    if not text.strip():
        raise UsageError(f"The {name} is empty. Write it in quotation marks.")
    return text


def parse_rights(given: Sequence[str]) -> dict[str, str]:
    """Parse texts such as `papers=read`. Return the right for each collection. Raises UsageError."""
    pairs = [each.partition("=") for each in given]
    if wrong := [each for each, pair in zip(given, pairs, strict=True) if not pair[2]]:
        raise UsageError(f"Invalid right {wrong[0]!r}. Write COLLECTION=RIGHT, such as papers=read.")
    return {collection: right for collection, _, right in pairs}


def show_rights(rights: Mapping[str, str]) -> str:
    """Format rights in the form that `parse_rights` accepts."""
    return ", ".join(f"{collection}={right}" for collection, right in rights.items())


def valid_request(kind: type[ModelT], **values: Any) -> ModelT:
    """Validate the values and return a request of this kind. Raises UsageError."""
    with usage_errors("Invalid input"):
        return kind.model_validate(values)


def edit_text(text: str, suffix: str) -> str:
    """Return the text that the user saved in their editor. Raises UsageError."""
    import click

    if (changed := click.edit(text, extension=suffix)) is None:
        raise UsageError("The editor was closed without saving. Nothing was changed.")
    return changed


def edit_entry(entry: EntryT, file: Path | None, kind: type[EntryT]) -> EntryT:
    """Read the changed entry from ``file`` or, if None, from the user's editor. Raises AgentError, UsageError."""
    from multi_agent.catalog.store import as_toml, read_file, read_toml

    changed = read_file(file, kind) if file else read_toml(edit_text(as_toml(entry), ".toml"), kind, "The edited text")
    if changed.name != entry.name:
        raise UsageError(f"The file describes {changed.name!r}, not {entry.name!r}. An entry cannot be renamed.")
    return changed


def read_text(file: Path) -> str:
    """Return the text of a file. Raises UsageError."""
    try:
        return file.read_text(encoding="utf-8-sig")  # without the byte order mark of Windows programs
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"Cannot read {str(file)!r}: {error}.") from error


def read_data(file: Path) -> Any:
    """Return the content of a TOML or JSON file, with dates as texts. Raises UsageError."""
    import tomllib

    is_json, text = file.suffix == ".json", read_text(file)
    try:
        return json.loads(text if is_json else json.dumps(tomllib.loads(text), default=str))
    except ValueError as error:
        raise UsageError(f"{str(file)!r} is not valid {'JSON' if is_json else 'TOML'}: {error}. Correct it.") from error


def read_template(file: Path, kind: type[ModelT]) -> ModelT:
    """Read a template from a TOML or JSON file. Raises UsageError."""
    with usage_errors(f"{str(file)!r} is not a valid template"):
        return kind.model_validate(read_data(file))


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
