"""Statements of an answer, and the verdicts on them."""

from __future__ import annotations

from typing import Literal, NamedTuple

from multi_agent.values.context import Claim, Computation, Evidence, Verdict

WORD_FOR_WORD = "Checked word for word"
CHECKED = "Checked against its quote"
COMPUTED = "Computed"
CONFIRMED = "Confirmed by a check call"


class Statement(NamedTuple):
    """A claim as the model wrote it, with the evidence and the computations that it cites."""

    text: str
    evidence: tuple[Evidence, ...]
    computations: tuple[Computation, ...] = ()


class Judged(NamedTuple):
    """The verdict on a statement. ``supported`` is None if it is open, False if the statement is rejected."""

    statement: Statement
    supported: bool | None
    reason: str
    method: Literal["rule", "model"] = "rule"
    repair: str = ""
    """A description of the repairs of the statement."""
    missing: tuple[str, ...] = ()
    """Figures and names of an open statement that are not in its evidence."""
    pictured: bool = False
    """Whether the statement is unsupported without picture readings."""
    contradicted: bool = False
    """Whether its evidence says something else."""
    shown: str = ""
    """How a supported statement was checked, in words."""

    @property
    def stands(self) -> bool:
        """Whether an answer may rest on it: supported, or open and without a figure or name that its evidence lacks."""
        return bool(self.supported) or (self.supported is None and not self.missing)

    @property
    def checked(self) -> str:
        """The verdict in words, for people."""
        if self.contradicted:
            return f"Contradicts its quote: {self.reason}"
        if not self.supported:
            return f"Not checked: {self.reason}"
        return CONFIRMED if self.method == "model" else self.shown or CHECKED

    def claim(self, text: str, evidence: tuple[int, ...]) -> Claim:
        """Return the claim of an answer, with the numbers of its evidence there."""
        verdict: Verdict = "supported" if self.supported else "contradicted" if self.contradicted else "not_checked"
        return Claim(
            text=text,
            evidence=evidence,
            computations=tuple(dict.fromkeys(each.number for each in self.statement.computations)),
            supported=bool(self.supported),
            pictured=self.pictured,
            verdict=verdict,
            stands=self.stands,
            checked=self.checked,
        )
