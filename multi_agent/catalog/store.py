"""Where agents, skills and choices are kept: in SQL, where they can be changed, and in files, which their writer keeps.

    roster = Roster(engine, home)
    roster.save(CustomAgent(name="Lawyer", …))
    roster.agents["Lawyer"].value

Files are ``agents/*.toml`` and ``skills/*.toml`` in the home folder, read anew each time. This knows nothing of what
else there is, such as built-in agents: that is ``cast.py``.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Generic, TypeVar

import sqlalchemy as sql
from pydantic import BaseModel, ValidationError

from multi_agent.catalog.entries import Choice, CustomAgent, Entry, Skill
from multi_agent.errors import AgentError, KeptInFile, NameTaken, NotKept
from vectorstore.models import FrozenModel

EntryT = TypeVar("EntryT", bound=Entry)
ValueT = TypeVar("ValueT", bound=FrozenModel)

_metadata = sql.MetaData()

_roster = sql.Table(
    "roster",
    _metadata,
    sql.Column("kind", sql.String(10), primary_key=True),
    sql.Column("name", sql.String(64), primary_key=True),
    sql.Column("value", sql.JSON, nullable=False),
    sql.Column("changed_at", sql.DateTime(timezone=True), nullable=False),
)
_KINDS: dict[type[BaseModel], str] = {CustomAgent: "agent", Skill: "skill", Choice: "choice"}


@dataclass(frozen=True)
class Kept(Generic[EntryT]):
    """An entry, and the file that holds it; none of one that is kept in SQL."""

    value: EntryT
    file: Path | None = None


class CatalogStore:
    """All that is kept, in the database behind ``engine`` and in ``home``. Safe to use from several threads."""

    def __init__(self, engine: sql.Engine, home: Path) -> None:
        self._engine, self._home = engine, home
        _metadata.create_all(engine)

    @property
    def agents(self) -> dict[str, Kept[CustomAgent]]:
        """By name. Raises AgentError if a file holds none, or two hold the same."""
        return self._all(CustomAgent)

    @property
    def skills(self) -> dict[str, Kept[Skill]]:
        """By name. Raises AgentError as ``agents`` does."""
        return self._all(Skill)

    @property
    def choices(self) -> dict[str, Choice]:
        """What was chosen for agents that come in packages, by name."""
        return self._rows(Choice)

    def save(self, entry: Entry, *, new: bool = False) -> None:
        """Keep it in place of one of its name. Raises KeptInFile; NameTaken if it is to be new and is not."""
        known = self._all(type(entry)).get(entry.name)
        _refuse_file(known)
        if known and new:
            raise NameTaken(f"There is a{_an(entry)} {_kind(entry)} {entry.name!r} already; edit it, or take another "
                            "name.")  # fmt: skip
        self._write(entry.name, entry)

    def choose(self, name: str, choice: Choice) -> None:
        """Keep what was chosen for the agent of that name."""
        self._write(name, choice)

    def delete(self, kind: type[Entry], name: str) -> None:
        """Forget it. Raises NotKept, KeptInFile."""
        known = self._all(kind).get(name)
        _refuse_file(known)
        if known is None:
            raise NotKept(f"There is no {_KINDS[kind]} {name!r} that was added by anybody.")
        with self._engine.begin() as connection:
            connection.execute(_roster.delete().where(_at(_KINDS[kind], name)))

    def _all(self, kind: type[EntryT]) -> dict[str, Kept[EntryT]]:
        found = {name: Kept(value=value) for name, value in self._rows(kind).items()}
        for path in sorted((self._home / f"{_KINDS[kind]}s").glob("*.toml")):
            entry = read_file(path, kind)
            if entry.name in found:
                other = found[entry.name].file or "the database"
                raise AgentError(
                    f"The {_KINDS[kind]} {entry.name!r} is kept twice: in {path} and in {other}. Rename one of them."
                )
            found[entry.name] = Kept(value=entry, file=path)
        return found

    def _rows(self, kind: type[ValueT]) -> dict[str, ValueT]:
        query = sql.select(_roster.c.name, _roster.c.value).where(_roster.c.kind == _KINDS[kind])
        with self._engine.connect() as connection:
            return {row.name: kind.model_validate(row.value) for row in connection.execute(query)}

    def _write(self, name: str, value: FrozenModel) -> None:
        kind = _KINDS[type(value)]
        row = {"kind": kind, "name": name, "value": value.model_dump(mode="json"), "changed_at": datetime.now(UTC)}
        with self._engine.begin() as connection:
            connection.execute(_roster.delete().where(_at(kind, name)))
            connection.execute(_roster.insert().values(row))


def read_file(path: Path, kind: type[EntryT]) -> EntryT:
    """The entry that the TOML file holds. Raises AgentError, naming the file and all its faults."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AgentError(f"{path} cannot be read: {error}.") from error
    return read_toml(text, kind, str(path))


def read_toml(text: str, kind: type[EntryT], where: str) -> EntryT:
    """The entry that the text holds. Raises AgentError, naming ``where`` it stands and all its faults."""
    try:
        return kind.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise AgentError(f"{where} is no TOML: {error}.") from error
    except ValidationError as error:
        raise AgentError(f"{where} describes no {_KINDS[kind]}: {_faults_of(error)}.") from error


def _faults_of(error: ValidationError) -> str:
    """Every fault with the field that it is in."""
    return "; ".join(
        f"{'.'.join(map(str, each['loc']))}: {each['msg']}" if each["loc"] else each["msg"] for each in error.errors()
    )


def as_toml(entry: Entry) -> str:
    """The entry as a file that holds it; long texts on lines of their own."""
    return "".join(f"{name} = {_toml(value)}\n" for name, value in entry.model_dump(mode="json").items())


def _toml(value: object) -> str:
    """JSON's strings, numbers, truth values and lists are TOML's, too."""
    if isinstance(value, str) and "\n" in value and "'''" not in value and "\r" not in value:
        return f"'''\n{value}'''"
    return json.dumps("none" if value is None else value, ensure_ascii=False)


def _refuse_file(known: Kept[Entry] | None) -> None:
    if known and known.file:
        raise KeptInFile(f"The {_kind(known.value)} {known.value.name!r} is kept in {known.file}; change it there.")


def _at(kind: str, name: str) -> sql.ColumnElement[bool]:
    return sql.and_(_roster.c.kind == kind, _roster.c.name == name)


def _kind(entry: Entry) -> str:
    return _KINDS[type(entry)]


def _an(entry: Entry) -> str:
    return "n" if isinstance(entry, CustomAgent) else ""
