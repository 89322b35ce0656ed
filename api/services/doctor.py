"""What is in force, and whether it works."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from pydantic import SecretStr

from api.bootstrap import Candor
from api.errors import HomeError
from api.settings import Settings
from multi_agent.llm.probe import Check, check
from vectorstore.errors import StoreError
from vectorstore.models import FrozenModel

_SECRET = "set, not shown"


class Diagnosis(FrozenModel):
    """The settings in force, secrets hidden, and one check for each part."""

    settings: dict[str, Any]
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether every check passed."""
        return all(check.ok for check in self.checks)


def examine(candor: Candor) -> Diagnosis:
    """Look at every part; a part that does not work is a failed check, not an error."""
    checks = (*check_parts(candor), *asyncio.run(_check_models(candor.settings)))
    return Diagnosis(settings=_shown(candor.settings.model_dump()), checks=checks)


async def _check_models(settings: Settings) -> list[Check]:
    """The default endpoint, and every other one that is set."""
    found = await asyncio.gather(*(check(each) for each in (settings.llm, *settings.llms.values())))
    return [each for checks in found for each in checks]


def check_parts(candor: Candor) -> tuple[Check, ...]:
    """All that does not ask the language model."""
    return _database(candor), _store(candor), _embedding(candor)


def _database(candor: Candor) -> Check:
    from sqlalchemy.exc import SQLAlchemyError

    try:
        runs = len(candor.trace.runs())
    except (HomeError, SQLAlchemyError) as error:
        return Check(name="database", ok=False, detail=str(error), remedy="Check CANDOR_HOME and CANDOR_DATABASE_URL.")
    where = candor.engine.url.render_as_string(hide_password=True)
    return Check(name="database", ok=True, detail=f"{where}, {'no runs yet' if not runs else 'runs are kept'}")


def _store(candor: Candor) -> Check:
    try:
        names = sorted({spec.collection for spec in candor.store.list()})
    except StoreError as error:
        return Check(name="store", ok=False, detail="not to be opened", remedy=str(error))
    where = candor.settings.store.url or f"embedded in {candor.settings.home / 'collections'}"
    return Check(name="store", ok=True, detail=f"{where}; collections: {', '.join(names) or 'none yet'}")


def _embedding(candor: Candor) -> Check:
    try:
        embedder = candor.embedder
    except StoreError as error:
        return Check(name="embedding model", ok=False, detail=candor.settings.store.embedding.model, remedy=str(error))
    detail = f"{embedder.model}: {embedder.dimension} dimensions, reads {embedder.max_tokens} tokens of a passage"
    return Check(name="embedding model", ok=True, detail=detail)


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shown(each) for key, each in value.items()}
    if isinstance(value, SecretStr):
        return _SECRET
    return list(value) if isinstance(value, tuple) else value if isinstance(value, int | float | None) else str(value)


def flatten(settings: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The settings as dotted names with their values."""
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
