"""The columns of tables that hold a selection of collections, such as ``mail+papers``, and conditions on them."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import sqlalchemy as sql

from vectorstore.models import SEPARATOR

SELECTION = sql.String(64).with_variant(sql.Text(), "postgresql")
"""The type of a column with a selection of collections. SQLite stores texts of any length, whatever their type."""


def within(selection: sql.ColumnElement[Any], among: Set[str] | None) -> sql.ColumnElement[bool]:
    """Return the condition that all collections of a selection are among these. None means all."""
    if among is None:
        return sql.true()
    others: sql.ColumnElement[Any] = SEPARATOR + selection + SEPARATOR
    for name in sorted(among):
        others = sql.func.replace(others, f"{SEPARATOR}{name}{SEPARATOR}", SEPARATOR)
    return sql.or_(selection.in_(sorted(among)), sql.and_(selection.contains(SEPARATOR), others == SEPARATOR))


def includes(selection: sql.ColumnElement[Any], wanted: str) -> sql.ColumnElement[bool]:
    """Return the condition that a selection is the wanted one, or contains the wanted collection."""
    padded = SEPARATOR + selection + SEPARATOR
    return sql.or_(selection == wanted, padded.contains(f"{SEPARATOR}{wanted}{SEPARATOR}", autoescape=True))
