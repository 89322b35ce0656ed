"""What known embedding models expect (``known_models.toml``): texts before queries and passages, and their window."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple


class KnownModel(NamedTuple):
    """What a model expects: the text before queries and passages, and its window in tokens."""

    query: str = ""
    passage: str = ""
    max_tokens: int = 8192


@cache
def known_model(name: str) -> KnownModel:
    """Return what a model expects, by its name at an endpoint: nothing if it is not known."""
    plain = name.casefold().rpartition("/")[2].partition(":")[0].replace("_", "-")
    return next((KnownModel(**fields) for known, fields in _table().items() if known in plain), KnownModel())


@cache
def _table() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("known_models.toml").read_text(encoding="utf-8"))
