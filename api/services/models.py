"""Choosing the models: the language model, the embedding model and the reranker.

A choice is stored in ``models.json`` in the data folder, which only its owner may read. It counts where no variable and
no settings file sets the same field. Keys are stored there, and never shown.
"""

import json
import os
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from tempfile import NamedTemporaryFile

from pydantic import Field, SecretStr, ValidationError

from api.errors import UsageError, fault_list
from api.services.doctor import Doctor, Trial
from api.settings import (
    MODEL_TABLES,
    MODELS_FILE,
    ChosenModels,
    ModelChoice,
    ModelTable,
    Settings,
    find_source,
    fixed_fields,
    read_models,
)
from api.storage.home import create_home
from base.models import FrozenModel
from multi_agent.errors import LLMError
from multi_agent.llm.endpoints.ollama_native import OllamaNative
from multi_agent.llm.endpoints.openai_compatible import OpenAICompatible
from multi_agent.llm.settings import EndpointSettings
from vectorstore.embedding.embedder import make_embedder
from vectorstore.settings import without_password

_SILENCE_S = 60.0
_PULL_TIMEOUT_S = 24 * 3600.0


class ShownModel(FrozenModel):
    """The model that is used now, and what cannot be chosen."""

    provider: str
    base_url: str = Field(description="address of the endpoint without credentials; empty for the default one")
    model: str
    context_window: int | None = Field(description="tokens; only of the language model")
    has_key: bool
    fixed: dict[str, str] = Field(description="by field, the variable or the file that sets it")


class PullProgress(FrozenModel):
    """What Ollama does while it fetches a model."""

    status: str = ""
    completed: int = Field(default=0, description="bytes that are there")
    total: int = Field(default=0, description="bytes in all; 0 if unknown")
    error: str = Field(default="", description="why the model could not be fetched")


def shown_models(settings: Settings) -> dict[ModelTable, ShownModel]:
    """Return the models, without their keys."""
    own = settings.own_models
    return {
        table: ShownModel(
            provider=now.provider, base_url=without_password(now.base_url or ""), model=now.model,
            context_window=now.context_window if isinstance(now, EndpointSettings) else None,
            has_key=bool(now.api_key),
            fixed={name: _source(settings, table, name) for name in sorted(fixed_fields(own[table]))},
        )
        for table, now in settings.models.items()
    }  # fmt: skip


def choose_model(settings: Settings, table: ModelTable, choice: ModelChoice) -> None:
    """Store a choice. The next question or ingest uses it. Raises UsageError, HomeError."""
    chosen, _ = _with_choice(settings, table, choice)
    stored = {
        name: {field: value.get_secret_value() if isinstance(value, SecretStr) else value
               for field, value in each.given.items()}
        for name, each in chosen
    }  # fmt: skip
    home = create_home(settings.home)
    with NamedTemporaryFile("w", dir=home, prefix=".models-", delete=False) as file:  # only the owner may read it
        json.dump(stored, file, indent=2)
    os.replace(file.name, home / MODELS_FILE)


async def try_choice(doctor: Doctor, table: ModelTable, choice: ModelChoice) -> Trial:
    """Send test requests to a model before it is chosen. Raises UsageError."""
    _, settings = _with_choice(doctor.settings, table, choice)
    made = replace(doctor, settings=settings, embedder=lambda: make_embedder(settings.store.embedding))
    return await made.try_model(table)


async def offered_models(settings: Settings, table: ModelTable, choice: ModelChoice) -> list[str]:
    """Return the names of the models of an endpoint. Raises a subclass of LLMError, UsageError."""
    endpoint = _endpoint(settings, table, choice)
    client = OllamaNative(endpoint) if endpoint.provider == "ollama" else OpenAICompatible(endpoint)
    return sorted(await client.models())


def pull_model(settings: Settings, table: ModelTable, choice: ModelChoice) -> AsyncIterator[PullProgress]:
    """Let Ollama fetch a model. The last progress has the error, if there is one. Raises UsageError."""
    endpoint = _endpoint(settings, table, choice)
    if endpoint.provider != "ollama":
        raise UsageError("Only Ollama fetches models. Choose the provider 'ollama'.")
    return _pull(OllamaNative(endpoint.model_copy(update={"total_timeout_s": _PULL_TIMEOUT_S})))


async def _pull(client: OllamaNative) -> AsyncIterator[PullProgress]:
    try:
        async with aclosing(client.pull()) as parts:
            async for status, completed, total in parts:
                yield PullProgress(status=status, completed=completed, total=total)
    except LLMError as error:
        yield PullProgress(error=str(error))


def _with_choice(settings: Settings, table: ModelTable, choice: ModelChoice) -> tuple[ChosenModels, Settings]:
    """Return all choices and the settings with them. A stored key stays with its address. Raises UsageError."""
    before = read_models(settings.home)
    fixed = fixed_fields(settings.own_models[table])
    if clash := sorted(fixed & choice.given.keys()):
        raise UsageError(f"{_source(settings, table, clash[0])} sets `{clash[0]}` of this model. Change it there.")
    try:
        old, new = (
            settings.with_models(each).models[table] for each in (before, before.model_copy(update={table: choice}))
        )
        if choice.api_key is None and (old.provider, old.base_url) == (new.provider, new.base_url):
            choice = choice.model_copy(update={"api_key": getattr(before, table).api_key})
        chosen = before.model_copy(update={table: choice})
        return chosen, settings.with_models(chosen)
    except ValidationError as error:
        raise UsageError(f"This model cannot be used: {fault_list(error)}.") from None


def _endpoint(settings: Settings, table: ModelTable, choice: ModelChoice) -> EndpointSettings:
    """Return the endpoint of a choice, which need not name a model yet. Raises UsageError if it has none."""
    named = choice if choice.model or "model" in fixed_fields(settings.own_models[table]) else (
        choice.model_copy(update={"model": "-"})
    )  # fmt: skip
    now = _with_choice(settings, table, named)[1].models[table]
    if now.provider not in ("ollama", "openai", "endpoint"):
        raise UsageError(f"The provider {now.provider!r} has no endpoint that lists or fetches models.")
    given = {"base_url": now.base_url, "api_key": now.api_key}
    return EndpointSettings(
        provider="ollama" if now.provider == "ollama" else "openai", model=now.model, timeout_s=_SILENCE_S,
        **{name: value for name, value in given.items() if value},
    ).in_table(".".join(MODEL_TABLES[table]))  # fmt: skip


def _source(settings: Settings, table: ModelTable, field: str) -> str:
    """Return what sets a field, or the address that it belongs to."""
    fields = (field, "api_key", "base_url", "provider")
    found = (find_source(settings, *MODEL_TABLES[table], each) for each in fields)
    return next(filter(None, found), "the program that started Candor")
