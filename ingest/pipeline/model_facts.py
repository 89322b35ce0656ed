"""Facts by a model: it reads the opening of a document, and names the line that shows each fact.

Candor keeps only the facts that it finds on their lines; see ``ingest/facts/stated.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Protocol

from ingest.document import ParsedDocument
from ingest.facts.stated import StatedFact, check_facts, opening_lines
from ingest.parser import Parser
from ingest.pipeline.asked_model import IngestModel, ModelParser
from ingest.pipeline.parse_file import with_language
from vectorstore.text.languages import LANGUAGE


class FactFinder(IngestModel, Protocol):
    """A model that finds the facts of documents."""

    def find(self, lines: Sequence[str]) -> list[StatedFact]:
        """Return what the opening of a document states, with the number of the line (from 1). Raises ModelFailed."""
        ...


class FactsParser(ModelParser):
    """A parser that adds the facts that a model finds, and a warning for each that its line does not show.

    Wrap it around the parser itself, so that the model reads only words of the document, not descriptions of figures.
    """

    def __init__(self, parser: Parser, finder: FactFinder) -> None:
        super().__init__(parser, f", facts by {finder.name}")
        self._finder = finder

    def _asks_about(self, path: PurePath, mime_type: str) -> bool:
        return True

    def _extended(self, parsed: ParsedDocument, path: Path) -> ParsedDocument:
        lines = opening_lines(parsed)
        if not lines:
            return parsed
        stated = self._finder.find([line.text for line in lines])
        language = str(with_language(parsed).metadata.get(LANGUAGE, ""))
        facts, warnings = check_facts(stated, lines, language)
        return parsed.model_copy(update={"facts": facts, "warnings": (*parsed.warnings, *warnings)})
