"""A substitute for the English spaCy model, which ``unstructured`` downloads when it first classifies a text.

``unstructured`` uses the model to find sentence ends and verbs, which distinguish prose from titles. If the model is
not installed, a pipeline of rules without data replaces it. spaCy finds the pipeline through an import finder, which
also provides the package metadata that spaCy reads.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

MODEL = "en_core_web_sm"

_COMPONENT = "candor_verbs"
# fmt: off
_VERBS = {
    "am", "is", "are", "was", "were", "be", "been", "being", "has", "have", "had", "do", "does", "did", "can",
    "could", "will", "would", "shall", "should", "may", "might", "must", "says", "said", "makes", "made",
    "gives", "gave", "takes", "took", "shows", "showed", "goes", "went", "gets", "got", "sees", "saw",
    "comes", "came", "means", "meant",
}
# fmt: on


def provide() -> None:
    """Make ``en_core_web_sm`` importable: the installed model, or the rules of this module."""
    if find_spec(MODEL) is None:
        sys.meta_path.append(_Finder())


class _Rules(Distribution):
    """Package metadata of the substitute."""

    def read_text(self, filename: str) -> str | None:
        return f"Metadata-Version: 2.1\nName: {MODEL}\nVersion: 0\n" if filename == "METADATA" else None

    def locate_file(self, path: str | PathLike[str]) -> Path:
        return Path(path)


class _Finder(DistributionFinder, Loader):
    """Finds and loads the substitute by the model's name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname == MODEL else None

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["load"] = _load

    def find_distributions(
        self,
        context: DistributionFinder.Context = DistributionFinder.Context(),  # noqa: B008  # as its base declares
    ) -> Iterator[Distribution]:
        if context.name == MODEL:
            yield _Rules()


def _load(**_: Any) -> Language:
    """Return a pipeline that splits sentences at punctuation and tags common verbs and words in -ed as verbs."""
    import spacy
    from spacy.language import Language

    if not Language.has_factory(_COMPONENT):
        Language.component(_COMPONENT, func=_mark_verbs)
    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    pipeline.add_pipe(_COMPONENT)
    return pipeline


def _mark_verbs(doc: Doc) -> Doc:
    for token in doc:
        if token.lower_ in _VERBS or (len(token) > 4 and token.lower_.endswith("ed")):
            token.tag_ = "VB"
    return doc
