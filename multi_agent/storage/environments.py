"""The environment of a run: its prompts, documents, index, settings and code.

A replay compares it with the current environment to find the cause of a difference. Equal environments share a row.
"""

from __future__ import annotations

import hashlib
import zlib

import sqlalchemy as sql
from pydantic import Field, JsonValue

from base.database import METADATA
from base.models import FrozenModel

_environments = sql.Table(
    "environments",
    METADATA,
    sql.Column("id", sql.String(64), primary_key=True),
    sql.Column("content", sql.LargeBinary, nullable=False),
)


class DocumentVersion(FrozenModel):
    """A version of a document."""

    name: str
    version: str = Field(description="hash of its content")


class Environment(FrozenModel):
    """The state of everything that a run reads, apart from model responses and tool results."""

    candor: str = Field(description="version of Candor")
    prompts: dict[str, str] = Field(description="hash of each prompt, by the path of its file or the name of its agent")
    settings: dict[str, JsonValue] = Field(description="the settings below `research`")
    index: dict[str, str] = Field(description="settings of searches: embedding model, chunking, reranker")
    documents: dict[str, DocumentVersion] = Field(description="the documents that the run could read, by id")


def keep_environment(connection: sql.Connection, environment: Environment) -> str:
    """Store an environment and return its id. Equal environments are stored only once."""
    content = environment.model_dump_json().encode()
    key = hashlib.sha256(content).hexdigest()
    if connection.scalar(sql.select(_environments.c.id).where(_environments.c.id == key)) is None:
        connection.execute(_insert(connection), {"id": key, "content": zlib.compress(content)})
    return key


def find_environment(connection: sql.Connection, key: str) -> Environment | None:
    """Return the environment with this id, or None if there is none."""
    content = connection.scalar(sql.select(_environments.c.content).where(_environments.c.id == key))
    return Environment.model_validate_json(zlib.decompress(content)) if content else None


def forget_unused(connection: sql.Connection, used: sql.Select[tuple[str]]) -> None:
    """Delete the environments whose ids are not in ``used``."""
    connection.execute(_environments.delete().where(_environments.c.id.not_in(used)))


def _insert(connection: sql.Connection) -> sql.Executable:
    """Return an insert that ignores existing rows, because two runs may store the same environment concurrently."""
    from sqlalchemy.dialects import postgresql, sqlite  # importing both takes a tenth of the start of a command

    if connection.dialect.name == "postgresql":
        return postgresql.insert(_environments).on_conflict_do_nothing()
    return sqlite.insert(_environments).on_conflict_do_nothing()
