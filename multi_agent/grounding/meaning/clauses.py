"""Divides a claim into clauses, each with what it is about.

    split(read("Gap was directed by Ann, who is based in Rome.", lexicon), lexicon)  # Gap directed Ann; Ann based Rome

A claim that joins sentences is compared clause by clause, since its words may all stand in the quotes and still say
something else: "Gap, which is based in Rome".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile, groupby, takewhile

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
    fronted: Sequence[list[Token]] = ()
    """The segments before its subject: "In 1529"."""
    or_subject: Sequence[Token] = ()
    """Something else that it may be about: "a film by Ann, made in 1990"."""

    def tokens(self, segments: Sequence[list[Token]] = ()) -> list[Token]:
        """Return the tokens with those of the subject, of all segments or of these."""
        chosen = segments or self.segments
        lead = chosen[0][0]
        fronted = [] if segments else [token for part in self.fronted for token in part]
        if any(token.dates for part in chosen[1:] for token in part):  # "In 2020, it was 5, and it was 6 in 2021"
            fronted = [token._replace(segment=lead.segment) for token in fronted]
        about = [token._replace(segment=lead.segment, sentence=lead.sentence) for token in self.subject]
        about = [token._replace(marker="") if token.marker == about[0].marker else token for token in about]
        said = [*(token for segment in chosen for token in segment), *fronted]
        return [*said, *about] if self.turned else [*about, *said]

    @property
    def last(self) -> Token:
        return self.segments[-1][-1] if self.segments else self.subject[-1]


def split(claim: Sequence[Token], lexicon: Lexicon) -> list[list[Token]]:
    """Return the tokens of each clause, those of its subject included."""
    return [clause.tokens() for clause in _clauses(claim, lexicon)]


def predicates(text: Sequence[Token], lexicon: Lexicon) -> Iterator[tuple[list[Token], list[Sequence[Token]]]]:
    """Yield the segments, each with the tokens that it is about, or that it may be about."""
    for clause in _clauses(text, lexicon):
        for segment in (*clause.segments, *clause.fronted):
            yield segment, [clause.subject, clause.or_subject]


def readings(quote: Sequence[Token], lexicon: Lexicon, is_said: Callable[[Token], bool]) -> Iterator[Sequence[Token]]:
    """Yield the quote, its clauses, and their parts that say in turn what something is or does.

    ``is_said`` returns whether the claim has the token. After "and", it must have the first word, which may else be a
    subject: "and guests pay".
    """
    yield quote
    for clause in _clauses(quote, lexicon):
        joints = clause.segments[0][0].joints
        if joints & lexicon.conjunctions - lexicon.relative and not is_said(_predicate(clause.segments[0])):
            continue
        yield clause.tokens()
        is_something = dropwhile(lambda part: not part[0].linked, clause.segments)
        parts: list[list[list[Token]]] = []
        for segment in is_something:
            if parts and segment[0].kind != "word":
                parts[-1].append(segment)
            else:
                parts.append([segment])
        yield from map(clause.tokens, parts)
        yield from (clause.tokens([each]) for each in clause.segments if _is_participle(each[0], lexicon))


def _predicate(segment: Sequence[Token]) -> Token:
    """Return the first token of the segment that no preposition marks."""
    return next((token for token in segment if not (token.marker or token.dates)), segment[0])


def _clauses(text: Sequence[Token], lexicon: Lexicon) -> list[_Clause]:
    clauses: list[_Clause] = []
    fronted: list[list[Token]] = []
    segments = [list(group) for _, group in groupby(_numbered(text), key=lambda token: (token.sentence, token.segment))]
    for at, segment in enumerate(segments):
        if segment[0].text in lexicon.joining:  # "while" only joins clauses
            segment = segment[1:]
        if not segment or (clauses and _continues(clauses, segment, lexicon)):
            continue
        opens = not clauses or clauses[-1].last.sentence != segment[0].sentence
        if opens and _is_fronted(segment, segments[at + 1 : at + 2], lexicon):
            fronted.append(segment)
        else:
            clauses.append(_next(clauses, segment, lexicon))
            clauses[-1].fronted, fronted = fronted, []
    return [clause for clause in clauses if clause.segments]


def _numbered(text: Sequence[Token]) -> Iterator[Token]:
    """Yield the tokens with the figures that are parts of names as names: "Route 41"."""
    before: Token | None = None
    for token in text:
        is_part = token.kind == "figure" and token.written.isdigit() and not (token.leads or token.unit)
        if before and is_part and _is_name(before):
            token = token._replace(is_name=True, marker=before.marker)
        yield token
        before = token


def _continues(clauses: list[_Clause], segment: list[Token], lexicon: Lexicon) -> bool:
    """Add the segment to the clause that it continues, unless it begins a new one."""
    clause, lead = clauses[-1], segment[0]
    if lead.sentence != clause.last.sentence:
        return False
    if clause.bracket and ")" not in lead.joints:
        clause.segments.append(segment)
        return True
    if lead.linked and not lead.joints & (lexicon.conjunctions | lexicon.pronouns):
        _resume(clauses, segment)
        return True
    joins = bool(lead.joints & lexicon.conjunctions) or (_is_list(segment) and not _closes(clause, lead, lexicon))
    if ")" in lead.joints and lead.joints & lexicon.relative:
        return False
    if clause.bracket and "," in lead.joints:
        clause = _outer(clauses)
    elif ")" in lead.joints or (clause.inner and not joins):
        _resume(clauses, segment)
        return True
    if "(" in lead.joints or lead.joints & lexicon.relative or _begins(clause, segment, lexicon):
        return False
    clause.segments.append(segment)
    return True


def _closes(clause: _Clause, after: Token, lexicon: Lexicon) -> bool:
    """Return whether a phrase after an apposition belongs to the clause around it: "met Ann, a writer, in 1973"."""
    lead = clause.segments[0][0] if clause.segments else after
    return bool(after.marker) and not (lead.joints & lexicon.relative or _is_participle(lead, lexicon))


def _resume(clauses: list[_Clause], segment: list[Token]) -> None:
    """Add the segment to the clause around the last one, which the next segments continue."""
    outer = _outer(clauses)
    is_first = segment[0].joints <= {",", ")"} and outer.segments
    if segment[0].linked and is_first and not any(each[-1].linked for each in outer.segments):
        outer.subject = [*outer.subject, *outer.segments.pop(0)]  # "The campus in Lawrence, a town, is"
    outer.segments.append(segment)


def _outer(clauses: list[_Clause]) -> _Clause:
    """Return the clause around the last one, which becomes the last."""
    outer = next((each for each in reversed(clauses) if not each.inner), clauses[-1])
    clauses.remove(outer)
    clauses.append(outer)
    return outer


def _begins(clause: _Clause, segment: list[Token], lexicon: Lexicon) -> bool:
    """Return whether the segment begins a clause: after "and", or as an apposition of a name."""
    lead, before = segment[0], clause.last
    if lead.joints & {";", *lexicon.subordinating}:
        return True
    if _is_list(segment):
        return False
    if lead.joints & lexicon.conjunctions:
        return _is_name(lead) or not _is_bare(before)  # "made and sold by Ann" is one clause
    if not clause.segments and _is_participle(lead, lexicon):
        return True
    is_noun = lead.kind in ("word", "name") or lead.unit == "ordinal"
    says = [each for each in clause.segments if "," not in each[0].joints]
    if lead.kind == "word" and not (says or clause.inner or lead.joints & lexicon.articles):
        return False  # "The bridge, an arch by Ann, crosses the Elbe"
    return _is_name(before) and is_noun and not (lead.marker or lead.ending == "ing")


def _next(clauses: list[_Clause], segment: list[Token], lexicon: Lexicon) -> _Clause:
    lead = segment[0]
    if clauses and lead.sentence == clauses[-1].last.sentence:
        if lead.joints & lexicon.relative or not lead.joints & {";", *lexicon.conjunctions}:
            return _inner(clauses[-1], segment, lexicon)
        if lead.joints & lexicon.pronouns:
            return _Clause(_named_by_pronoun(clauses), [segment])
        if not (_is_name(lead) or lead.joints & {";", *lexicon.subordinating}) or _is_participle(lead, lexicon):
            if "," in lead.joints and clauses[-1].inner and not clauses[-1].segments[0][0].joints & lexicon.relative:
                _outer(clauses)  # "Gap, made in 1990, and is"
            return _Clause(clauses[-1].subject, [segment], inner=clauses[-1].inner)
    elif clauses and lead.joints & lexicon.pronouns:  # "She died in Rome."
        return _Clause(_named_by_pronoun(clauses), [segment])
    elif lead.joints & lexicon.pronouns:
        return _Clause([], [segment])
    subject = _leading(segment)
    rest = segment[len(subject) :]
    return _Clause(subject, [rest] if rest else [])


def _named_by_pronoun(clauses: Sequence[_Clause]) -> list[Token]:
    """Return the subject of the first clause."""
    subjects = [each.subject for each in clauses if each.subject and not each.inner]
    return min(subjects, key=lambda each: (each[0].sentence, each[0].segment), default=[])


def _inner(clause: _Clause, segment: list[Token], lexicon: Lexicon) -> _Clause:
    """Return a relative clause or an apposition, which is about the end of the clause before it."""
    joints, end, participle = segment[0].joints, clause.last, _is_participle(segment[0], lexicon)
    names_subject = clause.bracket or (_is_bare(end) and (_is_linked(clause, lexicon) or clause.inner))
    participle &= not joints & lexicon.relative
    names_subject |= participle and _is_noun(clause, lexicon)  # "is a film by Ann, made in 1990"
    return _Clause(
        clause.subject if names_subject else _antecedent(clause), [segment], inner=True,
        bracket="(" in joints and ")" not in joints, turned=bool(joints & lexicon.places),
        or_subject=clause.subject if clause.inner or participle else (),
    )  # fmt: skip


def _is_fronted(segment: Sequence[Token], after: Sequence[Sequence[Token]], lexicon: Lexicon) -> bool:
    """Return whether the segment begins a sentence whose subject is in the next one: "Founded by Ann in 1986"."""
    lead = segment[0]
    follows = any(each[0].sentence == lead.sentence and "," in each[0].joints for each in after)
    is_adjunct = _is_participle(lead, lexicon) and not segment[-1].linked
    is_adjunct |= all(token.marker or token.kind in ("date", "figure") for token in segment)
    return follows and is_adjunct and not (lead.joints & lexicon.pronouns or "," in lead.joints)


def _is_participle(token: Token, lexicon: Lexicon) -> bool:
    return token.kind == "word" and (bool(token.ending) or token.text in lexicon.forms)


def _leading(segment: Sequence[Token]) -> list[Token]:
    """Return the tokens before "is" or "was", or the first token with the names after it."""
    before = list(takewhile(lambda token: not token.linked, segment))
    if len(before) < len(segment):
        return before or list(segment[:1])
    return [segment[0], *takewhile(lambda token: _is_name(token) and not token.marker, segment[1:])]


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
    return token.is_name and (token.written[0].isupper() or token.written.isdigit())


def _is_linked(clause: _Clause, lexicon: Lexicon) -> bool:
    """Return whether the end of the clause says what its subject is: "is a physicist and writer"."""
    for segment in reversed(clause.segments):
        if segment[-1].linked or not segment[0].joints & lexicon.conjunctions:
            return segment[-1].linked
    return False


def _is_noun(clause: _Clause, lexicon: Lexicon) -> bool:
    """Return whether the clause says with a noun what its subject is: "is a film", and not "was founded"."""
    said = (token for segment in clause.segments for token in segment if token.linked)
    first = next(said, None)
    return first is not None and not _is_participle(first, lexicon)


def _is_bare(token: Token) -> bool:
    """Return whether the token is a word without a preposition, which the next words may complete too."""
    return token.kind == "word" and not token.marker
