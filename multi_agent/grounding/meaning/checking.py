"""Checks a claim against its quotes by rules, with the lexicon of their language."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import dropwhile, takewhile

from multi_agent.grounding.meaning.clauses import readings, split
from multi_agent.grounding.meaning.comparing import Comparison, compare
from multi_agent.grounding.meaning.lexicon import Lexicon, lexicon_for
from multi_agent.grounding.meaning.matching import Matcher
from multi_agent.grounding.meaning.reading import Token, plain_words, read
from multi_agent.grounding.quotes import has_spaceless

_SHORT_FORM = re.compile(r"\(([A-Z][A-Za-z]{1,7})\)")
_BARE = 3  # maximum words of a bare answer
_MOST_SKIPPED = 3  # grammatical words in a long form, such as "of" and "the"


def check(
    claim: str, quotes: Sequence[str], *, context: str, passages: Iterable[str], question: str,
    is_widespread: Callable[[str], bool],
) -> Comparison | None:  # fmt: skip
    """Compare the claim with its quotes. Returns None if there is no lexicon for their language.

    ``context`` contains headings, table headers and document names. Abbreviations, and the units that a cell
    may have, are also read from ``passages``.
    ``is_widespread`` returns whether a word is too common in the passages to be required in the quotes.
    """
    whole = "\n".join((*passages, *quotes))
    short = _short_forms(whole)
    claim, quoted, context, question = (
        _shorten(each, short) for each in (claim, "\n".join(map(_line, quotes)), context, question)
    )
    lexicon = lexicon_for(plain_words(f"{claim} {quoted}")) or lexicon_for(plain_words(f"{claim} {quoted} {question}"))
    if lexicon is None or _is_spaceless(claim):
        return None
    said, stated, around, asked = _named([read(each, lexicon) for each in (claim, quoted, context, question)])
    around_quotes = cache(lambda: read(whole, lexicon))
    in_question = Matcher(lexicon, asked)
    words = plain_words(claim)
    denies = not lexicon.negation.isdisjoint(words)  # "No", "There were none"
    if not said and asked and (denies or "".join(words[:1]) in lexicon.answers):
        found = compare(_in_one(asked), stated, around, lambda _: False, lexicon)
        return _denied(found) if denies else found

    def is_known(token: Token) -> bool:
        plain = token.kind == "word" and not lexicon.sides(token.text)
        return in_question.in_context(token) or (plain and is_widespread(token.text))

    found = alone = compare(said, stated, around, is_known, lexicon, around_quotes)
    if _is_bare(said) and not (alone.conflicts or all(map(in_question.in_context, said))):
        orders = ([*said, *asked], [*asked, *said])  # "John Barth" may be the subject or not
        found = min(
            (compare(_in_one(each), stated, around, is_known, lexicon, around_quotes) for each in orders),
            key=lambda each: len(each.conflicts + each.doubts),
        )
        names = Matcher(lexicon, [token for token in said if token.is_name])
        marks = {token.marker for token in stated if names.in_context(token)} & lexicon.strong - lexicon.agents
        other = sorted(marks.difference(plain_words(f"{question} {claim}")))  # "bought it from Bob" for "who bought"
        doubts = (*found.conflicts, *found.doubts, *alone.doubts, *(f"it stands after “{each}”" for each in other))
        found = found._replace(conflicts=(), doubts=doubts)
    beyond = [token for token in said if not in_question.in_context(token) and token not in found.missing]
    return found._replace(says_more=bool(beyond) or _is_proposition(said, asked, found, lexicon))


def _denied(found: Comparison) -> Comparison:
    """Return the result for the answer "no", from the result for the answer "yes"."""
    if found.conflicts:
        return found._replace(conflicts=(), doubts=(), missing=())
    states = not (found.doubts or found.missing)
    return found._replace(conflicts=("the quotes say that it is so",) if states else ())


def _is_bare(said: Sequence[Token]) -> bool:
    """Return whether the claim is a few words that answer the question, such as "Two" or "John Barth"."""
    return len(said) <= _BARE and not any(token.linked for token in said)


def _in_one(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens as those of one clause."""
    return [token._replace(sentence=0, segment=0) for token in tokens]


def follows_by_clauses(claim: str, documents: Sequence[tuple[Sequence[str], str]], passages: Iterable[str]) -> bool:
    """Return whether one document states each clause of the claim. Each one has its quotes, and the names of its place.

    A clause must stand in one document: "She died in Rome." may follow a name on the same page, but not on another one.
    """
    quoted = [_line(quote) for quotes, _ in documents for quote in quotes]
    places = [place for quotes, place in documents for _ in quotes]
    several = [(quotes, place) for quotes, place in documents if len(quotes) > 1]
    quoted += ["\n".join(map(_line, quotes)) for quotes, _ in several]
    places += [place for _, place in several]
    short = _short_forms("\n".join((*passages, *quoted)))
    lexicon = lexicon_for(plain_words(" ".join((claim, *quoted))))
    if lexicon is None or _is_spaceless(claim):
        return False
    texts = [claim, *quoted, *places]
    said, *others = _named([read(_shorten(each, short), lexicon) for each in texts])
    stated = list(zip(others[: len(quoted)], others[len(quoted) :], strict=True))
    has_word = any(token.kind == "word" and not token.marker for token in said)  # else it has no verb: "By 2030"
    clauses = split(said, lexicon) if has_word else []
    return bool(clauses) and all(any(_states(clause, *each, lexicon) for each in stated) for clause in clauses)


def _states(clause: Sequence[Token], quote: Sequence[Token], context: Sequence[Token], lexicon: Lexicon) -> bool:
    """Return whether the quote states the clause. The heading may name what the quote is about, but no other name."""
    in_clause = Matcher(lexicon, clause).in_context
    read_so = readings(quote, lexicon, in_clause)
    found = (compare(clause, each, context, lambda _: False, lexicon) for each in read_so)
    if all(each.conflicts or each.doubts or each.missing or each.sentences > 1 for each in found):
        return False
    if all(map(Matcher(lexicon, quote).in_context, clause)):
        return True
    known = Matcher(lexicon, [*clause, *context]).in_context
    before = takewhile(lambda token: token.kind != "word" or not in_clause(token), quote)
    other = list(takewhile(_is_named, dropwhile(lambda token: not _is_named(token) or token.marker, before)))
    return not other or any(map(known, other))


def _is_named(token: Token) -> bool:
    return token.is_name


def _is_proposition(said: Sequence[Token], asked: Sequence[Token], found: Comparison, lexicon: Lexicon) -> bool:
    """Return whether the claim repeats most of the question, and its quotes state all of it."""
    repeated = Matcher(lexicon, said)
    return len(said) == found.stated and 2 * sum(map(repeated.in_context, asked)) >= len(asked)


def _is_spaceless(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    return sum(map(has_spaceless, letters)) > len(letters) / 3


def _line(quote: str) -> str:
    """Return a quote as one line, or a row of a table per line."""
    return quote if quote.lstrip().startswith("|") else " ".join(quote.split())


def _named(texts: Sequence[Sequence[Token]]) -> list[list[Token]]:
    """Return the tokens with names marked at the beginning of sentences too, where they are names elsewhere."""
    names = {token.text for tokens in texts for token in tokens if token.is_name}
    return [[token._replace(is_name=token.text in names) for token in tokens] for tokens in texts]


def _shorten(text: str, short: Sequence[tuple[re.Pattern[str], str]]) -> str:
    for long, form in short:
        text = long.sub(form, text)
    return text


def _short_forms(text: str) -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(re.escape(long), re.IGNORECASE), form) for long, form in _introduced(text)]


def _introduced(text: str) -> Iterator[tuple[str, str]]:
    """Yield the long forms with the abbreviations that stand in brackets after them."""
    for found in _SHORT_FORM.finditer(text):
        words = text[: found.start()].split()
        for length in range(2, min(len(words), len(found[1]) + _MOST_SKIPPED) + 1):
            long = words[-length:]
            initials = [word[0] for word in long]
            essential = [word[0] for word in long if len(word) > 3]
            if found[1].upper() in ("".join(initials).upper(), "".join(essential).upper()):
                yield " ".join(long), found[1]
                break
