"""Builds and validates requests from user input, and builds the orchestrator that answers them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from api.auth.permissions import Caller
from api.errors import UsageError, usage_errors
from api.services.research.command_runs import CommandRuns
from api.services.research.runs import find_run
from api.settings import Settings
from multi_agent.catalog.catalog import AgentCatalog
from multi_agent.errors import AgentError
from multi_agent.library import Library
from multi_agent.llm.models import Models, build_llm
from multi_agent.llm.wrappers.requests import MakeLocks
from multi_agent.llm.wrappers.usage import Pace
from multi_agent.memory.memories import NO_MEMORY, Memories
from multi_agent.memory.plans import PlanMemory
from multi_agent.model import LLM
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.storage.trace import Trace
from multi_agent.toolbox.toolbox import Toolbox
from multi_agent.values.bus import Subscriber
from multi_agent.values.request import Request


def request_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a ``Request``. Named agents select mode 'direct' unless a mode is given."""
    fields = {name: given[name] for name in Request.model_fields if name in given}
    if (fields.get("agent") or fields.get("agents")) and fields.get("mode", "auto") == "auto":
        fields["mode"] = "direct"
    return fields


def make_request(given: Mapping[str, Any]) -> Request:
    """Return the request with these fields. Raises UsageError if one is invalid."""
    try:
        with usage_errors("Invalid request"):
            return Request.model_validate(request_fields(given)).validated()
    except AgentError as error:
        raise UsageError(str(error)) from error


@dataclass(eq=False)
class PanelFactory:
    """Builds models and orchestrators from the settings."""

    settings: Settings
    trace: Trace
    plans: PlanMemory
    tools: Toolbox
    memories: Memories
    make_catalog: Callable[[Settings], AgentCatalog]
    command_runs: CommandRuns
    listeners: tuple[Subscriber, ...] = ()
    """Receive the events of every run, except of replays."""
    make_locks: MakeLocks | None = None

    def use(self, settings: Settings) -> None:
        """Use these settings in the orchestrators and models that are built from now on."""
        self.settings = settings
        vars(self).pop("_known_models", None)

    @cached_property
    def catalog(self) -> AgentCatalog:
        """All agents and skills."""
        return self.make_catalog(self.settings)

    @cached_property
    def _known_models(self) -> Models:
        """Models that are used only to look up names. They get no requests, so they belong to no event loop."""
        return self.models()

    def models(self) -> Models:
        """Build the models of the settings. They belong to the event loop that first uses them.

        All processes with the same data folder or Postgres database share the limits on parallel requests to an
        endpoint.
        """
        shared, locks = self.settings.home / "endpoints", self.make_locks
        pace = Pace(self.trace.recent_calls())
        return Models(build_llm(self.settings.llm, shared, locks), self.settings.llms, shared, pace, locks)

    def model_name(self, endpoint: str) -> str:
        """Return the model of a named endpoint. '' is the default endpoint. Raises UnknownModel."""
        return self._known_models.get(endpoint).model

    def planner_model(self) -> LLM:
        """Build the model of the planner. It belongs to the event loop that first uses it. Raises UnknownModel."""
        return self.models().get(self.settings.research.agent_models.get("Planner", ""))

    def orchestrator(
        self, library: Library, models: Models | None = None, key: str = "", *, public: bool = False
    ) -> Orchestrator:
        """Build an orchestrator for a library. It uses the memories of the API key ``key``.

        A ``public`` one neither reads nor stores memories and plans, because anybody may ask it anything.
        """
        research = self.settings.research
        if public:
            research = research.model_copy(update={"plan_examples": 0, "remember_plans": False})
        return Orchestrator(
            models or self.models(),
            library,
            self.catalog.registry(),
            self.trace,
            self.plans,
            research,
            self.tools,
            NO_MEMORY if public else self.memories.for_key(key),
            self.listeners,
        )

    def validate(self, request: Request, library: Library, caller: Caller) -> Request:
        """Return the request with its question trimmed.

        Raises AgentError if no run could execute it, or if the caller may not read its template or a run of a section.
        """
        request = request.validated()
        if request.template:
            self.plans.get(request.template, caller.readable)
        for section in request.report.sections if request.report else ():
            if section.run:
                find_run(self.trace, section.run, caller)
        return self.orchestrator(library, self._known_models).validate(request)[0]
