"""Lists the models for chat clients, which are collections and agents over a collection that can answer."""

from api.auth.permissions import Caller, Right
from api.services.documents.collections import Collections
from api.settings import Settings
from multi_agent.catalog.registry import AgentRegistry, RegisteredAgent
from multi_agent.errors import LLMUnavailable, UnknownTool
from multi_agent.orchestrator.planning.dependencies import allowed_registry
from multi_agent.orchestrator.planning.one_step import answers_alone
from multi_agent.orchestrator.planning.validation import ANSWERS
from multi_agent.settings.research import SUPERVISORS, Source
from multi_agent.toolbox.toolbox import Toolbox


def chat_models(
    collections: Collections,
    registry: AgentRegistry,
    toolbox: Toolbox,
    settings: Settings,
    caller: Caller,
    sources: tuple[Source, ...],
) -> list[str]:
    """Return the names of the models that the caller may use and that can answer from these sources.

    Omits collections without documents or with another embedding model, and agents that cannot work alone, write no
    answer, or lack their tools. Raises LLMUnavailable if the settings prevent every run.
    """
    _require_endpoints(registry, settings)
    registry = allowed_registry(registry, toolbox, sources)
    if not any(agent.card.writes & ANSWERS for agent in registry):
        return []
    agents = [agent.card.name for agent in registry if _can_answer(agent, toolbox)]
    readable = [name for name in collections.searchable() if caller.may(Right.READ, name)]
    return [model for name in readable for model in (name, *(f"{name}:{agent}" for agent in agents))]


def _can_answer(agent: RegisteredAgent, toolbox: Toolbox) -> bool:
    """Return whether the agent works alone, writes findings or notes, and can use the tools that it needs.

    An agent that does not read passages needs one usable tool, unless it has no tools.
    """
    if not answers_alone(agent.card):
        return False
    try:
        usable = [_is_usable(name, toolbox) for name in agent.card.tools]
    except UnknownTool:  # steps of this agent would fail
        return False
    reads_passages = agent.prompt is not None and "passages" in agent.prompt.placeholders
    return reads_passages or any(usable) or not usable


def _is_usable(tool: str, toolbox: Toolbox) -> bool:
    """Return whether the settings allow the tool. Raises UnknownTool if it does not exist or is disabled."""
    toolbox.registry.require(tool)
    of_server = "." in tool  # only the MCP server knows whether the tool is available
    return of_server or not toolbox.registry.get(tool).card.unavailable(toolbox.settings)


def _require_endpoints(registry: AgentRegistry, settings: Settings) -> None:
    """Raise LLMUnavailable if an agent or a part of the supervisor needs a model endpoint that does not exist."""
    own = {agent.card.name: agent.card.model for agent in registry}
    for caller in (*SUPERVISORS, *own):
        endpoint = own.get(caller) or settings.research.agent_models.get(caller, "")
        if endpoint and endpoint not in settings.llms:
            raise LLMUnavailable(
                f"{caller} needs the model endpoint {endpoint!r}, which does not exist, so no question can be "
                f"answered. Add [llms.{endpoint}] to candor.toml, or choose another endpoint for {caller}."
            )
