"""Ranks the mail that wrote a sentence before the replies that quote it.

Each reply of a thread quotes all earlier mails, so a search would find one sentence twenty times. What a passage quotes
from another one that was found does not count: its score is reduced by the share of the query's words that stand only
there. What no other passage has written counts in full, because that mail may be missing.
"""

import re
from collections.abc import Callable, Collection, Sequence

from vectorstore.models import Hit

_QUOTED = re.compile(r"^[ \t]*(?:[A-Z]{0,3}>|\|(?=[^|\n]*$))[> \t]*(.*)$", re.MULTILINE)
_HEADER = r"(?:\*?[^\W\d_]+(?: [^\W\d_]+){0,2}\s?(?::\*? |：).*\n)"
_ORIGINAL = re.compile(
    rf"^-{{3,}} ?[^\W\d_]+(?: [^\W\d_]+){{1,3}} ?-{{3,}}$(?:\n+{_HEADER}+)?"  # -----Original Message-----, any language
    rf"|(?:(?<=\n\n)|(?<=__\n)|(?<=--\n))(?=(?:.+\n)?.*(?:@|\d[:.]\d\d)){_HEADER}{{3,}}"  # From:, Sent:, To:
    r"|^(?!.{200}).*(?:<[^<>\s]+@[^<>\s]+>|\b\d{4}\b.*\d[:.]\d\d\b).*[:：]$",  # On 5 May 2024 at 10:00, Ann wrote:
    re.MULTILINE,
)
_LEAST = 12
"""Characters. Shorter quoted lines, such as a greeting, are in many mails."""

WordsIn = Callable[[str], Collection[str]]
"""Returns the words of the query that a text has."""


def quotes(text: str) -> bool:
    """Return whether the text quotes a mail."""
    has_marks = ">" in text or "|" in text
    has_headers = ":" in text or "：" in text or "---" in text
    return bool((has_marks and _QUOTED.search(text)) or (has_headers and _ORIGINAL.search(text)))


def writers_first(hits: Sequence[Hit], words_in: WordsIn) -> list[Hit]:
    """Return the hits with reduced scores, best first."""
    parts = [_parts(hit.chunk.text) for hit in hits]
    written = [_joined(own) for own, _ in parts]
    counted = []
    for hit, (own, quoted) in zip(hits, parts, strict=True):
        left = [line for line in quoted if not _is_written(line, written)]
        whole = words_in(hit.chunk.text) if len(left) < len(quoted) and hit.score > 0 else ()
        share = len(words_in("\n".join([own, *left]))) / len(whole) if whole else 1.0
        counted.append(hit.model_copy(update={"score": hit.score * share}))
    return sorted(counted, key=lambda hit: -hit.score)


def _parts(text: str) -> tuple[str, list[str]]:
    """Return what the mail itself says, and the lines that it quotes."""
    marked = _ORIGINAL.search(text)
    head, below = (text[: marked.start()], text[marked.end() :].split("\n")) if marked else (text, [])
    return _QUOTED.sub("", head), [*_QUOTED.findall(head), *(line.lstrip("> \t") for line in below)]


def _is_written(line: str, written: Sequence[str]) -> bool:
    joined = _joined(line)
    return len(joined) < _LEAST or any(joined in each for each in written)


def _joined(text: str) -> str:
    """Return the text without white space. Mail programs rewrap quoted lines."""
    return "".join(text.split())
