"""Finds agents, tools and metrics: the classes with a card that the modules of a package define."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

from multi_agent.errors import AgentError


def find_classes(kind: str, package: str, card: type, setting: str = "") -> Iterator[Any]:
    """Yield the classes that the modules of a package define and whose ``card`` is a ``card``.

    Raises AgentError if the package or a module cannot be imported. ``kind`` and ``setting`` say what and where it is.
    """
    try:
        found = pkgutil.iter_modules(importlib.import_module(package).__path__)
        modules = [importlib.import_module(f"{package}.{each.name}") for each in found]
    except (Exception, SystemExit) as error:  # a package of others may raise anything
        reason = str(error) if isinstance(error, ImportError) else repr(error)
        raise AgentError(
            f"The {kind} package {package!r} cannot be imported ({reason}). Check the setting `{setting}`."
        ) from error
    for module in modules:
        for _, member in inspect.getmembers(module, inspect.isclass):
            if member.__module__ == module.__name__ and isinstance(getattr(member, "card", None), card):
                yield member
