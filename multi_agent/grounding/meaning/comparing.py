"""Compares the tokens of a claim with those of its quotes.

A claim is supported if the quotes have all of its tokens, with the same operators and in the same roles. It is
contradicted if one sentence has an incompatible token or operator in the same place. Otherwise it is left open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, groupby, pairwise
from typing import NamedTuple

from multi_agent.grounding.meaning.lexicon import Lexicon
from multi_agent.grounding.meaning.matching import Matcher, is_rounded, same_country
from multi_agent.grounding.meaning.operators import Doubt, governed_differently
from multi_agent.grounding.meaning.reading import Token

_TIMES = ("figure", "date")
_COPY = 5  # tokens of a claim that copies its quote


class Comparison(NamedTuple):
    """The differences between a claim and its quotes."""

    conflicts: tuple[str, ...]
    doubts: tuple[str, ...]
    missing: tuple[Token, ...]
    sentences: int = 0
    """Number of the sentences that the claim follows from."""
    stated: int = 0
    """Number of the tokens that the quotes state."""
    says_more: bool = True
    """Whether it says more than the question."""


class Aligned(NamedTuple):
    """A token of the claim and the token of the quote that states it, with their places."""

    at: int
    claim: Token
    place: int
    quote: Token


def compare(
    claim: Sequence[Token], quotes: Sequence[Token], context: Sequence[Token], is_known: Callable[[Token], bool],
    lexicon: Lexicon,
) -> Comparison:  # fmt: skip
    """Compare the claim with the quotes. ``context`` contains their headings, table headers and document names.

    ``is_known`` returns whether a token may be missing in the quotes, because the question or several passages have it.
    """
    return _Comparing(claim, quotes, Matcher(lexicon, context), is_known, lexicon).result()


class _Comparing:
    def __init__(
        self, claim: Sequence[Token], quotes: Sequence[Token], matcher: Matcher, is_known: Callable[[Token], bool],
        lexicon: Lexicon,
    ) -> None:  # fmt: skip
        self._claim, self._matcher, self._is_known, self._lexicon = claim, matcher, is_known, lexicon
        self._quotes = _joined_names(quotes)
        self._pairs = self._align()
        agents = {(pair.claim.marker in lexicon.agents) - (pair.quote.marker in lexicon.agents) for pair in self._pairs}
        self._voice_changed = len(agents - {0}) == 1
        self._used = {pair.place for pair in self._pairs}

    def result(self) -> Comparison:
        found = {pair.at for pair in self._pairs}
        absent = [token for at, token in enumerate(self._claim) if at not in found]
        missing = [token for token in absent if not self._matcher.in_context(token) and not self._is_known(token)]
        replaced = self._replaced(absent)
        differences = list(self._doubts())
        sentences = {pair.quote.sentence for pair in self._pairs}
        # A claim that says something else too may mean another thing, and one that joins sentences has its own order.
        # The head of a table is no sentence of its own.
        own = {
            pair.quote.sentence
            for pair in self._pairs
            if not (pair.quote.in_row and self._matcher.in_context(pair.claim))
        }
        decides = len(own or sentences) == 1 and (replaced or not missing)
        decided = [each.reason for each in differences if each.conflict and decides]
        doubts = [each.reason for each in differences if each.reason not in decided]
        return Comparison(
            (*replaced, *decided), tuple(doubts), tuple(missing), len(own or sentences), stated=len(self._pairs)
        )  # fmt: skip

    def _doubts(self) -> Iterator[Doubt]:
        yield from governed_differently([(pair.claim, pair.quote) for pair in self._pairs], self._claim, self._quotes)
        for one, other in combinations(self._pairs, 2):
            if one.quote.sentence == other.quote.sentence and not one.quote.in_row:
                yield from self._exchanged(one, other)
                yield from self._misbound(*sorted((one, other), key=lambda pair: pair.place))
        for one, other in pairwise(self._pairs):
            if one.at + 1 == other.at and not one.quote.in_row:
                yield from self._displaced(one, other)
        yield from self._scattered()
        yield from self._columns()

    # Alignment

    def _align(self) -> list[Aligned]:
        """Align the claim with one sentence if it has as many of the tokens as all together, otherwise with all."""
        sentences = sorted({token.sentence for token in self._quotes})
        places = {each: [at for at, token in enumerate(self._quotes) if token.sentence == each] for each in sentences}
        whole = self._align_in(range(len(self._quotes)))
        single = [self._align_in(places[each]) for each in sentences]
        best = max(single, key=lambda pairs: (len(pairs), _in_order(pairs)), default=[])
        return best if len(best) >= len(whole) else whole

    def _align_in(self, places: Sequence[int]) -> list[Aligned]:
        matches = {
            at: [place for place in places if self._matcher.same(token, self._quotes[place])]
            for at, token in enumerate(self._claim)
        }
        chosen = _longest_in_order(matches)
        for at, options in matches.items():
            free = [place for place in options if place not in chosen.values()] or options
            if at not in chosen and free:
                chosen[at] = free[0]
        return [Aligned(at, self._claim[at], chosen[at], self._quotes[chosen[at]]) for at in sorted(chosen)]

    # What stands in the place of a missing token

    def _replaced(self, absent: Sequence[Token]) -> list[str]:
        """Return a reason for each missing token that an incompatible one replaces. Empty if others are missing."""
        near = {pair.quote.sentence for pair in self._pairs}
        others = [each for at, each in enumerate(self._quotes) if at not in self._used and each.sentence in near]
        against = [(token, each) for token in absent if (each := self._against(token, others))]
        against = against or self._other_figure(absent)
        if any(self._matcher.converse(*each) for each in against) and self._is_turned_round():
            return []
        replaced = {token for token, _ in against}
        if any(not (token in replaced or self._matcher.in_context(token) or self._is_known(token)) for token in absent):
            return []
        return [f"“{token.text}” stands against “{each.text}”" for token, each in against]

    def _other_figure(self, absent: Sequence[Token]) -> list[tuple[Token, Token]]:
        """Return the claim's figure if the claim equals a sentence of the quote except for this figure."""
        quoted = {pair.quote.sentence for pair in self._pairs}
        rest = [at for at, each in enumerate(self._quotes) if each.sentence in quoted and at not in self._used]
        if not len(rest) == len(absent) == len(quoted) == 1 or len(self._claim) < _COPY:
            return []
        claimed, given = absent[0], self._quotes[rest[0]]
        is_there = self._claim.index(claimed) == sum(at < rest[0] for at in self._used)
        plain = claimed.kind == given.kind == "figure" and claimed.governs == given.governs
        return [(claimed, given)] if is_there and plain and not is_rounded(claimed, given) else []

    def _is_turned_round(self) -> bool:
        """Return whether the claim names two parts in another order, or another part after "than"."""
        places = [pair.place for pair in self._pairs if pair.claim.kind in ("word", "name")]
        moved = any(
            (pair.claim.marker in self._lexicon.than) != (pair.quote.marker in self._lexicon.than)
            for pair in self._pairs
        )
        return moved or places != sorted(places)

    def _against(self, token: Token, others: Sequence[Token]) -> Token | None:
        if token.kind != "word" and self._matcher.in_context(token):
            return None
        found = (each for each in others if self._matcher.excludes(token, each))
        return next((each for each in found if ("not" in token.governs) == ("not" in each.governs)), None)

    # Roles and places

    def _exchanged(self, one: Aligned, other: Aligned) -> Iterator[Doubt]:
        """Yield a doubt if the quote has two tokens in another order, unless prepositions mark their roles."""
        yield from self._voice(one, other)
        for pair in (one, other):
            if (
                pair.claim.marker != pair.quote.marker
                and {pair.claim.marker, pair.quote.marker} <= self._lexicon.strong
            ):
                reason = f"“{pair.claim.marker}” for “{pair.quote.marker} {pair.claim.text}”"
                yield Doubt(reason, conflict=True)
        if one.place <= other.place:
            return
        between = self._claim[one.at + 1 : other.at]
        timed = one.claim.kind == other.claim.kind in _TIMES and any(each.kind != one.claim.kind for each in between)
        if not (timed and self._is_swap(one, other)) and self._is_rearranged(one, other):
            return
        kinds = {one.claim.kind, other.claim.kind}
        opposed = self._matcher.opposed(one.claim, other.claim)
        compound = kinds == {"word"} and abs(one.place - other.place) == 1  # "directed the film" for "film director"
        swapped = kinds == {"word"} and not compound and self._is_swap(one, other)
        alike = self._matcher.rivals(one.claim, other.claim) or swapped
        repeated = kinds == {"date"} and any(map(self._is_repeated, (one, other)))  # "May (April to May)"
        conflict = (opposed or (len(kinds) == 1 and alike)) and not repeated
        yield Doubt(f"“{one.claim.text}” and “{other.claim.text}” have exchanged their places", conflict)

    def _is_repeated(self, pair: Aligned) -> bool:
        return sum(each.claim.dates == pair.claim.dates for each in self._pairs) > 1

    def _is_rearranged(self, one: Aligned, other: Aligned) -> bool:
        """Return whether the order of two tokens does not matter: the phrase of one was moved, or the voice changed."""
        pairs = (one, other)
        told_apart = one.claim.marker != other.claim.marker or one.claim.kind != other.claim.kind
        if told_apart and any(pair.claim.marker and pair.claim.marker == pair.quote.marker for pair in pairs):
            return True
        if self._voice_changed and {one.claim.kind, other.claim.kind} & {"name", "word"}:
            return True
        if (other.claim.predicate and one.quote.predicate) or any(map(self._is_turned, pairs)):
            return True
        if any(pair.claim.text != pair.quote.text and same_country(pair.claim.text, pair.quote.text) for pair in pairs):
            return abs(one.place - other.place) == 1  # "the inventor from Portugal" for "the Portuguese inventor"
        apart = one.claim.segment != other.claim.segment, one.quote.segment != other.quote.segment
        adjacent = abs(one.at - other.at) == 1 and abs(one.place - other.place) == 1
        return all(apart) or (adjacent and apart[0])

    def _voice(self, one: Aligned, other: Aligned) -> Iterator[Doubt]:
        """Yield a doubt for another voice: "A was bought by B" for "A bought B"."""
        agents = self._lexicon.agents
        added = other.claim.marker in agents and not other.quote.marker
        dropped = other.quote.marker in agents and not other.claim.marker
        role = {one.claim.kind, other.claim.kind} <= {"name", "word"} and not {
            one.claim.marker,
            one.quote.marker,
        } & agents
        turned = one.at + 1 == other.at and self._is_turned(other) and not self._is_reduced(one, other)
        if one.place < other.place and turned and role:
            yield Doubt(f"“{one.claim.text}” may have another role in “{other.claim.text}”", conflict=False)
        if (added or dropped) and role and one.place < other.place and one.at == 0:
            yield Doubt(f"“{other.claim.text}” has another role", conflict=other.claim.is_name)

    def _is_turned(self, pair: Aligned) -> bool:
        """Return whether the pair is a verb in the passive on one side only: "delivered", "was delivered"."""
        is_participle = pair.claim.text.endswith("ed") or pair.claim.text in self._lexicon.forms
        is_active = pair.quote.text.endswith("ing") and not pair.claim.text.endswith("ing")  # "is qualifying"
        return is_participle and (is_active or pair.claim.predicate != pair.quote.predicate)

    def _is_reduced(self, one: Aligned, other: Aligned) -> bool:
        """Return whether the quote's verb is a participle without "was", and has no object: "a film made by Ann"."""
        verb, at, agents = other.quote, other.place, self._lexicon.agents
        before, after = self._quotes[at - 1], next(iter(self._quotes[at + 1 : at + 2]), verb)
        if after.marker in agents and next((token.marker in agents for token in self._claim[other.at + 1 :]), False):
            return True
        has_object = after is not verb and after.segment == verb.segment and not (after.marker or after.kind in _TIMES)
        follows_noun = before.linked or (before.kind == "word" and before is not one.quote)
        return not (has_object or verb.predicate) and (bool(verb.leads and verb.joints) or follows_noun)

    def _is_swap(self, one: Aligned, other: Aligned) -> bool:
        """Return whether the claim is in order once the two tokens change places."""
        places = [pair.place for pair in self._pairs]
        first, second = self._pairs.index(one), self._pairs.index(other)
        places[first], places[second] = places[second], places[first]
        return places == sorted(places)

    def _misbound(self, first: Aligned, later: Aligned) -> Iterator[Doubt]:
        """Yield a doubt if two tokens of one clause of the claim are in different clauses of the quote."""
        if first.claim.segment != later.claim.segment or first.quote.segment == later.quote.segment:
            return
        rival, crossed = self._rival(first, later.quote.segment), self._rival(later, first.quote.segment)
        own_subject = not self._uses(self._in_segment(later.quote)[0])
        if other := rival or (crossed if own_subject else None):
            conflict = any(self._matcher.opposed(each.quote, other) for each in (first, later))
            if rival and crossed and self._is_nearest(first, later):  # "7 in 2023" for "5 in 2023 and 7 in 2024"
                kinds = {first.claim.kind, later.claim.kind}
                conflict |= kinds == {"date", "figure"} or self._matcher.opposed(later.quote, crossed)
            yield Doubt(f"“{first.claim.text}” and “{later.claim.text}” belong to different clauses", conflict)
        elif later.quote.kind in _TIMES and later.quote.leads and self._leads_rival(first, later):
            yield Doubt(f"“{later.claim.text}” stands before something else", conflict=False)
        elif first.quote.is_name and any(
            each.is_name and each is not first.quote and not self._uses(each)
            for each in self._in_segment(first.quote)[: self._in_segment(first.quote).index(first.quote)]
        ):
            yield Doubt(f"“{first.claim.text}” may not be what “{later.claim.text}” is about", conflict=False)

    def _is_nearest(self, first: Aligned, later: Aligned) -> bool:
        """Return whether the claim has no rival of one token that is as near to the other one."""
        apart = abs(first.at - later.at)
        return not any(
            self._matcher.rivals(one.claim, self._claim[at]) and abs(at - other.at) <= apart
            for one, other in ((first, later), (later, first))
            for at in range(len(self._claim))
        )

    def _leads_rival(self, first: Aligned, later: Aligned) -> bool:
        """Return whether something of the first one's kind follows the later one: "in A, and since 2000, in B"."""
        after = next(iter(self._quotes[later.place + 1 : later.place + 2]), first.quote)
        return (
            after.sentence == later.quote.sentence
            and self._matcher.rivals(first.quote, after)
            and not self._uses(after)
        )

    def _displaced(self, one: Aligned, other: Aligned) -> Iterator[Doubt]:
        """Yield a doubt if the quote has another figure beside the word: "7 cars" for "5 cars"."""
        figure, word, side = (one, other, -1) if one.claim.values else (other, one, 1)
        beside = word.place + side
        if word.claim.values or not figure.claim.values or not 0 <= beside < len(self._quotes):
            return
        instead = self._quotes[beside]
        direct = not (instead.predicate or instead.marker) and instead.segment == word.quote.segment
        if figure.place != beside and direct and self._matcher.rivals(figure.quote, instead):
            yield Doubt(f"“{instead.text}” stands beside “{word.claim.text}”", conflict=False)

    def _rival(self, pair: Aligned, segment: int) -> Token | None:
        """Return a token of the segment that could stand in the place of the pair's."""
        near = (each for each in self._quotes if (each.sentence, each.segment) == (pair.quote.sentence, segment))
        return next((each for each in near if self._matcher.rivals(pair.quote, each)), None)

    def _in_segment(self, token: Token) -> list[Token]:
        return [each for each in self._quotes if (each.sentence, each.segment) == (token.sentence, token.segment)]

    def _uses(self, token: Token) -> bool:
        return any(pair.quote is token for pair in self._pairs)

    def _scattered(self) -> Iterator[Doubt]:
        """Yield a doubt if a clause of the claim combines sentences without a common word."""
        clauses: dict[int, dict[int, list[Token]]] = {}
        for pair in self._pairs:
            if not pair.quote.in_row or (pair.claim.kind == "figure" and not self._matcher.in_context(pair.claim)):
                clauses.setdefault(pair.claim.segment, {}).setdefault(pair.quote.sentence, []).append(pair.claim)
        for parts in clauses.values():
            figures = sum(any(token.kind == "figure" for token in tokens) for tokens in parts.values())
            if len(parts) > 1 and (figures > 1 or not all(self._is_linked(each, parts) for each in parts)):
                yield Doubt("its words come from sentences that nothing links", conflict=False)
        sentences = {sentence for parts in clauses.values() for sentence in parts}
        for sentence in sentences if len(sentences) > 1 else ():
            lead = next(each for each in self._quotes if each.sentence == sentence)
            if not lead.in_row and not any(self._matcher.same(token, lead) for token in self._claim):
                yield Doubt(f"one of its sentences is about “{lead.written}”", conflict=False)

    def _is_linked(self, sentence: int, parts: Mapping[int, Sequence[Token]]) -> bool:
        """Return whether a word of the claim stands both in the sentence and in another one of its clause."""
        stating = [
            {each.sentence for each in self._quotes if self._matcher.same(token, each)}
            for token in self._claim
            if token.kind in ("word", "name")
        ]
        return any(sentence in found and found & (parts.keys() - {sentence}) for found in stating)

    def _columns(self) -> Iterator[Doubt]:
        """Yield a doubt if a table value is not in the column that its clause names, or else the claim."""
        rows = groupby((token for token in self._matcher.context if token.in_row), key=lambda token: token.sentence)
        found = {tuple((each.text, each.segment) for each in row): row for row in (list(row) for _, row in rows)}
        if len(found) != 1:
            return
        heads = next(iter(found.values()))
        named = {at: self._columns_of(token, heads) for at, token in enumerate(self._claim)}
        anywhere = set[int]().union(*named.values())
        values = [pair for pair in self._pairs if pair.quote.in_row and pair.quote.values and not self._in_label(pair)]
        clauses = {pair.at: _telling(named[at] for at in named if self._are_joined(at, pair.at)) for pair in values}
        decides = len(values) > 1 and all(len(columns) == 1 for columns in clauses.values())
        for pair in values:
            told = clauses[pair.at]
            expected = told or anywhere
            if pair.quote.segment not in expected and any(self._rival(pair, each) for each in expected):
                yield Doubt(f"“{pair.claim.text}” is in another column", conflict=decides)
            beside = [other.quote.segment for other in values if self._are_joined(other.at, pair.at)]
            if len(told) == len(beside) > 1 and told != beside:
                yield Doubt("its figures and columns have another order", conflict=False)

    def _columns_of(self, token: Token, heads: Sequence[Token]) -> set[int]:
        return {head.segment for head in heads if self._matcher.same(token, head)}

    def _are_joined(self, one: int, other: int) -> bool:
        return (self._claim[one].sentence, self._claim[one].segment) == (
            self._claim[other].sentence,
            self._claim[other].segment,
        )

    def _in_label(self, pair: Aligned) -> bool:
        """Return whether the figure is a part of a name in its cell: "Fjord 14"."""
        return any(each.kind in ("word", "name") and self._uses(each) for each in self._in_segment(pair.quote))


def _telling(named: Iterable[set[int]]) -> list[int]:
    """Return the columns that a word tells apart from all others, in the order of the words."""
    return list(dict.fromkeys(next(iter(columns)) for columns in named if len(columns) == 1))


def _joined_names(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens with each list of names in one segment: "Austria, Belgium and France signed"."""
    groups: dict[tuple[int, int], list[Token]] = {}
    for token in tokens:
        groups.setdefault((token.sentence, token.segment), []).append(token)
    joined: list[Token] = []
    open_names: list[Token] = []
    for (sentence, _), group in groups.items():
        if open_names and open_names[-1].sentence != sentence:
            open_names = []
        alike = len({each.kind for each in group}) == 1 and group[0].kind != "word"
        follows = (
            bool(joined)
            and joined[-1].sentence == sentence
            and not (group[0].in_row or (group[0].dates and group[0].governs))
        )
        if follows and (open_names or alike):
            segment = joined[-1].segment
            group = [each._replace(segment=segment, leads=False) for each in group]
        open_names = group if all(each.is_name for each in group) else []
        joined += group
    return joined


def _longest_in_order(matches: dict[int, list[int]]) -> dict[int, int]:
    """Return the longest choice of places that keeps the order of the claim, by its positions."""
    best: list[tuple[int, int, dict[int, int]]] = [(0, -1, {})]
    for at, options in matches.items():
        grown = [
            (length + 1, place, chosen | {at: place})
            for length, last, chosen in best
            for place in options
            if place > last
        ]
        shortest: dict[int, tuple[int, int, dict[int, int]]] = {}
        for each in (*best, *grown):
            if each[0] not in shortest or each[1] < shortest[each[0]][1]:
                shortest[each[0]] = each
        best = list(shortest.values())
    return max(best, key=lambda each: each[0])[2]


def _in_order(pairs: Iterable[Aligned]) -> int:
    places = [pair.place for pair in pairs]
    return sum(one < other for one, other in pairwise(places))
