"""The dependencies of a run, built once and shared by many runs, and the models of its callers."""

from dataclasses import dataclass

from multi_agent.agent import AgentCard
from multi_agent.catalog.registry import AgentRegistry
from multi_agent.errors import AgentError
from multi_agent.library import Library
from multi_agent.llm.models import Models
from multi_agent.llm.wrappers.journal import Journal, RunCalls, RunLLM
from multi_agent.llm.wrappers.usage import BudgetUsage
from multi_agent.memory.memories import NO_MEMORY, Memory
from multi_agent.memory.plans import PlanMemory
from multi_agent.model import LLM
from multi_agent.settings.research import SUPERVISORS, ResearchSettings, Source
from multi_agent.storage.trace import Trace
from multi_agent.toolbox.toolbox import Toolbox
from multi_agent.values.bus import Publish, Subscriber
from multi_agent.values.request import Request


@dataclass(frozen=True)
class RunDependencies:
    """Models, documents, agents, tools and storage of a run."""

    models: Models
    library: Library
    registry: AgentRegistry
    trace: Trace
    plans: PlanMemory
    settings: ResearchSettings
    tools: Toolbox
    memory: Memory = NO_MEMORY
    listeners: tuple[Subscriber, ...] = ()
    """Receive the events of every run."""

    def model_of(self, caller: str, request: Request, step: str = "") -> LLM:
        """Return the model of an agent or a part of the supervisor, which is its own, the request's or the default.

        The changed step of a fork uses the model of the fork. Raises UnknownModel.
        """
        if (fork := request.fork) and fork.model and fork.step == step:
            return self.models.get(fork.model)
        return self.models.get(self._endpoint_of(caller) or request.model)

    def models_of(self, request: Request) -> set[LLM]:
        """Return all models that a run of the request may call. Raises UnknownModel."""
        return {self.model_of(caller, request) for caller in (*SUPERVISORS, *self.registry.names)}

    def require_models(self, request: Request) -> None:
        """Raise UnknownModel or UnknownAgent if a model or agent in the request or the settings does not exist.

        Raises AgentError if the budget limits the cost of models without a price.
        """
        self.models.require(request.model)
        self.models.require(request.fork.model if request.fork else "")
        for caller in self.settings.agent_models:
            if caller not in SUPERVISORS and caller not in self.registry.disabled:
                self.registry.get(caller)
        for caller in (*SUPERVISORS, *self.registry.names):
            self.models.require(self._endpoint_of(caller), caller)
        budget = request.budget or self.settings.budget
        if budget.cost is not None and not any(model.has_price for model in self.models_of(request)):
            raise AgentError(
                "The budget limits the cost, but no model of the run has a price. Set `prompt_price` and "
                "`completion_price` of the endpoint, or limit the tokens."
            )

    def _endpoint_of(self, caller: str) -> str:
        own = self.registry.get(caller).card.model if caller in self.registry else ""
        return own or self.settings.agent_models.get(caller, "")


def allowed_registry(registry: AgentRegistry, tools: Toolbox, sources: tuple[Source, ...]) -> AgentRegistry:
    """Return the agents that can work with these sources.

    Omits agents whose search and tools use only other sources. An agent that also reads the results of other agents can
    work without its tools.
    """
    reasons = without_sources(registry, tools, sources)
    cards = {name: registry.get(name).card for name in reasons}
    return registry.without({name: reasons[name] for name, card in cards.items() if card.searches or not card.sees})


def without_sources(registry: AgentRegistry, tools: Toolbox, sources: tuple[Source, ...]) -> dict[str, str]:
    """Return why agents find nothing themselves in this run: their search and tools use only other sources."""
    reasons = {}
    for agent in registry:
        usable = _usable(agent.card, tools)
        if usable and not usable & {*sources}:
            reasons[agent.card.name] = (
                f"cannot work in this run, because it uses {', '.join(sorted(usable))} and the run may only use "
                f"{', '.join(sources)}. Allow more with `--sources`, such as "
                f"`--sources {','.join((*sources, *sorted(usable)))}`."
            )
    return reasons


def require_reader(registry: AgentRegistry, tools: Toolbox, sources: tuple[Source, ...]) -> None:
    """Raise AgentError if no agent reads from any of these sources."""
    if not any(_usable(agent.card, tools) & {*sources} for agent in registry):
        raise AgentError(
            f"No enabled agent reads from the sources that the run may use ({', '.join(sources)}). `candor agents` "
            "lists the agents. Enable one of them, such as the WebResearcher for the web "
            "(`candor agents enable WebResearcher`), or allow other sources."
        )


def _usable(card: AgentCard, tools: Toolbox) -> frozenset[Source]:
    """Return the sources that the agent reads by its own search or with its tools."""
    return card.searches.union(map(tools.registry.source_of, card.tools))


class RunModels:
    """Provides the models of agents and parts of the supervisor."""

    def __init__(self, dependencies: RunDependencies, request: Request, journal: Journal, spent: BudgetUsage) -> None:
        self._dependencies, self._request = dependencies, request
        self._default = dependencies.models.get(request.model)
        budget = request.budget or dependencies.settings.budget
        self._calls = RunCalls(journal, budget, spent, dependencies.models.pace)

    @property
    def model(self) -> str:
        """Name of the model for callers without a model of their own."""
        return self._default.model

    async def check_settings(self) -> None:
        """Raise LLMRefused if the settings require a feature that a model lacks. Call it before any model call."""
        for model in self._dependencies.models_of(self._request):
            await model.check_settings()

    def of(self, caller: str, publish: Publish, *, varied: bool = False, step: str = "") -> RunLLM:
        """Return the model of a part of the supervisor, or of a step's agent. ``publish`` receives its events.

        ``varied`` makes every request a sample.
        """
        model = self._dependencies.model_of(caller, self._request, step)
        return RunLLM(model, self._calls, caller, publish, varied=varied)
