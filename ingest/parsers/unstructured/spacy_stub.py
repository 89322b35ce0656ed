"""A substitute for the English spaCy model, which ``unstructured`` downloads when it first classifies a text.

``unstructured`` uses the model to find sentence ends and verbs, which distinguish prose from titles. If the model is
not installed, a pipeline of rules without data replaces it.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

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
    """Let unstructured load the installed model, or else the rules of this module."""
    from unstructured.nlp import tokenize

    if find_spec("en_core_web_sm") is None:
        tokenize._load_spacy_model = _load


def _load() -> Language:
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
