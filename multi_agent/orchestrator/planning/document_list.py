"""What triage, planner and reviser know of a run. Its documents are a short list, and a model may misspell names."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from unicodedata import normalize

from base.counts import count
from base.text import shorten
from multi_agent.catalog.registry import AgentRegistry
from multi_agent.grounding.terms import words_of
from multi_agent.library import CatalogueEntry, Library
from multi_agent.model import LLM
from multi_agent.prompts.show_outside import defuse
from multi_agent.prompts.show_passages import titled
from multi_agent.values.bus import Publish
from multi_agent.values.plan import Plan
from multi_agent.values.request import Remembered
from vectorstore.models import Chunk
from vectorstore.text.languages import detect_query, detect_surely, name_languages

_BEGINNING = 80  # characters of a passage
_BEST, _SEARCHED = 3, 12  # documents that are not among the best for the question, nor named in it, are not meant
_FEW = 0.1  # share of documents: a language below it is not named, because tables may be detected wrongly
_FIELDS, _VALUES, _LONGEST = 20, 4, 40  # fields of the documents, values of one, characters of a name or value


class DocumentList:
    """The documents of one run. Each list is computed once, so that all prompts of a run show the same."""

    def __init__(self, library: Library, catalogue: Sequence[CatalogueEntry], question: str, most: int) -> None:
        self._library, self._catalogue, self._question, self._most = library, catalogue, question, most
        self._texts: dict[int, str] = {}
        self.names = frozenset(entry.name for entry in catalogue)

    async def text(self, at_most: int | None = None) -> str:
        """Return the list for a prompt. Raises StoreError."""
        most = at_most or self._most
        if most not in self._texts:
            self._texts[most] = await asyncio.to_thread(
                list_documents, self._library, self._catalogue, self._question, most
            )
        return self._texts[most]

    def find(self, written: str) -> str | None:
        """Return the name of the one document that ``written`` means; None if there is none, or more than one.

        It may be the name in another case or without its folder or suffix, the title, or both as the list prints them.
        """
        if written in self.names:
            return written
        folded = _folded(written)
        meant = {entry.id: entry.name for entry in self._catalogue if folded in map(_folded, _spellings(entry))}
        return meant.popitem()[1] if len(meant) == 1 else None

    async def are_meant(self, names: Collection[str]) -> bool:
        """Return whether the question names one of the documents, or one is among the best for it. Raises StoreError.

        Small models name any document that sounds like the question, although it has to be searched everywhere. Titles
        do not count, because the question may be about them.
        """
        asked, chosen = set(words_of(self._question)), [entry for entry in self._catalogue if entry.name in names]
        spelt = (each.replace("_", " ") for entry in chosen for each in _spellings(entry) if each != entry.title)
        if any(words and asked.issuperset(words) for words in map(words_of, spelt)):
            return True
        found = await asyncio.to_thread(_best_passages, self._library, self._question, _SEARCHED)
        return not {entry.id for entry in chosen}.isdisjoint(list(found)[:_BEST])


@dataclass(frozen=True)
class PlanningCalls:
    """The model calls that plan one run, and what they share.

    ``change`` is applied to every valid plan before it is published.
    """

    llm: LLM
    registry: AgentRegistry
    documents: DocumentList
    publish: Publish
    remembered: Remembered
    today: str
    sources: str
    change: Callable[[Plan], Plan]


def list_documents(library: Library, catalogue: Sequence[CatalogueEntry], question: str, most: int) -> str:
    """Return up to ``most`` documents; with more, those of the ``most`` best passages for the question. Blocks.

    A document without a title shows the beginning of its best passage. One of several collections is listed once.
    Raises StoreError.
    """
    catalogue = list({entry.id: entry for entry in catalogue}.values())
    languages = Counter(entry.language for entry in catalogue if entry.language)
    asked_in = detect_surely(question) or detect_query(question, languages)
    foreign = [each for each, number in languages.items() if each != asked_in and number > _FEW * len(catalogue)]
    some = "Some" if asked_in in languages else "They"
    hint = [f"{some} are in {name_languages(foreign)}: write queries in that language."] if foreign else []
    hint += _own_fields(catalogue)
    is_long = len(catalogue) > most
    passages = _best_passages(library, question, most) if is_long or any(map(_is_untitled, catalogue)) else {}
    if not is_long:
        return "\n".join([*(_describe(entry, asked_in, passages) for entry in catalogue), *hint])
    # The catalogue lacks documents ingested after the run started.
    entries = {entry.id: entry for entry in catalogue if entry.id in passages}
    nearest = [_describe(entries[each], asked_in, passages) for each in passages if each in entries]
    if not nearest:
        return "\n".join([f"{len(catalogue)} documents, which are not listed here.", *_own_fields(catalogue)])
    others = f"and {len(catalogue) - len(nearest)} others, which are searched as well"
    return "\n".join([*nearest, others, *hint])


def _own_fields(catalogue: Sequence[CatalogueEntry]) -> list[str]:
    """Return a line with the fields that people gave documents, as SQL names them, with some of their values."""
    found: dict[str, Counter[str]] = {}
    for entry in catalogue:
        for name in entry.own:
            value = entry.metadata[name]
            found.setdefault(name, Counter()).update(value if isinstance(value, tuple) else [str(value)])
    # SQL needs the whole name. One that could be mistaken for a part of the prompt is not shown.
    names = [name for name in sorted(found) if len(name) <= _LONGEST and defuse(name) == name][:_FIELDS]
    shown = [_show_field(name, found[name]) for name in names]
    others = [f"and {count(len(found) - len(names), 'other field')}"] if len(names) < len(found) else []
    return [f"In SQL, the table of documents also has {', '.join([*shown, *others])}."] if found else []


def _show_field(name: str, values: Counter[str]) -> str:
    some = ", ".join(shorten(defuse(value), _LONGEST) for value, _ in values.most_common(_VALUES))
    quoted = name.replace("'", "''")
    return f"metadata['{quoted}'] ({some})"


def _best_passages(library: Library, question: str, passages: int) -> dict[str, Chunk]:
    """Return the best passage of each document that a search finds, by document id, best first."""
    best: dict[str, Chunk] = {}
    for hit in library.search([question], passages) if passages else ():
        best.setdefault(hit.chunk.document_id, hit.chunk)
    return best


def _describe(entry: CatalogueEntry, asked_in: str, passages: Mapping[str, Chunk]) -> str:
    """Return the line of a document. It names the language if the question is in another one."""
    language = [entry.language] if entry.language not in ("", asked_in) else []
    facts = ", ".join([*entry.facts, *language])
    size = f", {entry.chunks} passages" if entry.chunks > 1 else ""
    passage = passages.get(entry.id) if _is_untitled(entry) else None
    begins = f", with “{shorten(passage.text, _BEGINNING)}”" if passage else ""
    return f"- {titled(entry.name, entry.title)}{f': {facts}' if facts else ''}{size}{begins}"


def _is_untitled(entry: CatalogueEntry) -> bool:
    """Return whether the name of the document already says its title."""
    return titled(entry.name, entry.title) == entry.name


def _spellings(entry: CatalogueEntry) -> Iterator[str]:
    for name in (entry.name, entry.name.rpartition("/")[2]):
        yield name
        yield name.rpartition(".")[0]
    if entry.title:
        yield entry.title
        yield f"{entry.name} ({entry.title})"


def _folded(text: str) -> str:
    return normalize("NFC", " ".join(text.split())).casefold()  # file names on macOS have decomposed accents
