"""Reads LaTeX. Commands that pandoc does not know are written with their arguments, and named in a warning."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from ingest.decoding import decode
from ingest.reader import Reader, ReadRequest
from ingest.readers.markup.html import write_page
from ingest.readers.markup.pandoc import LIBRARY, Page, Refused, to_html
from ingest.readers.markup.tex_source import prepare
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.text import write_text
from vectorstore.models import Scalar

_PICTURE = re.compile(r"\\begin\{(\w+)\}.*\\end\{\1\}", re.DOTALL)
_COMMAND = re.compile(r"\\([A-Za-z]+)\*?(.*)", re.DOTALL)
_TITLED = re.compile(
    r"(\\begin\{[^{}]{1,80}\})\[(?![A-Zhtbp!]{1,6}\]|[\d.\\])"
    r"(?=[^][=]{0,200}?(?:[A-Z]|[^\x00-\x7f]|[^][,\s] ))([^][=]{1,300})\]"
)
"""The start of an environment that the file does not define, with a title: capitals or several words, no keys."""
_ARGUMENT = re.compile(r"#(\d)(~?)")
_COMMANDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_WITHOUT_ARGUMENTS = frozenset(_COMMANDS["without_arguments"].split())
_BODIES: dict[str, str] = _COMMANDS["definitions"] | dict.fromkeys(_WITHOUT_ARGUMENTS, " ")
_WITHOUT_TEXT = frozenset(_COMMANDS["without_text"].split())
_MOST_ARGUMENTS = 8
_NAMED = 20  # commands in a warning
_ROUNDS = 5  # arguments of unknown commands may contain further unknown commands


def read_tex(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the document's blocks to the builder; return its title, authors and date."""
    source = decode(request.data, request.path, into.warn).replace("\r\n", "\n")
    try:
        page, unknown = _converted(prepare(source))
    except Refused as error:
        into.warn(f"The file could not be read as LaTeX ({error}). It was read as plain text.")
        write_text(source, into)
        return {}
    _warn(page, sorted(unknown.keys() - _BODIES), into)
    return write_page(page.html, into)


def _warn(page: Page, unknown: Sequence[str], into: DocumentBuilder) -> None:
    if unknown:
        names = ", ".join(f"\\{name}" for name in unknown[:_NAMED])
        more = f" and {len(unknown) - _NAMED:,} more" if len(unknown) > _NAMED else ""
        into.warn(f"Commands that this file does not define were written with their arguments: {names}{more}.")
    skipped = (each["contents"] for each in page.log if each["type"] == "SkippedContent")
    if pictures := {found[1] for each in skipped if (found := _PICTURE.fullmatch(each))}:
        into.warn(f"Drawings in LaTeX were not read: {', '.join(sorted(pictures))}.")
    into.warn_of_other_files(page.other_files)


def _converted(source: str) -> tuple[Page, dict[str, str]]:
    """Return the page, and definitions of the commands that pandoc did not know."""
    start = source[: max(source.find(r"\begin{document}"), 0)].count("\n") + 1
    definitions: dict[str, str] = {}
    for _ in range(_ROUNDS):
        page = to_html(rf"\def\today{{}}{''.join(definitions.values())}{source}", "latex")
        found = dict(_definitions(page, start))
        unknown = {name: found[name] for name in found if rf"\begin{{{name}}}" not in source}  # it would end their text
        skipped = {each["contents"] for each in page.log if each["type"] == "SkippedContent"}
        titled = _TITLED.sub(lambda use: rf"{use[1]}{use[2]}\par " if use[0] in skipped else use[0], source)  # noqa: B023
        if unknown.keys() <= definitions.keys() and titled == source:
            break
        definitions, source = unknown | definitions, titled
    return page, definitions


def _definitions(page: Page, start: int) -> Iterator[tuple[str, str]]:
    """Yield each command that pandoc skipped from this line on, with a definition that writes its arguments.

    pandoc takes a number, a group or an option after any such command for its argument.
    """
    fewest: dict[str, tuple[int, bool]] = {}
    for message in page.log:
        found = _COMMAND.fullmatch(message.get("contents", ""))
        if (
            message["type"] == "SkippedContent"
            and found
            and message.get("line", 0) >= start
            and found[1] not in (_WITHOUT_TEXT if found[2].strip() else _WITHOUT_TEXT | _WITHOUT_ARGUMENTS)
        ):
            count = 0 if found[1] in _WITHOUT_ARGUMENTS else min(_count_groups(found[2]), _MOST_ARGUMENTS)
            use = (count, found[2].startswith("["))
            fewest[found[1]] = min(use, fewest.get(found[1], use))
    for name, (count, has_option) in fewest.items():
        yield name, _definition(name, count, has_option)


def _definition(name: str, count: int, has_option: bool) -> str:
    body = _BODIES.get(name) or " ".join(f"#{number + 1}" for number in range(count)) or rf"\textbackslash {name}{{ }}"
    body = _ARGUMENT.sub(lambda use: f"#{int(use[1]) + has_option}{use[2]}" if int(use[1]) <= count else "", body)
    return rf"\providecommand{{\{name}}}[{count + has_option}]{'[]' if has_option else ''}{{{body}}}"


def _count_groups(text: str) -> int:
    """Return the number of arguments in braces. ``{}`` alone only ends the name of a command."""
    count = depth = 0
    for character in text if text != "{}" else "":
        count += character == "{" and depth == 0
        depth += {"{": 1, "}": -1}.get(character, 0)
    return count


READER = Reader(name="tex", version=8, read=read_tex, mime_types=("application/x-latex", "text/x-tex"), library=LIBRARY)
