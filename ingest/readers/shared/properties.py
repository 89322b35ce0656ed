"""The properties of documents, by the names that formats give them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

PROPERTIES: Mapping[str, Mapping[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
