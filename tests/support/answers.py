"""An answer with every field set: supported and unsupported claims, quotes, computations, missing parts."""

from __future__ import annotations

from datetime import UTC, datetime

from multi_agent.storage.trace import RunSummary
from multi_agent.values.answer import Answer, Computed, Nearest, Quote, Status
from multi_agent.values.context import Claim

RUN = RunSummary(
    run_id="run_1", collection="papers", question="How cold?", model="scripted", status="answered",
    started_at=datetime(2026, 3, 1, 9, 30, tzinfo=UTC),
)  # fmt: skip


def quote(number: int, text: str, document: str = "/papers/pumps.pdf", pages: tuple[int, ...] = (3,)) -> Quote:
    return Quote(
        number=number, document=document, document_id="d", chunk_id="c", pages=pages, start=0, end=1, quote=text
    )


ANSWER = Answer(
    run_id="run_1", status=Status.INSUFFICIENT, mode="high", question="How cold?", confidence=0.4,
    answer="It works at -25 °C. [1] It is loved. [unsupported] That makes 3. [C1]",
    claims=(
        Claim(text="It works at -25 °C.", evidence=(1,), supported=True),
        Claim(text="It is loved.", supported=False),
        Claim(text="That makes 3.", computations=(1,), supported=True),
    ),
    evidence=(quote(1, "works down to\n-25 °C"), quote(2, "read, but cited by no claim")),
    computations=(
        Computed(
            number=1, purpose="count them", sql="SELECT count(*) FROM records", columns=("n", "why"),
            rows=((3, None),), truncated=True, evidence=(quote(2, "one"),), flaws=("'many' is no number",),
        ),
    ),
    nearest=Nearest(answer="-25 °C", difference="the noise"),
    reasoning="Two of three are told.", looked_for=("noise levels",), found="temperatures", missing=("the noise",),
)  # fmt: skip
