"""The shared context of a run, the tasks of its steps, and the messages between its agents.

Messages are collected while a step runs and delivered when it has ended, in an order that does not depend on timing.
Therefore, a resumed run builds the same prompts and the journal answers them. A woken agent runs as a separate step,
``STEP.AGENT``. Its messages may wake other agents. Each agent reacts at most once to a step, so reactions always end.
"""

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from multi_agent.agent import DOCUMENTS, AgentCard, StepOutput
from multi_agent.catalog.registry import AgentRegistry
from multi_agent.errors import ContextViolation, ReferenceFailed
from multi_agent.grounding.contradictions import Contradiction, find_contradictions
from multi_agent.orchestrator.planning.validation import input_faults, own_inputs, resolve
from multi_agent.prompt import Prompt
from multi_agent.settings.research import Source
from multi_agent.values.context import AgentMessage, ContextUpdate, ResearchContext
from multi_agent.values.context_merge import admit, merge, require_declared
from multi_agent.values.events import Event
from multi_agent.values.evidence_events import ContradictionFound
from multi_agent.values.plan import Step
from multi_agent.values.request import Fork
from multi_agent.values.sources import source_of
from multi_agent.values.tasks import SubTask, TaskStorage, Wake, hears, message_of, task_data_type


class SharedContext:
    """Stores the latest ResearchContext and replaces it with every update.

    ``read_before`` contains the ids of the passages in the context when the attempt began, and ``said`` the messages of
    agents since then.
    """

    def __init__(
        self, context: ResearchContext, sources: tuple[Source, ...] = ("documents",), fork: Fork | None = None
    ) -> None:
        self.current = context
        self._sources, self._fork = sources, fork
        self.read_before: frozenset[str] = frozenset()
        self.said: tuple[AgentMessage, ...] = ()

    def merge(self, update: ContextUpdate, card: AgentCard) -> None:
        """Apply an agent's update. Raises ContextViolation like ``require_allowed``."""
        self.require_allowed(update, card)
        self.current = merge(self.current, update, agent=card.name, writes=card.writes)

    def require_allowed(self, update: ContextUpdate, card: AgentCard) -> None:
        """Raise ContextViolation for a field that the card does not declare, and for evidence that may not be used."""
        require_declared(update, card.name, card.writes)
        answers = [each for each in (update.synthesis, *(found.synthesis for found in update.findings)) if each]
        evidence = [*update.evidence, *(item for each in answers for item in each.evidence)]
        if refused := {source_of(item.origin) for item in evidence} - {*self._sources}:
            raise ContextViolation(
                f"Agent {card.name!r} cites {', '.join(sorted(refused))}, but this run may only use "
                f"{', '.join(self._sources)} (`--sources`)."
            )

    def add_messages(self, messages: Iterable[AgentMessage]) -> None:
        new = tuple(messages)
        self.said += new
        self.current = self.current.model_copy(update={"messages": (*self.current.messages, *new)})

    def begin_step(self, step: str) -> None:
        """Drop the evidence that a fork does not admit, when its step begins."""
        if (fork := self._fork) and fork.step == step:
            self._fork = None
            if fork.evidence is not None:
                self.current = admit(self.current, fork.evidence)

    def begin_attempt(self) -> None:
        """Drop the answer and the messages of the earlier attempt, and store the ids of its passages."""
        self.said = ()
        self.read_before = frozenset(chunk.id for chunk in self.current.chunks)
        self.current = self.current.model_copy(update={"synthesis": None})


class StepTasks:
    """Creates the tasks of one run, numbered in order."""

    def __init__(
        self, run_id: str, registry: AgentRegistry, storage: TaskStorage, documents: Sequence[str], question: str
    ) -> None:
        self._run_id, self._registry, self._storage = run_id, registry, storage
        self._documents, self._question = documents, question
        self._numbers = count(1)

    def for_step(
        self,
        step: Step,
        needs: Collection[str],
        outputs: Mapping[str, StepOutput],
        failed: Collection[str],
        *,
        samples: int,
        streams_claims: bool,
    ) -> list[SubTask]:
        """Create a task for each agent of the step and each sample. ``needs`` are the steps that it may refer to.

        Raises ReferenceFailed or NothingFound if the step cannot be started.
        """
        if broken := sorted({*needs} & {*failed}):
            raise ReferenceFailed(f"It needs {', '.join(broken)}, which failed.")
        instruction, inputs = resolve(step.task, outputs, needs)
        cards = [self._registry.get(agent).card for agent in step.agents]
        own = {card.name: own_inputs(card, cards, inputs) for card in cards}
        for card in cards:
            if faults := list(input_faults(card, own[card.name], {DOCUMENTS: self._documents})):
                raise ReferenceFailed(f"Its inputs do not fit {card.name}: {' '.join(faults)}")
        return [
            self._task(
                step.id, card, instruction, own[card.name],
                sample=sample if samples > 1 else None, streams_claims=streams_claims,
            )
            for sample in range(samples)
            for card in cards
        ]  # fmt: skip

    def for_reaction(self, step: str, agent: str, wake: Wake) -> SubTask:
        """Create the task of a woken agent. Its inputs are the same as for a directly asked agent."""
        card = self._registry.get(agent).card
        inputs = card.asked(self._question).model_dump(mode="json") if card.asked else {}
        return self._task(step, card, Prompt.part("react"), inputs, wake=wake)

    def delete_all(self) -> None:
        """Delete the task data of the run."""
        self._storage.delete_run(self._run_id)

    def _task(
        self,
        step: str,
        card: AgentCard,
        instruction: str,
        inputs: dict[str, Any],
        *,
        sample: int | None = None,
        streams_claims: bool = False,
        wake: Wake | None = None,
    ) -> SubTask:
        """Store the task data and return a message with its id."""
        task = task_data_type(card.name, card.inputs)(
            task_id=f"{self._run_id}_{step}_{next(self._numbers)}",
            run_id=self._run_id,
            step=step,
            agent=card.name,
            instruction=instruction,
            sample=sample,
            streams_claims=streams_claims,
            wake=wake,
            inputs=card.inputs.model_validate(inputs),
        )
        self._storage.store(task)
        return SubTask(
            sub_task_id=task.task_id, parent_task_id=self._run_id, assigned_agent_role=card.name, tools=card.tools
        )


React = Callable[[str, str, Wake], Awaitable[None]]
"""Runs an agent as the step with this id and merges its result: ``await react(step, agent, wake)``."""


class Reactions:
    """Delivers messages after every step. Subscribe ``collect`` to all events of the run."""

    def __init__(self, registry: AgentRegistry, shared: SharedContext, react: React, *, enabled: bool) -> None:
        self._registry, self._shared, self._react, self._enabled = registry, shared, react, enabled
        self._said: defaultdict[str, list[Event]] = defaultdict(list)
        self._woken: Counter[str] = Counter()
        self._contradictions: set[Contradiction] = set()

    def begin_attempt(self) -> None:
        """Clear the messages and the woken agents of the earlier attempt."""
        self._said.clear()
        self._woken.clear()

    async def collect(self, event: Event) -> None:
        """Store an event that agents can listen to until its step has ended."""
        if event.step and message_of(event):
            self._said[event.step].append(event)

    def new_contradictions(self, agent: str) -> list[ContradictionFound]:
        """Return the contradictions that the last result of ``agent`` brought into the shared context."""
        new = [each for each in find_contradictions(self._shared.current) if each not in self._contradictions]
        self._contradictions.update(new)
        return [ContradictionFound(agent=agent, sides=(each.first, each.second)) for each in new]

    async def after(self, step: str, *, is_last: bool) -> None:
        """Deliver the messages of the step and run the listeners in the order of their names.

        After the last step of the plan, no agent reacts, because no step would read the result.
        """
        news = self._deliver(step)
        reacted: set[str] = set()
        while news and self._enabled and not is_last:
            said: list[Event] = []
            for registered in self._registry:
                card, agent = registered.card, registered.card.name
                heard = [each for each in news if (text := message_of(each)) and hears(card.listens_to, agent, text)]
                if heard and agent not in reacted:
                    reacted.add(agent)
                    said += await self._wake(f"{step}.{agent}", agent, heard)
            news = said

    async def _wake(self, step: str, agent: str, heard: Sequence[Event]) -> list[Event]:
        """Wake the agent and return the events of its messages."""
        await self._react(step, agent, Wake(events=tuple(heard), earlier=self._woken[agent]))
        said = self._deliver(step)
        self._woken[agent] += bool(said)
        return said

    def _deliver(self, step: str) -> list[Event]:
        """Add the messages of the step to the shared context and return their events."""
        # Sorted and without duplicates, because the calls of a step end in any order and retries repeat messages.
        said = {each.body.model_dump_json(): each for each in self._said.pop(step, [])}
        events = [said[each] for each in sorted(said)]
        self._shared.add_messages(message for event in events if (message := message_of(event)))
        return events
