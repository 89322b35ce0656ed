"""Stores custom agents, skills and options in SQL, and reads agents and skills from files.

    store = CatalogStore(engine, home)
    store.save(CustomAgent(name="Lawyer", …))
    store.agents["Lawyer"].value

The files are ``agents/*.toml`` and ``skills/*.toml`` in the home folder. They are read on every access and never
written. Built-in agents are left to ``catalog.py``.
"""

import json
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Generic, TypeVar

import sqlalchemy as sql
from pydantic import BaseModel, ValidationError

from base.database import METADATA, SqlStore
from base.models import FrozenModel, describe_faults
from multi_agent.catalog.entries import AgentOptions, CustomAgent, Entry, Skill
from multi_agent.errors import AgentError, KeptInFile, NameTaken, NotKept

EntryT = TypeVar("EntryT", bound=Entry)
ValueT = TypeVar("ValueT", bound=FrozenModel)

_entries = sql.Table(
    "roster",
    METADATA,
    sql.Column("kind", sql.String(10), primary_key=True),
    sql.Column("name", sql.String(64), primary_key=True),
    sql.Column("value", sql.JSON, nullable=False),
    sql.Column("changed_at", sql.DateTime(timezone=True), nullable=False),
)
_KINDS: dict[type[BaseModel], str] = {CustomAgent: "agent", Skill: "skill", AgentOptions: "choice"}


@dataclass(frozen=True)
class Stored(Generic[EntryT]):
    """An entry and the file that holds it; ``file`` is None for an entry in SQL."""

    value: EntryT
    file: Path | None = None


class CatalogStore(SqlStore):
    """Custom agents, skills and options in a database and a home folder. Thread-safe."""

    def __init__(self, engine: sql.Engine, home: Path) -> None:
        super().__init__(engine)
        self._home = home

    @property
    def agents(self) -> dict[str, Stored[CustomAgent]]:
        """Custom agents by name. Raises AgentError for an invalid file or a name used twice."""
        return self._all(CustomAgent)

    @property
    def skills(self) -> dict[str, Stored[Skill]]:
        """Skills by name. Raises AgentError as ``agents``."""
        return self._all(Skill)

    @property
    def options(self) -> dict[str, AgentOptions]:
        """Options of agents from packages, by name of the agent."""
        return self._rows(AgentOptions)

    def save(self, entry: Entry, *, new: bool = False) -> None:
        """Add or replace an entry. Raises KeptInFile, and NameTaken if it must be ``new`` and exists."""
        known = self._all(type(entry)).get(entry.name)
        _require_not_in_file(known)
        if known and new:
            what = f"a{'n' if isinstance(entry, CustomAgent) else ''} {_kind(entry)}"
            raise NameTaken(f"There is already {what} {entry.name!r}; edit it, or choose another name.")
        self._write(entry.name, entry)

    def save_options(self, name: str, options: AgentOptions) -> None:
        """Store the options of an agent from a package."""
        self._write(name, options)

    def delete(self, kind: type[Entry], name: str) -> None:
        """Delete an entry. Raises NotKept, KeptInFile."""
        known = self._all(kind).get(name)
        _require_not_in_file(known)
        if known is None:
            raise NotKept(f"There is no {_KINDS[kind]} {name!r} in the database.")
        same = sql.and_(_entries.c.kind == _KINDS[kind], _entries.c.name == name)
        with self._engine.begin() as connection:
            connection.execute(_entries.delete().where(same))

    def _all(self, kind: type[EntryT]) -> dict[str, Stored[EntryT]]:
        found = {name: Stored(value=value) for name, value in self._rows(kind).items()}
        for path in sorted((self._home / f"{_KINDS[kind]}s").glob("*.toml")):
            entry = read_file(path, kind)
            if entry.name in found:
                other = found[entry.name].file or "the database"
                raise AgentError(
                    f"The {_KINDS[kind]} {entry.name!r} is defined twice: in {path} and in {other}. Rename one of them."
                )
            found[entry.name] = Stored(value=entry, file=path)
        return found

    def _rows(self, kind: type[ValueT]) -> dict[str, ValueT]:
        query = sql.select(_entries.c.name, _entries.c.value).where(_entries.c.kind == _KINDS[kind])
        return {row.name: kind.model_validate(row.value) for row in self._select(query)}

    def _write(self, name: str, value: FrozenModel) -> None:
        kind = _KINDS[type(value)]
        row = {"kind": kind, "name": name, "value": value.model_dump(mode="json"), "changed_at": datetime.now(UTC)}
        self._replace(_entries, row)


def read_file(path: Path, kind: type[EntryT]) -> EntryT:
    """Parse a TOML file. Raises AgentError with the path and all faults."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise AgentError(f"{path} cannot be read: {error}.") from error
    return read_toml(text, kind, str(path))


def read_toml(text: str, kind: type[EntryT], where: str) -> EntryT:
    """Parse a TOML text. Raises AgentError with ``where`` (its source) and all faults."""
    try:
        return kind.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise AgentError(f"{where} is not valid TOML: {error}.") from error
    except ValidationError as error:
        raise AgentError(f"{where} is not a valid {_KINDS[kind]}: {describe_faults(error)}.") from error


def as_toml(entry: Entry) -> str:
    """Return the entry as TOML, with multi-line strings for long texts."""
    return "".join(f"{name} = {_toml(value)}\n" for name, value in entry.model_dump(mode="json").items())


def _toml(value: object) -> str:
    """Write a value as JSON, which is TOML for strings, numbers, booleans and lists."""
    if isinstance(value, str) and "\n" in value and "'''" not in value and "\r" not in value:
        return f"'''\n{value}'''"
    return json.dumps("none" if value is None else value, ensure_ascii=False)


def _require_not_in_file(known: Stored[Entry] | None) -> None:
    if known and known.file:
        raise KeptInFile(f"The {_kind(known.value)} {known.value.name!r} is defined in {known.file}; edit that file.")


def _kind(entry: Entry) -> str:
    return _KINDS[type(entry)]
