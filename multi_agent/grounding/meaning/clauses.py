"""Divides a claim into clauses, each with what it is about.

    split(read("Gap was directed by Ann, who is based in Rome.", lexicon), lexicon)  # Gap directed Ann; Ann based Rome

A claim that joins sentences is compared clause by clause, since its words may all stand in the quotes and still say
something else: "Gap, which is based in Rome".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile, groupby

from multi_agent.grounding.meaning.lexicon import Lexicon
from multi_agent.grounding.meaning.reading import Token


@dataclass
class _Clause:
    subject: list[Token]
    segments: list[list[Token]]
    inner: bool = False
    """Whether it is inside another clause: a relative clause or an apposition."""
    bracket: bool = False
    turned: bool = False
    """Whether its subject belongs at its end: "where"."""

    def tokens(self, segments: Sequence[list[Token]] = ()) -> list[Token]:
        """Return the tokens with those of the subject, of all segments or of these."""
        chosen = segments or self.segments
        lead = chosen[0][0]
        about = [token._replace(marker="", segment=lead.segment, sentence=lead.sentence) for token in self.subject]
        said = [token for segment in chosen for token in segment]
        return [*said, *about] if self.turned else [*about, *said]

    @property
    def last(self) -> Token:
        return self.segments[-1][-1] if self.segments else self.subject[-1]


def split(claim: Sequence[Token], lexicon: Lexicon) -> list[list[Token]]:
    """Return the tokens of each clause, those of its subject included."""
    return [clause.tokens() for clause in _clauses(claim, lexicon)]


def readings(quote: Sequence[Token], lexicon: Lexicon) -> Iterator[Sequence[Token]]:
    """Yield the quote, its clauses, and its parts that say in turn what something is: "is a writer, and director"."""
    yield quote
    for clause in _clauses(quote, lexicon):
        joints = clause.segments[0][0].joints
        if joints & lexicon.articles and joints & lexicon.conjunctions - lexicon.relative:
            continue  # "and the dog died" has its own subject
        yield clause.tokens()
        is_something = dropwhile(lambda part: not part[0].linked, clause.segments)
        parts: list[list[list[Token]]] = []
        for segment in is_something:
            if parts and segment[0].kind != "word":
                parts[-1].append(segment)
            else:
                parts.append([segment])
        yield from map(clause.tokens, parts)


def _clauses(text: Sequence[Token], lexicon: Lexicon) -> list[_Clause]:
    clauses: list[_Clause] = []
    for _, group in groupby(text, key=lambda token: (token.sentence, token.segment)):
        first, *rest = group
        segment = rest if first.text in lexicon.joining else [first, *rest]  # "while" only joins clauses
        if segment and not (clauses and _continues(clauses, segment, lexicon)):
            clauses.append(_next(clauses, segment, lexicon))
    return [clause for clause in clauses if clause.segments]


def _continues(clauses: list[_Clause], segment: list[Token], lexicon: Lexicon) -> bool:
    """Add the segment to the clause that it continues, unless it begins a new one."""
    clause, lead = clauses[-1], segment[0]
    if lead.sentence != clause.last.sentence:
        return False
    if clause.bracket and ")" not in lead.joints:
        clause.segments.append(segment)
        return True
    joins = bool(lead.joints & lexicon.conjunctions) or _is_list(segment)
    if ")" in lead.joints or (clause.inner and not joins):
        _resume(clauses, segment)
        return True
    if "(" in lead.joints or lead.joints & lexicon.relative or _begins(clause, segment, lexicon):
        return False
    clause.segments.append(segment)
    return True


def _resume(clauses: list[_Clause], segment: list[Token]) -> None:
    """Add the segment to the clause around the last one, which the next segments continue."""
    outer = next((each for each in reversed(clauses) if not each.inner), clauses[-1])
    clauses.remove(outer)
    clauses.append(outer)
    outer.segments.append(segment)


def _begins(clause: _Clause, segment: list[Token], lexicon: Lexicon) -> bool:
    """Return whether the segment begins a clause: after "and", or as an apposition of a name."""
    lead, before = segment[0], clause.last
    if _is_list(segment):
        return False
    if lead.joints & lexicon.conjunctions:
        return _is_name(lead) or not _is_bare(before)  # "made and sold by Ann" is one clause
    return _is_name(before) and lead.kind in ("word", "name") and not (lead.linked or lead.marker)


def _next(clauses: list[_Clause], segment: list[Token], lexicon: Lexicon) -> _Clause:
    lead = segment[0]
    if clauses and lead.sentence == clauses[-1].last.sentence:
        if lead.joints & lexicon.relative or not lead.joints & lexicon.conjunctions:
            return _inner(clauses[-1], segment, lexicon)
        if not _is_name(lead) or lead.joints & lexicon.pronouns:
            return _Clause(clauses[-1].subject, [segment], inner=clauses[-1].inner)
    elif clauses and lead.joints & lexicon.pronouns:  # "She died in Rome."
        return _Clause(clauses[0].subject, [segment])
    subject = [lead, *_leading_names(segment[1:])]
    rest = [*_left_out(clauses, segment), *segment[len(subject) :]]
    return _Clause(subject, [rest] if rest else [])


def _inner(clause: _Clause, segment: list[Token], lexicon: Lexicon) -> _Clause:
    """Return a relative clause or an apposition, which is about the end of the clause before it."""
    joints, end = segment[0].joints, clause.last
    names_subject = _is_bare(end) and (_is_linked(clause, lexicon) or clause.inner)  # "Ann (is) a writer who"
    return _Clause(
        clause.subject if names_subject else _antecedent(clause), [segment], inner=True,
        bracket="(" in joints and ")" not in joints, turned=bool(joints & lexicon.places),
    )  # fmt: skip


def _left_out(clauses: Sequence[_Clause], segment: Sequence[Token]) -> list[Token]:
    """Return the words of the clause before that a clause without any takes over: "and Bob in 1970"."""
    if not clauses or any(token.kind == "word" for token in segment):
        return []
    return [token for part in clauses[-1].segments for token in part if token.kind == "word"]


def _leading_names(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        if not _is_name(token) or token.marker:
            return
        yield token


def _antecedent(clause: _Clause) -> list[Token]:
    """Return the name at the end of the clause, or its last token."""
    found: list[Token] = []
    for token in reversed([*clause.subject, *(token for segment in clause.segments for token in segment)]):
        goes_on = not found or found[0].leads or token.marker == found[0].marker
        if not (_is_name(token) and goes_on):
            break
        found.insert(0, token)
    if found and any(token is found[0] for token in clause.subject):
        return [*clause.subject, *found[len(clause.subject) :]] if len(found) > len(clause.subject) else clause.subject
    return found or [clause.last]


def _is_list(segment: Sequence[Token]) -> bool:
    """Return whether the segment has only names, or only figures and dates."""
    return all(map(_is_name, segment)) or not any(token.kind in ("name", "word") for token in segment)


def _is_name(token: Token) -> bool:
    """Return whether the token is written as a name, not only known as one from elsewhere."""
    return token.is_name and token.written[0].isupper()


def _is_linked(clause: _Clause, lexicon: Lexicon) -> bool:
    """Return whether the end of the clause says what its subject is: "is a physicist and writer"."""
    for segment in reversed(clause.segments):
        if segment[-1].linked or not segment[0].joints & lexicon.conjunctions:
            return segment[-1].linked
    return False


def _is_bare(token: Token) -> bool:
    """Return whether the token is a word without a preposition, which the next words may complete too."""
    return token.kind == "word" and not token.marker
