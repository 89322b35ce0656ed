"""Compares the operators of a claim's tokens with those in its quote: negation, bounds, obligation, uncertainty."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import NamedTuple

from multi_agent.grounding.meaning.reading import Token, share_segment

_NOT = "not"
_EXCLUSIVE = ("bound", "time", "amount")
_EXCLUDING = (
    frozenset({"bound:exact", "rough"}),
    frozenset({"only", "amount:all"}),
    frozenset({"only:count", "amount:all"}),
    frozenset({"force:must", "force:may"}),
)
_PLACES = ("bound", "time")
_WEAKER = ("said", "former", "force", "except", "only")
_ONLY = frozenset({"only", "only:count"})
_HARMLESS_DROP = frozenset({"amount:all", "rough", "only:count"})
_HARMLESS_ADD = frozenset({"bound:exact", "rough", "only:count"})


class Doubt(NamedTuple):
    """A difference between claim and quote. A conflict contradicts the claim; any other leaves it open."""

    reason: str
    conflict: bool


def governed_differently(
    pairs: Sequence[tuple[Token, Token]], claim: Sequence[Token], quotes: Sequence[Token]
) -> Iterator[Doubt]:
    """Yield the differences of all pairs of a token of the claim and its token in the quotes."""
    yield from _negations(pairs, claim, quotes)
    said = frozenset(operator for token in claim for operator in token.governs)
    for mine, quoted in pairs:
        beside = {each for token in quotes if token.sentence == quoted.sentence for each in token.governs} - _ONLY
        around = beside | {each for _, token in pairs if token.sentence == quoted.sentence for each in token.governs}
        denied = [any(_NOT in token.governs for token in tokens if share_segment(token, each))
                  for each, tokens in ((mine, claim), (quoted, quotes))]  # fmt: skip
        yield from _exclusions(mine, quoted, denied_alike=denied[0] == denied[1])
        yield from _only_on_one_side(mine, quoted, around, said)


def _negations(
    pairs: Sequence[tuple[Token, Token]], claim: Sequence[Token], quotes: Sequence[Token]
) -> Iterator[Doubt]:
    """Yield tokens that only one side negates. A negation at another word of the same clause is left open."""
    stated = {(quoted.sentence, quoted.segment) for _, quoted in pairs}
    near = [token for token in quotes if (token.sentence, token.segment) in stated]
    denied = [(mine, quoted) for mine, quoted in pairs if (_NOT in mine.governs) != (_NOT in quoted.governs)]
    within = any(_is_denied(quoted) for _, quoted in pairs)
    if _are_exchanged(pairs):
        yield Doubt("the claim negates what the quote says, and says what it negates", conflict=True)
    elif denied and not (within and _count(claim) == _count(near)):  # "may not enter" for "no employee may enter"
        mine, quoted = denied[0]
        side = "the claim" if _NOT in mine.governs else "the quote"
        before = quotes[max(0, quotes.index(quoted) - 1)]  # a verb may deny it, too: "postponed the vote"
        is_object = before.ending == "ed" and not quoted.leads and all(each != before for _, each in pairs)
        is_object |= not mine.marker and quoted.marker != ""  # "without service charges" for "plus 410 for service"
        limits = [_limits_beside(mine, claim), _limits_beside(quoted, quotes)]  # "not open before 9" for "opens at 9"
        conflict = _same_clause(mine, quoted, pairs) and not (is_object and _NOT in mine.governs)
        conflict &= limits[0] == limits[1]
        yield Doubt(f"only {side} negates “{mine.text}”", conflict)
    if not denied and within and not _count(claim):
        yield Doubt("the quote has a negation", conflict=False)
    if not denied and _count(claim) and not _count(near):
        yield Doubt("only the claim has a negation", conflict=False)


def _limits_beside(token: Token, tokens: Iterable[Token]) -> frozenset[str]:
    """Return the operators of limits and times, such as "before", in the same segment as the token."""
    beside = (operator for each in tokens if share_segment(each, token) for operator in each.governs)
    return frozenset(operator for operator in beside if _kind(operator) in _PLACES)


def _same_clause(mine: Token, quoted: Token, pairs: Sequence[tuple[Token, Token]]) -> bool:
    """Return whether the quote has the negated word in the same clause. "Not an album" may be about another album."""
    beside = [other for token, other in pairs if token is not mine and token.segment == mine.segment]
    if not beside:  # "but not in 2023", "a song, not an album"
        return len(pairs) == 1
    return any((each.sentence, each.segment) == (quoted.sentence, quoted.segment) for each in beside)


def _are_exchanged(pairs: Sequence[tuple[Token, Token]]) -> bool:
    """Return whether each side asserts what the other negates: "an album, not a song" and "a song, not an album".

    "Not in men" negates no alternative of "was found", which has no preposition. "Ben does not speak" denies all of its
    clause, as "but Ben does not" may.
    """
    differing = [pair for pair in pairs if _is_denied(pair[0]) != _is_denied(pair[1])]
    mine, yours = ([pair for pair in differing if _is_denied(pair[side])] for side in (0, 1))
    apart = ((one, other) for one in mine for other in yours if one[0].segment != other[0].segment)
    marks = (({one[0].marker, other[0].marker}, one[1].marker == other[1].marker) for one, other in apart)
    return any(len(said) == 1 or (alike and "" in said) for said, alike in marks)


def _is_denied(token: Token) -> bool:
    return _NOT in token.governs | token.within


def _count(tokens: Iterable[Token]) -> int:
    return sum(_NOT in token.governs for token in tokens)


def _exclusions(mine: Token, quoted: Token, *, denied_alike: bool) -> Iterator[Doubt]:
    """Yield a doubt for operators that exclude each other, such as "at least" and "at most".

    It is a conflict only if the claim and the quote are both negated, or neither is.
    """
    claimed, given = mine.governs, quoted.governs
    for kind in _EXCLUSIVE:
        one, other = _of(kind, claimed), _of(kind, given)
        if one and other and not one & other:
            is_known = kind != "amount" or "amount:all" in one | other  # "many" may be right for "most"
            yield Doubt(f"{_name(one)} for {_name(other)} “{quoted.text}”", conflict=is_known and denied_alike)
    for pair in _EXCLUDING:
        if pair <= claimed | given and not (pair <= claimed or pair <= given) and not claimed & given & pair:
            yield Doubt(f"{_name(claimed & pair)} for {_name(given & pair)} “{mine.text}”", conflict=True)


def _only_on_one_side(mine: Token, quoted: Token, around: Set[str], said: Set[str]) -> Iterator[Doubt]:
    """Yield operators that only the claim or only the quote has. ``around`` and ``said`` are all of either side."""
    added = mine.governs - quoted.governs - _HARMLESS_ADD
    added = frozenset(each for each in added if _kind(each) not in _WEAKER or _kind(each) not in map(_kind, around))
    spread = frozenset(each for each in quoted.within - mine.within - said if _kind(each) in _WEAKER)
    dropped = quoted.governs - mine.governs - _HARMLESS_DROP
    dropped = frozenset(each for each in dropped if each not in said or _kind(each) not in _WEAKER) | spread
    for operator in sorted((added | dropped) - {_NOT}):
        # "over" and "under" are plain prepositions of words, but not in "over half of the members"
        if mine.kind in ("figure", "date") or _kind(operator) not in _PLACES or _of("amount", mine.governs):
            side = "the quote" if operator in dropped else "the claim"
            yield Doubt(f"“{_name((operator,))}” of “{mine.text}” is only in {side}", conflict=False)


def _kind(operator: str) -> str:
    return operator.split(":")[0]


def _of(kind: str, operators: Iterable[str]) -> frozenset[str]:
    return frozenset(each for each in operators if _kind(each) == kind)


def _name(operators: Iterable[str]) -> str:
    return "/".join(sorted(each.split(":")[-1] for each in operators))
