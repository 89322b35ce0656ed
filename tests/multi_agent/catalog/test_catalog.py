"""Adding, changing and rejecting custom agents and skills."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from multi_agent.agents.reader import Reader
from multi_agent.catalog.catalog import AgentCatalog
from multi_agent.catalog.entries import AgentOptions, CustomAgent, Skill
from multi_agent.catalog.registry import AgentRegistry
from multi_agent.catalog.store import CatalogStore, as_toml, read_toml
from multi_agent.errors import AgentError, NameTaken, NotKept, UnknownTool
from multi_agent.settings.research import ResearchSettings
from multi_agent.settings.tools import ToolSettings
from multi_agent.storage.tool_calls import ToolCalls
from multi_agent.toolbox.approvals import Approvals
from multi_agent.toolbox.toolbox import Toolbox, ToolRegistry
from support.database import make_engine
from support.pages import PagesHere

LAWYER: dict[str, Any] = {
    "name": "Lawyer",
    "description": "Knows contracts.",
    "prompt": "# System\nYou know contracts.\n# User\n$question\n\n$evidence",
}


@pytest.fixture
def store(tmp_path: Path) -> CatalogStore:
    return CatalogStore(make_engine(tmp_path / "candor.db"), tmp_path)


def make_catalog(store: CatalogStore, **research: Any) -> AgentCatalog:
    engine = store._engine
    toolbox = Toolbox(
        ToolRegistry.discover(), ToolSettings(), Path(), Approvals(engine), ToolCalls(engine), PagesHere()
    )
    return AgentCatalog(AgentRegistry.discover(), store, ResearchSettings(**research), {"small"}, toolbox)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "lawyer"}, "name"),
        ({"name": "Planner"}, "part of the supervisor"),
        ({"prompt": "Just do it."}, "'# System'"),
        ({"prompt": "# System\nx\n# User\n$question $password"}, r"\$password, but an agent that gives notes can"),
        ({"prompt": "# System\nx\n# User\n$question costs $5"}, r"Write \$\$ for a dollar sign"),
        ({"prompt": "# System\nx\n# User\n$evidence"}, r"must contain \$question or \$instruction"),
        ({"gives": "answer", "prompt": "# System\nx\n# User\n$question $passages $notes"}, r"contains \$notes"),
        ({"weight": -1}, "weight"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_an_invalid_agent_is_rejected_with_the_reason(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        CustomAgent(**{**LAWYER, **change})


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"name": "Extractor"}, NameTaken, "'Extractor' is a built-in agent"),
        ({"model": "huge"}, AgentError, r"no model endpoint 'huge'\. Endpoints: small"),
        ({"gives": "answer", "prompt": "# System\nx\n# User\n$question"}, AgentError, r"Use \$passages in the prompt"),
        ({"tools": ("hammer",)}, UnknownTool, "'hammer' does not exist; there are calculator"),
        ({"skills": ("none-such",)}, NotKept, r"no skill 'none-such'\. The skills are: none yet"),
    ],
)
def test_an_agent_that_names_something_unknown_is_not_stored(
    store: CatalogStore, change: dict[str, Any], error: type[Exception], message: str
) -> None:
    catalog = make_catalog(store)
    with pytest.raises(error, match=message):
        catalog.add(CustomAgent(**{**LAWYER, **change}))
    assert all(agent.custom is None for agent in catalog.agents().values())


def test_an_agent_reads_the_fields_its_prompt_names(store: CatalogStore) -> None:
    catalog = make_catalog(store)
    catalog.add(CustomAgent(**{**LAWYER, "prompt": "# System\nx\n# User\n$question $passages $findings"}))
    card = catalog.registry().get("Lawyer").card
    assert card.sees == {"chunks", "ranking", "evidence", "findings"}
    assert card.writes == {"notes"}


def test_an_answering_agent_has_the_readers_inputs_and_outputs(store: CatalogStore) -> None:
    catalog = make_catalog(store)
    catalog.add(CustomAgent(**LAWYER | {"gives": "answer", "prompt": "# System\nx\n# User\n$question $passages"}))
    card = catalog.registry().get("Lawyer").card
    assert (card.inputs, card.outputs, card.writes) == (
        Reader.card.inputs, Reader.card.outputs, Reader.card.writes
    )  # fmt: skip


def test_an_empty_catalog_has_the_agents_of_the_packages(store: CatalogStore) -> None:
    found, registry = AgentRegistry.discover(), make_catalog(store).registry()
    assert [(agent.card, agent.prompt and agent.prompt.hash) for agent in registry] == [
        (agent.card, agent.prompt and agent.prompt.hash) for agent in found
    ]


def test_an_agent_survives_a_round_trip_through_toml() -> None:
    agent = CustomAgent(**{**LAWYER, "weight": None, "capabilities": ('it\'s "law"', "contracts"), "enabled": False})
    assert read_toml(as_toml(agent), CustomAgent, "it") == agent
    quoting = agent.model_copy(update={"prompt": "# System\n'''quotes'''\n# User\n$question\n"})
    assert read_toml(as_toml(quoting), CustomAgent, "it") == quoting


def test_the_settings_can_disable_a_custom_agent(store: CatalogStore) -> None:
    make_catalog(store).add(CustomAgent(**LAWYER))
    catalog = make_catalog(store, disabled_agents=("Lawyer",))
    assert "Lawyer" not in catalog.registry()
    with pytest.raises(AgentError, match=r"research\.disabled_agents"):
        catalog.set_options("Lawyer", AgentOptions(enabled=True))
    with pytest.raises(AgentError, match="'Oracle' does not exist"):
        make_catalog(store, disabled_agents=("Oracle",)).registry()


def test_an_agent_without_a_model_cannot_have_skills(store: CatalogStore) -> None:
    catalog = make_catalog(store)
    catalog.add_skill(Skill(name="plain-words", instructions="Short sentences."))
    with pytest.raises(AgentError, match="Retriever calls no model"):
        catalog.set_options("Retriever", AgentOptions(skills=("plain-words",)))


def test_two_agents_of_one_name_are_rejected_with_their_sources(store: CatalogStore, tmp_path: Path) -> None:
    catalog = make_catalog(store)
    catalog.add(CustomAgent(**LAWYER))
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "mine.toml").write_text(as_toml(CustomAgent(**LAWYER)))
    with pytest.raises(AgentError, match=r"'Lawyer' is defined twice: in .*mine\.toml and in the database"):
        catalog.registry()


def test_an_agent_may_call_the_tools_of_its_skills(store: CatalogStore) -> None:
    catalog = make_catalog(store)
    catalog.add_skill(Skill(name="sums", instructions="Calculate.", tools=("calculator",)))
    catalog.add(CustomAgent(**LAWYER, tools=("search_documents",), skills=("sums",)))
    catalog.set_options("Reader", AgentOptions(skills=("sums",)))
    cards = {agent.card.name: agent.card.tools for agent in catalog.registry()}
    assert cards["Lawyer"] == ("search_documents", "calculator")
    assert {name for name, tools in cards.items() if tools} == {"Lawyer", "Reader"}
    with pytest.raises(AgentError, match="Extractor works without tools"):
        catalog.set_options("Extractor", AgentOptions(skills=("sums",)))
    with pytest.raises(UnknownTool, match="'hammer' does not exist"):
        catalog.edit_skill(Skill(name="sums", instructions="Calculate.", tools=("hammer",)))
