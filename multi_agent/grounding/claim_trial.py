"""The self-test of the check call: whether a model may judge the claims that the rules leave open.

``candor doctor`` runs it and stores the result for the model. ``research.check_claims = "auto"`` follows it.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path

from base.models import FrozenModel
from multi_agent.errors import InvalidResponse, LLMError
from multi_agent.grounding.citations import evidence_in
from multi_agent.grounding.judged import Judged, Statement
from multi_agent.grounding.support import SupportRules
from multi_agent.grounding.support_check import ask_model
from multi_agent.llm.endpoints.memory import CLAIM_CHECKS, EndpointMemory
from multi_agent.llm.probe import Check
from multi_agent.llm.settings import EndpointSettings
from multi_agent.model import LLM
from vectorstore.models import Chunk, ChunkKind

_MOST_REFUSED = 1  # right claims; no wrong one may pass

_DECIDED = "the model decides on claims that rules leave open"
_OPEN = "claims that rules leave open stay not checked"


class _Claim(FrozenModel):
    claim: str
    quote: str
    right: bool


class _Test(FrozenModel):
    question: str
    claims: tuple[_Claim, ...]


async def try_claim_check(settings: EndpointSettings, folder: Path | None, llm: LLM) -> Check:
    """Let the model judge the claims of the test, one call per question, and store whether it may check claims."""
    name = f"{settings.table} check of claims"
    memory = EndpointMemory(settings, folder, CLAIM_CHECKS)
    try:
        verdicts = [each for test in _tests() for each in await _judge(test, llm)]
    except InvalidResponse:
        memory.keep(False)
        return Check(name=name, ok=True, detail=f"{_OPEN}: the model gave no valid response")
    except LLMError as error:
        return Check(name=name, ok=False, detail="unknown whether the model can do it", remedy=str(error))
    refused = sum(right and not supported for right, supported in verdicts)
    passed = sum(supported and not right for right, supported in verdicts)
    able = not passed and refused <= _MOST_REFUSED
    memory.keep(able)
    rights = sum(right for right, _ in verdicts)
    found = f"it confirmed {rights - refused} of {rights} right and {passed} of {len(verdicts) - rights} wrong claims"
    return Check(name=name, ok=True, detail=f"{_DECIDED if able else _OPEN}: {found}")


async def _judge(test: _Test, llm: LLM) -> list[tuple[bool, bool]]:
    """Return for each claim of the test whether it is right, and whether the model supports it."""
    open_claims = [Judged(_statement(at, each), None, "") for at, each in enumerate(test.claims)]
    rules = SupportRules(test.question, (), ())
    judged = await ask_model(open_claims, rules, test.question, llm)
    return [(each.right, bool(verdict.supported)) for each, verdict in zip(test.claims, judged, strict=True)]


def _statement(at: int, tested: _Claim) -> Statement:
    chunk = Chunk(
        id=f"{at}", document_id=f"{at}", document=f"{at}", name=f"{at}", version="", index=0, text=tested.quote,
        kind=ChunkKind.PROSE, start=0, end=len(tested.quote),
    )  # fmt: skip
    return Statement(tested.claim, (evidence_in(chunk, 0, chunk.end, tested.quote, pages=()),))


@cache
def _tests() -> tuple[_Test, ...]:
    data = tomllib.loads((files(__package__) / "claim_trial.toml").read_text(encoding="utf-8"))
    return tuple(map(_Test.model_validate, data["tests"]))
