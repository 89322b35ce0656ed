"""Describes the environment of a run: version, prompts, settings, index and documents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import cast

from multi_agent.library import CatalogueEntry
from multi_agent.orchestrator.planning.dependencies import RunDependencies
from multi_agent.storage.environments import DocumentVersion, Environment

_FOLDER = "multi_agent/prompts"


def observe_environment(dependencies: RunDependencies, catalogue: Sequence[CatalogueEntry]) -> Environment:
    """Return the present environment of a run over the documents of ``catalogue``."""
    own = {
        f"prompt of the agent {agent.card.name}": agent.prompt.hash for agent in dependencies.registry if agent.prompt
    }
    documents = {entry.id: DocumentVersion(name=entry.name, version=entry.version) for entry in catalogue}
    return Environment(
        candor=version("candor"),
        prompts={**_hash_files(), **own},
        settings=dependencies.settings.model_dump(mode="json", exclude={"rerank"}),  # it may contain secrets
        index=dict(dependencies.library.index()),
        documents=documents,
    )


def prompt_texts() -> dict[str, str]:
    """Return the text of each of Candor's prompt files, by path."""
    return dict(_texts(cast(Path, files("multi_agent").joinpath("prompts")), _FOLDER))


def _hash_files() -> dict[str, str]:
    return {path: hashlib.sha256(text.encode()).hexdigest()[:12] for path, text in prompt_texts().items()}


def _texts(folder: Path, path: str) -> Iterator[tuple[str, str]]:
    for each in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if each.is_dir():
            yield from _texts(each, f"{path}/{each.name}")
        elif each.name.endswith(".md"):
            yield f"{path}/{each.name}", each.read_text(encoding="utf-8")
