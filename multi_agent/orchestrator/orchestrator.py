"""The entry point of research. Validates a request and runs it to a terminal state with ``run.py``."""

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from multi_agent.catalog.registry import AgentRegistry
from multi_agent.errors import AgentError
from multi_agent.orchestrator.planning.dependencies import (
    RunDependencies,
    allowed_registry,
    require_reader,
    without_sources,
)
from multi_agent.orchestrator.planning.one_step import direct_plan, fast_agents
from multi_agent.orchestrator.planning.templates import require_followable
from multi_agent.orchestrator.run import Run
from multi_agent.orchestrator.watchdog import watched
from multi_agent.values.answer import Answer
from multi_agent.values.bus import Subscriber
from multi_agent.values.events import Event
from multi_agent.values.plan import Plan, PlanExample
from multi_agent.values.request import Request


class Orchestrator(RunDependencies):
    """Researches questions. One instance can execute many concurrent runs.

    orchestrator = Orchestrator(models, library, registry, trace, plans, settings, tools)
    answer = await orchestrator.research("Which pump works at -20 °C?")
    """

    def validate(self, request: Request) -> tuple[Request, Plan | None]:
        """Return the validated request, and its saved plan or the plan for its named agents. None if the run makes one.

        Raises AgentError for an empty question, an agent that cannot work alone, an agent, model or saved plan that
        does not exist, a saved plan that contains parts of its original question, sources that no agent reads, and for
        mode ``fast`` if no agent can answer a question alone.
        """
        valid = request.validated()
        if "sources" not in request.model_fields_set:
            valid = valid.model_copy(update={"sources": self.settings.sources})
        if valid.filter:
            valid.filter.choose(self.library.catalogue(), self.library.collection)
        self.require_models(valid)
        registry = allowed_registry(self.registry, self.tools, valid.sources)
        if named := valid.agents or (valid.agent and (valid.agent,)):
            _require_allowed(registry, named)
            return valid, direct_plan(named, valid.question, registry)
        require_reader(registry, self.tools, valid.sources)
        barred = without_sources(registry, self.tools, valid.sources)
        if valid.mode == "fast" and not fast_agents(registry, barred):
            raise AgentError(
                "No agent can answer in mode 'fast', which needs an agent that works alone, such as the Reader. Enable "
                "it, or ask in mode 'high'."
            ).with_command("`candor agents enable Reader` enables it.")
        if not valid.template:
            return valid, None
        return valid, require_followable(self.plans.get(valid.template), valid.inputs, self.registry)

    async def research(
        self,
        request: Request | str,
        *listeners: Subscriber,
        run_id: str | None = None,
        examples: Sequence[PlanExample] | None = None,
        pausing: Callable[[], bool] = lambda: False,
        like: Sequence[Event] = (),
    ) -> Answer:
        """Research the question and return the answer. ``listeners`` receive every event as it happens.

        The planner sees ``examples``, by default plans that worked on similar questions. ``like`` contains the events
        of another run. The run then has the same examples, memories and date and merges parallel steps in the same
        order, so its prompts are the same, too.

        An unfinished run with this ``run_id`` is resumed. Event numbers continue, the journal answers finished model
        calls, and the budget includes earlier usage.

        A run always ends in a terminal state, which is stored with the answer. Errors of the model, the plan and the
        store end it as ``failed``. If ``pausing()`` is true, a cancelled run stays open and can be resumed. Otherwise
        it is stored as cancelled. Unexpected exceptions are stored and raised.

        Raises AgentError like ``validate``.
        """
        request, plan = self.validate(Request(question=request) if isinstance(request, str) else request)
        dependencies = replace(self, registry=allowed_registry(self.registry, self.tools, request.sources))
        run = Run(
            dependencies, request, plan, run_id or new_run_id(), listeners, examples, pausing, like, self.research
        )
        with watched():
            return await run.execute()

    async def deep_research(self, question: str, *listeners: Subscriber, samples: int | None = None) -> Answer:
        """Research in mode ``high``. The answer's ``summary`` counts the steps by agent."""
        return await self.research(Request(question=question, mode="high", samples=samples), *listeners)


def _require_allowed(registry: AgentRegistry, names: Iterable[str]) -> None:
    """Raise AgentError if one of the agents cannot work with the sources of the run."""
    for name in names:
        if name in registry.left_out:
            raise AgentError(f"The agent {name!r} {registry.left_out[name]}")


def new_run_id() -> str:
    """Return a new run id: 'run_' and 12 hexadecimal digits."""
    return f"run_{secrets.token_hex(6)}"
