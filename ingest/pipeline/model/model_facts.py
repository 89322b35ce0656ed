"""Adds facts that a model finds in the opening of a document. The model cites the line of each fact.

``ingest/facts/stated.py`` drops facts that their line does not confirm.
"""

from collections.abc import Callable, Sequence
from pathlib import Path, PurePath

from ingest.document import ParsedDocument
from ingest.facts.stated import StatedFact, check_facts, opening_lines
from ingest.parser import Parser
from ingest.pipeline.model.asked_model import ModelParser
from ingest.pipeline.parse_file import with_language
from vectorstore.text.languages import LANGUAGE


class FactsParser(ModelParser):
    """A parser that adds the facts that a model finds, and a warning for each unconfirmed fact.

    It must wrap the file parser directly. Otherwise, the model would also read descriptions of figures.
    ``find`` returns the facts that lines state, with line numbers from 1. It raises ModelFailed.
    """

    def __init__(self, parser: Parser, model: str, find: Callable[[Sequence[str]], list[StatedFact]]) -> None:
        super().__init__(parser, f", facts by {model}")
        self._find = find

    def _asks_about(self, path: PurePath, mime_type: str) -> bool:
        return True

    def _extended(self, parsed: ParsedDocument, path: Path) -> ParsedDocument:
        lines = opening_lines(parsed)
        if not lines:
            return parsed
        stated = self._find([line.text for line in lines])
        language = str(with_language(parsed).metadata.get(LANGUAGE, ""))
        facts, warnings = check_facts(stated, lines, language)
        return parsed.model_copy(update={"facts": facts, "warnings": (*parsed.warnings, *warnings)})
