"""Builds plans from the steps that a model wrote. Repairs unambiguous errors and derives the order of the steps.

Other errors stay unchanged, and ``validation.py`` reports them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from pydantic import JsonValue

from multi_agent.agent import AgentCard, document_fields
from multi_agent.catalog.registry import AgentRegistry
from multi_agent.orchestrator.planning.responses import WrittenStep
from multi_agent.orchestrator.planning.validation import output_fields
from multi_agent.values.context import SINGLE_VALUED
from multi_agent.values.plan import Plan, Step, find_references, map_texts

_REFERENCE = re.compile(r"(?:[@$]|(?<!\{))\{+([^{}]*)\}+")
"""A reference as models write it, with or without ``@`` and ``outputs``, in single or double braces.

The search takes linear time for any text.
"""


def draft_plan(
    goal: str,
    written: Sequence[WrittenStep],
    registry: AgentRegistry,
    find_document: Callable[[str], str | None],
    finished: Sequence[Step] = (),
) -> tuple[Plan, tuple[str, ...]]:
    """Return the plan and the repairs for at least one written step.

    ``find_document`` returns the name of the document that a text refers to, or None. Steps can refer to ``finished``
    steps of earlier attempts.
    """
    drafter = _Drafter(registry, find_document)
    steps = drafter.named(written)
    steps = [drafter.referring(step, [*finished, *steps]) for step in steps]
    steps = [drafter.with_documents(step) for step in steps]
    steps = drafter.ending(_ordered(steps))
    plan = Plan(goal=goal, steps=tuple(_with_needs(steps, registry)))
    return plan, tuple(dict.fromkeys(drafter.repairs))


def with_documents(
    plan: Plan, registry: AgentRegistry, find_document: Callable[[str], str | None]
) -> tuple[Plan, tuple[str, ...]]:
    """Return the plan with document names as in the library, and the repairs."""
    drafter = _Drafter(registry, find_document)
    steps = tuple(drafter.with_documents(step) for step in plan.steps)
    return plan.model_copy(update={"steps": steps}), tuple(dict.fromkeys(drafter.repairs))


class _Drafter:
    """Repairs the steps of one plan and records each repair."""

    def __init__(self, registry: AgentRegistry, find_document: Callable[[str], str | None]) -> None:
        self._registry, self._find_document = registry, find_document
        self._agents = {name.casefold(): name for name in registry.names}
        self.repairs: list[str] = []

    def named(self, written: Sequence[WrittenStep]) -> list[Step]:
        """Return the steps with valid ids and with agent names as registered."""
        steps: list[Step] = []
        for each in written:
            agents = tuple(dict.fromkeys(self._agent(name) for name in (each.agent, *each.also)))
            inputs = dict(each.inputs)
            instruction = each.instruction or str(inputs.get("question", ""))
            step_id = self._id(each.id, {step.id for step in steps})
            steps.append(Step(id=step_id, agents=agents, instruction=instruction, inputs=inputs, final=each.final))
        return steps

    def _agent(self, written: str) -> str:
        name = self._agents.get(written.strip().casefold(), written)
        self._note(name != written, f"agent {written!r} read as {name!r}")
        return name

    def _id(self, written: str, used: set[str]) -> str:
        slug = _slug(written)
        step_id = next(name for name in (slug, *(f"{slug}_{at}" for at in range(2, len(used) + 3))) if name not in used)
        self._note(step_id != written, f"step {written!r} named {step_id!r}")
        return step_id

    def referring(self, step: Step, steps: Sequence[Step]) -> Step:
        """Return the step with its references in canonical form."""
        outputs = {each.id: output_fields(each, self._registry) for each in steps if self._cards(each)}

        def mend(match: re.Match[str]) -> str:
            written = _parts(match[1])
            if written is None:
                return match[0]
            target = _slug(written[0])
            name = _output(written[1], outputs.get(target, {})) if target != step.id else None
            reference = f"@{{outputs.{target}.{name}}}" if name else match[0]
            self._note(reference != match[0], f"{match[0]!r} read as {reference!r}")
            return reference

        instruction, inputs = map_texts([step.instruction, step.inputs], lambda text: _REFERENCE.sub(mend, text))
        return step.model_copy(update={"instruction": instruction, "inputs": inputs})

    def with_documents(self, step: Step) -> Step:
        """Return the step with document names as in the library."""
        inputs = dict(step.inputs)
        for name in {name for card in self._cards(step) for name in document_fields(card.inputs)}:
            given = inputs.get(name)
            if isinstance(given, list):
                inputs[name] = [self._document(each) for each in given]
        return step.model_copy(update={"inputs": inputs})

    def _document(self, written: JsonValue) -> JsonValue:
        known = self._find_document(written) if isinstance(written, str) else None
        self._note(known is not None and known != written, f"document {written!r} read as {known!r}")
        return written if known is None else known

    def ending(self, steps: Sequence[Step]) -> list[Step]:
        """Return the steps up to the one that writes the answer. Append that one if it is missing and can be added."""
        finals = [at for at, step in enumerate(steps) if step.final]
        answering = finals or [at for at, step in enumerate(steps) if "synthesis" in self._written(step)]
        if not answering and self._is_chain(steps):
            return [*steps[:-1], steps[-1].model_copy(update={"final": True})]
        if not answering:
            return [*steps, *self._answering_step(steps)]
        last = answering[-1]
        if last == 0 and not finals:  # a first step has no results to answer from
            self._note(len(steps) > 1, f"step {steps[0].id!r} moved to the end")
            return [*steps[1:], steps[0]]
        for step in steps[last + 1 :]:
            self._note(True, f"dropped step {step.id!r}, which comes after the answer")
        return list(steps[: last + 1])

    def _is_chain(self, steps: Sequence[Step]) -> bool:
        """Return whether each step answers a question that names what the step before it found."""
        linked = all(before.id in _referred(step) for before, step in pairwise(steps))
        return linked and all(self._finds_the_answer(step) for step in steps)

    def _finds_the_answer(self, step: Step) -> bool:
        cards = self._cards(step)
        return bool(cards) and all("findings" in card.writes and not card.requires for card in cards)

    def _answering_step(self, steps: Sequence[Step]) -> list[Step]:
        writers = [agent.card.name for agent in self._registry if "synthesis" in agent.card.writes]
        found = any(self._written(step) & {"evidence", "computations", "findings", "notes"} for step in steps)
        if not found or len(writers) != 1 or not all(self._cards(step) for step in steps):
            return []
        step_id = next(name for name in ("answer", "write_answer", "final_answer") if name not in {s.id for s in steps})
        self._note(True, f"added step {step_id!r}, which writes the answer")
        return [Step(id=step_id, agents=(writers[0],), instruction="Answer the question.")]

    def _written(self, step: Step) -> frozenset[str]:
        return frozenset().union(*(card.writes for card in self._cards(step)))

    def _cards(self, step: Step) -> list[AgentCard]:
        """Return the cards of the step's agents. Empty if one of the agents does not exist."""
        known = all(agent in self._registry for agent in step.agents)
        return [self._registry.get(agent).card for agent in step.agents] if known else []

    def _note(self, changed: bool, repair: str) -> None:
        if changed:
            self.repairs.append(repair)


def _slug(written: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "_", written.casefold()).strip("_")
    return (slug if slug[:1].isalpha() else f"step_{slug}".rstrip("_"))[:36]


def _parts(written: str) -> tuple[str, str | None] | None:
    """Return the step and the output that a text in braces refers to, or None if it is not a reference."""
    parts = written.strip().split(".")
    named = parts[1:] if parts[0] in ("output", "outputs") and len(parts) > 1 else parts
    if not all(named) or len(named) > 2:
        return None
    return named[0], named[1] if len(named) == 2 else None


def _output(written: str | None, outputs: Mapping[str, Any]) -> str | None:
    """Return the output that a reference names or, if there is no such output, the only text output."""
    if written in outputs:
        return written
    texts = [name for name, annotation in outputs.items() if annotation not in (int, float, bool)]
    return texts[0] if len(texts) == 1 else None


def _ordered(steps: Sequence[Step]) -> list[Step]:
    """Return the steps in their order, but each after the steps that it references. Cycles stay unchanged."""
    waiting, placed = list(steps), list[Step]()
    ids = {step.id for step in steps}
    while waiting:
        done = {step.id for step in placed}
        ready = (step for step in waiting if done.issuperset(_referred(step) & ids))
        following = next(ready, None)
        if following is None:
            return [*placed, *waiting]
        waiting.remove(following)
        placed.append(following)
    return placed


def _with_needs(steps: Sequence[Step], registry: AgentRegistry) -> Iterable[Step]:
    """Yield the steps with their needs.

    A step needs earlier steps that write a field that it reads, or a single value that it also writes. The last step
    needs all others. A need is omitted if another needed or referenced step already waits for that step.
    """
    before: dict[str, set[str]] = {}
    flows = {step.id: _flow(step, registry) for step in steps}
    for at, step in enumerate(steps):
        earlier = [each.id for each in steps[:at]]
        reads, writes = flows[step.id]
        sought = reads | (writes & SINGLE_VALUED)
        covered = set().union(*(before.get(each, set()) | {each} for each in _referred(step)))
        needs: list[str] = []
        for each in reversed(earlier):
            if each not in covered and (flows[each][1] & sought or step is steps[-1]):
                needs.insert(0, each)
                covered |= before[each] | {each}
        before[step.id] = covered
        yield step.model_copy(update={"needs": tuple(needs)})


def _flow(step: Step, registry: AgentRegistry) -> tuple[frozenset[str], frozenset[str]]:
    """Return the context fields that the step's agents read and write."""
    cards = [registry.get(agent).card for agent in step.agents if agent in registry]
    return frozenset().union(*(card.sees for card in cards)), frozenset().union(*(card.writes for card in cards))


def _referred(step: Step) -> set[str]:
    return {reference.step for reference in find_references(step.task)}
