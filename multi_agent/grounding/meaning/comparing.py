"""Compares the tokens of a claim with those of its quotes.

A claim is supported if the quotes have all of its tokens, with the same operators and in the same roles. It is
contradicted if one sentence has an incompatible token or operator in the same place. Otherwise it is left open.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, groupby, pairwise
from typing import NamedTuple

from multi_agent.grounding.meaning.clauses import predicates
from multi_agent.grounding.meaning.lexicon import Lexicon
from multi_agent.grounding.meaning.matching import Matcher, country, is_rounded, same_country
from multi_agent.grounding.meaning.operators import Doubt, governed_differently
from multi_agent.grounding.meaning.reading import Token, share_segment

_TIMES = ("figure", "date")
_DIRECTIONS = {"rise", "raise", "gain", "income", "more", "high"}  # opposites that a formula does not tell apart
_BOTH_WAYS = ("begin", "rise", "open")  # opposites whose verbs say the same with and without an object
_PEOPLE = {"male", "parent", "mother"}  # opposites that may be titles: "Uncle Terry" is Terry, "New York" is not York
_TURNED = {"bound:above": "bound:below", "bound:below": "bound:above",
           "time:before": "time:after", "time:after": "time:before"}  # fmt: skip
_NOUN = 3  # words, such as "race car driver"
_FIRST_CELL = 1
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
    may_be_turned: bool = False
    """Whether a word such as "fell" is missing."""
    of_rows: bool = False
    """Whether these are rows of a table, each with its name and a figure."""
    says_more: bool = True
    """Whether it says more than the question."""


class _Choice(NamedTuple):
    """A place for a token of a claim, behind the places of the tokens before it."""

    at: int
    place: int
    before: _Choice | None


class Aligned(NamedTuple):
    """A token of the claim and the token of the quote that states it, with their places."""

    at: int
    claim: Token
    place: int
    quote: Token


def compare(
    claim: Sequence[Token], quotes: Sequence[Token], context: Sequence[Token], is_known: Callable[[Token], bool],
    lexicon: Lexicon, around: Callable[[], Sequence[Token]] = tuple,
) -> Comparison:  # fmt: skip
    """Compare the claim with the quotes. ``context`` contains their headings, table headers and document names.

    ``around`` reads their passages, which tell possible units. ``is_known`` returns whether a token may be missing in
    the quotes, because the question or several passages have it.
    """
    return _Comparing(claim, quotes, Matcher(lexicon, context, around), is_known, lexicon).result()


class _Comparing:
    def __init__(
        self, claim: Sequence[Token], quotes: Sequence[Token], matcher: Matcher, is_known: Callable[[Token], bool],
        lexicon: Lexicon,
    ) -> None:  # fmt: skip
        self._claim, self._matcher, self._is_known, self._lexicon = claim, matcher, is_known, lexicon
        self._read, self._quotes = quotes, _joined_names(quotes)
        self._pairs = self._align()
        agents = {(pair.claim.marker in lexicon.agents) - (pair.quote.marker in lexicon.agents) for pair in self._pairs}
        self._voice_changed = len(agents - {0}) == 1
        self._used = {pair.place for pair in self._pairs}

    def result(self) -> Comparison:
        found = {pair.at for pair in self._pairs}
        absent = [token for at, token in enumerate(self._claim) if at not in found]
        bare = [token for token in absent if any(self._matcher.lacks_unit(token, each) for each in self._quotes)]
        absent = [token for token in absent if token not in bare]
        missing = [token for token in absent if not self._matcher.in_context(token) and not self._is_known(token)]
        replaced = self._replaced(absent)
        differences = [Doubt(f"its cell does not tell the unit of “{each.written}”", conflict=False) for each in bare]
        differences += self._doubts()
        sentences = {pair.quote.sentence for pair in self._pairs}
        # A claim that says something else too may mean another thing, and one that joins sentences has its own order.
        # The head of a table is no sentence of its own.
        own = {
            pair.quote.sentence
            for pair in self._pairs
            if not (pair.quote.in_row and self._matcher.in_context(pair.claim))
        }
        said = {token.text for token in self._quotes if token.sentence in sentences} - {t.text for t in self._claim}
        excepted = any(("except" in pair.claim.governs) != ("except" in pair.quote.governs) for pair in self._pairs)
        if said & self._lexicon.pairing or excepted:  # "5 and 7, respectively", "every day except Monday"
            replaced, differences = [], [Doubt("the quote pairs two lists, or excepts something", conflict=False)]
        decides = len(own or sentences) == 1 and (replaced or not missing)
        decided = [each.reason for each in differences if each.conflict and decides]
        doubts = [each.reason for each in differences if each.reason not in decided]
        return Comparison(
            (*replaced, *decided), tuple(doubts), tuple(missing), len(own or sentences), stated=len(self._pairs),
            may_be_turned=any(_DIRECTIONS & {s.group for s in self._lexicon.sides(each.text)} for each in missing),
            of_rows=self._is_of_rows(),
        )  # fmt: skip

    def _doubts(self) -> Iterator[Doubt]:
        yield from governed_differently([(pair.claim, pair.quote) for pair in self._pairs], self._claim, self._quotes)
        for one, other in combinations(self._pairs, 2):
            if one.quote.sentence == other.quote.sentence and not one.quote.in_row:
                yield from self._exchanged(one, other)
                yield from self._misbound(*sorted((one, other), key=lambda pair: pair.place))
        yield from self._alternatives()
        yield from self._outranked()
        yield from self._displaced()
        yield from self._adjuncts()
        yield from self._misattributed()
        yield from self._of_other_country()
        yield from self._rows()
        yield from self._columns()

    # Alignment

    def _align(self) -> list[Aligned]:
        """Align the claim with one sentence if it has as many of the tokens as all together, otherwise with all."""
        matches = {
            at: [place for place, other in enumerate(self._quotes) if self._matcher.same(token, other)]
            for at, token in enumerate(self._claim)
        }
        whole = self._choose(matches)
        sentences = sorted({self._quotes[place].sentence for places in matches.values() for place in places})
        single = [
            self._choose({at: [place for place in places if self._quotes[place].sentence == each]
                          for at, places in matches.items()})
            for each in sentences
        ]  # fmt: skip
        best = max(single, key=lambda pairs: (len(pairs), _in_order(pairs)), default=[])
        return best if len(best) >= len(whole) else whole

    def _choose(self, matches: Mapping[int, Sequence[int]]) -> list[Aligned]:
        """Return one place for each token of the claim, from its possible ones. Keeps the order where it can."""
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
        return moved or not places or places != sorted(places)  # "he lent her 5 euros": they are not named

    def _against(self, token: Token, others: Sequence[Token]) -> Token | None:
        if token.kind != "word" and self._matcher.in_context(token):
            return None
        strong = self._lexicon.strong - self._lexicon.agents
        spans = [one for one, other in pairwise(self._quotes) if not one.unit and other.unit == token.unit != ""]
        if any(each.values & token.values and not {token.marker, each.marker} <= strong for each in spans):
            return None  # "10 euros" for "from 10 to 20 euros"
        steps = (abs(b - a) for one, other in pairwise(self._quotes) for a in one.values for b in other.values)
        if token.marker in self._lexicon.agents and not token.values.isdisjoint(steps):
            return None  # "by 5 euros" for "from 10 to 15 euros"
        found = (each for each in others if self._matcher.excludes(token, each) and self._ranks_alike(token, each))
        found = (each for each in found if each.in_row or self._is_repeated(each))
        return next((each for each in found if ("not" in token.governs) == ("not" in each.governs)), None)

    def _is_repeated(self, token: Token) -> bool:
        """Return whether the claim uses the clause of this quoted token. Other tokens say nothing about the claim."""
        if any((token.sentence, token.segment) == (pair.quote.sentence, pair.quote.segment) for pair in self._pairs):
            return True
        if token.kind != "word":
            return token.kind != "figure"
        first = self._in_segment(token)[0]  # "requests" in "requests will be rejected"
        is_subject = first is not token and first.kind in ("word", "name") and not first.marker
        return not is_subject or first.text[-2:] == "ly"

    def _ranks_alike(self, token: Token, other: Token) -> bool:
        """Return whether two ordinals stand before the same word. "First made" does not contradict "fourth model"."""
        if token.unit != "ordinal":
            return True
        at, place = self._claim.index(token), self._quotes.index(other)
        after = (*self._claim[at + 1 : at + 2], *self._quotes[place + 1 : place + 2])
        return len(after) < 2 or self._matcher.same(*after)

    # Roles and places

    def _exchanged(self, one: Aligned, other: Aligned) -> Iterator[Doubt]:
        """Yield a doubt if the quote has two tokens in another order, unless prepositions mark their roles."""
        yield from self._voice(one, other)
        for pair in (one, other):
            if (
                pair.claim.marker != pair.quote.marker
                and not self._is_of_country(pair)
                and {pair.claim.marker, pair.quote.marker} <= self._lexicon.strong
            ):
                reason = f"“{pair.claim.marker}” for “{pair.quote.marker} {pair.claim.text}”"
                yield Doubt(reason, conflict=True)
        articles = one.claim.article, other.claim.article
        if articles[0] != one.quote.article and articles == (other.quote.article, one.quote.article):
            yield Doubt(f"“{one.claim.text}” and “{other.claim.text}” have exchanged their articles", conflict=False)
        if one.place <= other.place:
            return
        between = self._claim[one.at + 1 : other.at]
        timed = one.claim.kind == other.claim.kind in _TIMES and any(each.kind != one.claim.kind for each in between)
        if not (timed and self._is_swap(one, other)) and self._is_rearranged(one, other):
            return
        kinds = {one.claim.kind, other.claim.kind}
        opposed = self._matcher.opposed(one.claim, other.claim) and one.quote.is_name == other.quote.is_name
        compound = kinds == {"word"} and abs(one.place - other.place) == 1  # "directed the film" for "film director"
        kept = {one.claim.marker, other.claim.marker} == {one.quote.marker, other.quote.marker}
        swapped = kinds == {"word"} and kept and not compound and self._is_swap(one, other)
        alike = self._matcher.rivals(one.claim, other.claim) or swapped
        # "the governor, Sol" says that "Sol is the governor"
        titled = other.claim.linked and not (one.claim.linked or one.quote.linked)
        alike &= kinds != {"name"} or self._have_roles(one, other)
        conflict = opposed or (len(kinds) == 1 and alike and not titled)
        of_country = [self._is_of_country(pair) for pair in (one, other)]
        conflict &= any(of_country) == all(of_country)  # "came from Italy" for "his Italian mother"
        yield Doubt(f"“{one.claim.text}” and “{other.claim.text}” have exchanged their places", conflict)

    def _have_roles(self, one: Aligned, other: Aligned) -> bool:
        """Return whether two names have roles that can be exchanged: "Ann beat Bob", and not "Ann Bell"."""
        says_word = any(pair.claim.kind == "word" for pair in self._pairs)
        moved = any(pair.claim.marker != pair.quote.marker for pair in (one, other))
        verb = any(one.at < pair.at < other.at and other.place < pair.place < one.place for pair in self._pairs)
        before = self._claim[other.at - 1] if other.claim.adjoins else other.claim  # "to" in "to Jan Orel"
        marks = {one.claim.marker, other.claim.marker or before.marker}
        kept = {one.quote.marker, other.quote.marker} == marks  # "Rome, where the Dane lives": "the Dane in Rome"
        return says_word and kept and (moved or verb or one.quote.segment == other.quote.segment)

    def _is_rearranged(self, one: Aligned, other: Aligned) -> bool:
        """Return whether the order of two tokens does not matter: the phrase of one was moved, or the voice changed."""
        pairs = (one, other)
        told_apart = one.claim.marker != other.claim.marker or one.claim.kind != other.claim.kind
        if any(pair.claim.article == pair.quote.article != "" for pair in pairs):
            return True  # "den Vertrag kündigt der Mieter"
        if {_TURNED.get(each) for each in other.claim.governs} & one.quote.governs:
            return True  # "imports were below exports" for "exports exceeded imports"
        if told_apart and any(pair.claim.marker and pair.claim.marker == pair.quote.marker for pair in pairs):
            return True
        if self._voice_changed and {one.claim.kind, other.claim.kind} & {"name", "word"}:
            return True
        if other.place in _described(self._read, one.place) | {one.place} and country(one.claim.text):
            return True  # "the Hungarian violinist Ann" for "Ann, a Hungarian violinist"
        named_by = other.claim.predicate and one.quote.predicate and not (other.claim.marker or one.quote.marker)
        if named_by or any(map(self._is_turned, pairs)):
            return True
        if other.claim.kind == "word" and self._is_of_noun(one, other):
            return True
        if any(map(self._is_of_country, pairs)):
            return self._is_noun(*sorted((one.place, other.place)))  # "a car driver from Portugal"
        apart = one.claim.segment != other.claim.segment, one.quote.segment != other.quote.segment
        adjacent = abs(one.at - other.at) == 1 and abs(one.place - other.place) == 1
        return all(apart) or (adjacent and apart[0])

    def _is_of_country(self, pair: Aligned) -> bool:
        """Return whether one side has a country and the other its adjective, such as Portugal and Portuguese."""
        return pair.claim.text != pair.quote.text and same_country(pair.claim.text, pair.quote.text)

    def _is_of_noun(self, one: Aligned, other: Aligned) -> bool:
        """Return whether the quote has the second token before the noun of the first: "pending proceedings"."""
        words = self._quotes[other.place + 1 : one.place + 1]
        says_noun_is = other.claim.predicate and not other.claim.marker and all(token.adjoins for token in words)
        verb = any(side.group in _BOTH_WAYS for side in self._lexicon.sides(other.claim.text))
        return (says_noun_is or verb) and self._is_noun(other.place, one.place)

    def _is_noun(self, first: int, last: int) -> bool:
        """Return whether the quote's tokens after the first place, up to the last, are the words of one noun."""
        marks = ("", self._quotes[first].marker)
        words = self._quotes[first + 1 : last + 1]
        return 0 < len(words) <= _NOUN and all(
            token.kind in ("word", "name") and token.marker in marks and not token.leads for token in words
        )

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
        names_agent = one.claim.text != one.quote.text  # "its founder, Ann" for "founded by Ann"
        if (added or dropped) and role and one.place < other.place and one.at == 0 and not names_agent:
            within = one.quote.segment == other.quote.segment  # "the novel, which Ann wrote": "the novel by Ann"
            yield Doubt(f"“{other.claim.text}” has another role", conflict=other.claim.is_name and within)

    def _is_turned(self, pair: Aligned) -> bool:
        """Return whether the pair is a verb in the passive on one side only: "delivered", "was delivered"."""
        is_participle = pair.claim.ending == "ed" or pair.claim.text in self._lexicon.forms
        is_active = pair.quote.ending == "ing" and pair.claim.ending != "ing"  # "is qualifying"
        passive = pair.quote.predicate and not is_active
        return is_participle and pair.claim.predicate != passive

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
            alike = [each for each in (first, later) if each.quote.is_name == other.is_name]  # "old" is not "New York"
            conflict = any(self._matcher.opposed(each.quote, other) for each in alike)
            if crossed and crossed.marker and crossed.kind not in _TIMES and first.quote.kind == "word":
                conflict &= bool(first.quote.marker)  # "sales in the north rose, those in the south fell"
            if rival and crossed and self._is_nearest(first, later):  # "7 in 2023" for "5 in 2023 and 7 in 2024"
                kinds = {first.claim.kind, later.claim.kind}
                conflict |= kinds == {"date", "figure"} or self._matcher.opposed(later.quote, crossed)
            yield Doubt(f"“{first.claim.text}” and “{later.claim.text}” belong to different clauses", conflict)

    def _adjuncts(self) -> Iterator[Doubt]:
        """Yield a doubt for a token that belongs to another word in the quote: "left in 1820" for "built in 1820"."""
        for pair in (each for each in self._pairs if not each.quote.in_row):
            if word := self._other_word(pair, self._in_segment(pair.quote)):
                yield Doubt(f"“{pair.claim.text}” may belong to “{word.text}”", conflict=False)

    def _other_word(self, pair: Aligned, segment: Sequence[Token]) -> Token | None:
        """Return the word that the token belongs to in the quote, if the claim does not have it."""
        at, marks = segment.index(pair.quote), {pair.claim.marker, pair.quote.marker}
        before, after = segment[max(0, at - 1)], segment[min(len(segment) - 1, at + 1)]
        is_known = self._uses(before) or before.marker in marks - {""}  # "in the city of Rome" for "in Rome"
        if "" not in marks and len(marks) == 2 and pair.claim.kind not in _TIMES and not is_known:
            return None if self._is_of_country(pair) else before  # "studied in Paris" for "moved to Paris"
        follows_is = pair.claim.linked and pair.at > 0 and not self._claim[pair.at - 1].linked
        in_phrase = after.marker == pair.quote.marker and self._uses(after)  # "pending" of "any pending cases"
        if follows_is and pair.claim.kind == "word" and not (pair.claim.marker or in_phrase) and pair.quote.marker:
            return before  # "is a composer" for "the sister of a composer"
        apart = any(
            each.quote.segment != pair.quote.segment for each in self._pairs if self._are_joined(each.at, pair.at)
        )
        words = [each for each in segment[:at] if each.kind == "word" and not each.marker and each.text[-2:] != "ly"]
        if not (apart and words) or self._uses(words[-1]):
            return None
        is_change = any(side.group in _DIRECTIONS for side in self._lexicon.sides(words[-1].text))
        is_change = is_change and any(each.kind == "figure" for each in segment)
        return None if is_change else words[-1]  # "declined to 5 % by 2010": in 2010, it was 5 %

    def _misattributed(self) -> Iterator[Doubt]:
        """Yield a doubt if a segment of the quote says of something else what the claim says of its subject."""
        stated = {id(pair.claim): self._read[pair.place] for pair in self._pairs}
        segments = list(predicates(self._read, self._lexicon))
        for said, (about, _) in predicates(self._claim, self._lexicon):
            lead = next((token for token in said if token.linked or not (token.marker or token.dates)), said[0])
            told = [stated[id(token)] for token in about if id(token) in stated]
            unclear = id(lead) not in stated or not told or (lead.marker and not lead.linked)
            if unclear or told[-1].in_row or about[-1].kind == "figure":
                continue
            predicate = stated[id(lead)]
            holding = [each for each in segments if any(token is predicate for token in each[0])]
            for segment, subjects in holding:
                whole = all(self._names([token], segment) for token in about)
                if segment[0].joints & self._lexicon.pronouns:  # "It", in the place of the heading
                    whole = whole or all(map(self._matcher.in_context, about))
                if not (whole or any(self._are_alike(about, each) for each in subjects)):
                    yield Doubt(f"“{predicate.written}” may not be about “{about[-1].written}”", conflict=False)

    def _of_other_country(self) -> Iterator[Doubt]:
        """Yield a doubt if the quote assigns a country or nationality to something else."""
        places = {pair.at: pair.place for pair in self._pairs}
        for pair in (each for each in self._pairs if country(each.quote.text)):
            said = {places[at] for at in _described(self._claim, pair.at) if at in places}
            own = _described(self._read, pair.place)
            others = (at for at, each in enumerate(self._quotes) if country(each.text) and at != pair.place)
            elsewhere = any(said & _described(self._read, at) for at in others)
            if said and not said & own and (elsewhere or any(self._quotes[at].is_name for at in own)):
                yield Doubt(f"“{pair.quote.written}” describes something else in the quote", conflict=False)

    def _names(self, about: Sequence[Token], tokens: Sequence[Token]) -> bool:
        return any(self._matcher.same(token, each) for token in about for each in tokens)

    def _are_alike(self, about: Sequence[Token], subject: Sequence[Token]) -> bool:
        """Return whether the subjects share their head: "exchange" of "Warsaw stock exchange", or all of one name."""
        if not all(token.is_name for token in (*about, *subject)):
            return self._names(about, [token for token in subject if not token.marker][-1:] or subject)
        return any(
            all(self._names([token], other) for token in one)
            for one, other in ((about, subject), (subject, about))
            if one
        )

    def _is_nearest(self, first: Aligned, later: Aligned) -> bool:
        """Return whether the claim has no rival of one token that is as near to the other one."""
        apart = abs(first.at - later.at)
        return not any(
            self._matcher.rivals(one.claim, self._claim[at]) and abs(at - other.at) <= apart
            for one, other in ((first, later), (later, first))
            for at in range(len(self._claim))
        )

    def _alternatives(self) -> Iterator[Doubt]:
        """Yield a doubt if the claim joins two adjacent figures or dates with another word, such as "or" for "to"."""
        for one, other in pairwise(self._pairs):
            adjacent = one.quote.kind == other.quote.kind in _TIMES and other.place == one.place + 1
            if adjacent and self._link(one.claim, other.claim) != self._link(one.quote, other.quote):
                yield Doubt(f"“{other.claim.text}” is joined in another way in the quote", conflict=False)

    def _link(self, one: Token, other: Token) -> str:
        """Return whether two adjacent figures are an "alternative" or an "addition". Empty for a range and a list."""
        links = sorted(self._lexicon.links[each] for each in other.joints - one.joints if each in self._lexicon.links)
        return "" if one.marker in self._lexicon.between else "".join(links[:1])

    def _outranked(self) -> Iterator[Doubt]:
        """Yield a doubt if the claim leaves out a rank before a word: "the largest" for "the third largest"."""
        for pair in self._pairs:
            before = self._quotes[pair.place - 1] if pair.place and not pair.quote.leads else pair.quote
            if before.unit == "ordinal" and before.values != {1} and not self._uses(before):
                yield Doubt(f"“{before.text}” stands before “{pair.claim.text}”", conflict=False)
            is_kind = any(side.group not in _PEOPLE for side in self._lexicon.sides(before.text))
            is_part = before.is_name and pair.quote.is_name and pair.quote.adjoins and not self._uses(before)
            if is_kind and is_part:
                yield Doubt(f"it is “{before.written} {pair.quote.written}” in the quote", conflict=False)

    def _displaced(self) -> Iterator[Doubt]:
        """Yield a doubt if the quote has another name in the place of one: "captain of Yale" for "of Harvard"."""
        places = {pair.at: pair.place for pair in self._pairs}
        for at, token in enumerate(self._claim[1:], 1):
            first = places.get(at - 1, len(self._quotes)) + 1  # after what states the word before the name
            own = places.get(at, 0)
            phrase = self._quotes[first : max(first + 1, own)]
            leads_to_it = own > first and all(each.is_name or each.marker == token.marker for each in phrase)
            other = phrase[0] if phrase else token
            is_rival = token.is_name and other.is_name and token.marker == other.marker != ""
            if is_rival and not (leads_to_it or self._uses(other) or self._matcher.same(token, other)):
                yield Doubt(f"“{other.written}” stands in the place of “{token.written}”", conflict=False)

    def _rival(self, pair: Aligned, segment: int) -> Token | None:
        """Return a token of the segment that could stand in the place of the pair's."""
        near = (each for each in self._quotes if (each.sentence, each.segment) == (pair.quote.sentence, segment))
        return next((each for each in near if self._matcher.rivals(pair.quote, each)), None)

    def _in_segment(self, token: Token) -> list[Token]:
        return [each for each in self._quotes if (each.sentence, each.segment) == (token.sentence, token.segment)]

    def _uses(self, token: Token) -> bool:
        return any(pair.quote is token for pair in self._pairs)

    def _rows(self) -> Iterator[Doubt]:
        """Yield a doubt if no row of a table has a value of the claim together with the name that it stands beside."""
        cells = [pair for pair in self._pairs if pair.quote.in_row and not self._matcher.in_context(pair.claim)]
        labels = [pair for pair in cells if pair.claim.kind not in _TIMES]
        for pair in (each for each in cells if labels and each not in labels):
            near = [each for each in labels if self._are_joined(each.at, pair.at)] or labels  # "two for the letterbox"
            label = next((each for each in reversed(near) if each.at < pair.at), near[0])
            rows = {token.sentence for token in self._quotes if self._matcher.same(label.claim, token)}
            if not any(self._matcher.same(pair.claim, token) for token in self._quotes if token.sentence in rows):
                yield Doubt(f"“{pair.claim.text}” and “{label.claim.text}” stand in different rows", conflict=False)

    def _is_of_rows(self) -> bool:
        """Return whether the claim has only figures of rows with the names of these rows, and words of their head."""
        cells = [pair for pair in self._pairs if not self._matcher.in_context(pair.claim)]
        figures = {pair.quote.sentence for pair in cells if pair.claim.kind in _TIMES}
        labels = {pair.quote.sentence for pair in cells if pair.claim.kind not in _TIMES}
        in_first = all(pair.claim.kind in _TIMES or pair.quote.segment == _FIRST_CELL for pair in cells)
        return in_first and labels == figures and all(pair.quote.in_row for pair in self._pairs)

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
            beside = [other.quote.segment for other in values if self._are_joined(other.at, pair.at)]
            free = {*(told or anywhere)} - {*beside}
            if pair.quote.segment not in (told or anywhere) and any(self._rival(pair, each) for each in free):
                yield Doubt(f"“{pair.claim.text}” is in another column", conflict=decides)
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


def _described(tokens: Sequence[Token], at: int) -> set[int]:
    """Return the places of the words that a country or nationality describes, as in "Toral, an Italian group"."""
    token = tokens[at]
    lead = next(each for each in range(at + 1) if share_segment(tokens[each], token))
    is_from = token.marker and country(token.text) == token.text
    after = [] if is_from else _phrase(tokens, range(at, len(tokens)))[1:]
    found = after or _phrase(tokens, range(lead, at)[::-1])
    if token.linked:
        return {*found, *(each for each in range(lead, at) if not tokens[each].linked)}
    return {*found, *(_phrase(tokens, range(lead)[::-1]) if "," in token.joints else ())}


def _phrase(tokens: Sequence[Token], places: Sequence[int]) -> list[int]:
    """Return the places of adjacent words in this direction, up to another country or the end of a name."""
    found = list(places[:1])
    for at in places[1:]:
        one, last = tokens[at], tokens[found[-1]]
        ends = country(one.text) or (last.is_name and not (one.is_name or len(found) == 1))
        if ends or not (share_segment(one, last) and tokens[max(at, found[-1])].adjoins):
            break
        found.append(at)
    return found


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
        follows = bool(joined) and joined[-1].sentence == sentence and not (group[0].in_row or group[0].governs)
        if follows and (alike or (open_names and group[0].is_name and not group[0].linked)):
            segment = joined[-1].segment
            group = [each._replace(segment=segment, leads=False) for each in group]
        open_names = group if all(each.is_name for each in group) else []
        joined += group
    return joined


def _longest_in_order(matches: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """Return the longest choice of places that keeps the order of the claim, by its positions (patience sorting)."""
    ends: list[int] = []  # the first place at which a choice of each length can end
    choices: list[_Choice] = []
    for at, options in matches.items():
        for place in sorted(options, reverse=True):
            length = bisect_left(ends, place)
            if place not in ends[length : length + 1]:
                choice = _Choice(at, place, choices[length - 1] if length else None)
                ends[length : length + 1], choices[length : length + 1] = [place], [choice]
    chosen = [choices[-1]] if choices else []
    while chosen and (before := chosen[-1].before):
        chosen.append(before)
    return {each.at: each.place for each in reversed(chosen)}


def _in_order(pairs: Iterable[Aligned]) -> int:
    places = [pair.place for pair in pairs]
    return sum(one < other for one, other in pairwise(places))
