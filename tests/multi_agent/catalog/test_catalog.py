"""What can be an agent, what is refused and why, and that nothing is changed by what was refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from pydantic import ValidationError

from multi_agent.agents.reader import Reader
from multi_agent.catalog.catalog import AgentCatalog
from multi_agent.catalog.entries import Choice, CustomAgent, Skill
from multi_agent.catalog.registry import AgentRegistry
from multi_agent.catalog.store import CatalogStore, as_toml, read_toml
from multi_agent.errors import AgentError, NameTaken, NotKept, UnknownTool
from multi_agent.settings import ResearchSettings
from multi_agent.toolbox.registry import ToolRegistry

LAWYER: dict[str, Any] = {
    "name": "Lawyer",
    "description": "Knows contracts.",
    "prompt": "# System\nYou know contracts.\n# User\n$question\n\n$evidence",
}


@pytest.fixture
def roster(tmp_path: Path) -> CatalogStore:
    return CatalogStore(sql.create_engine(f"sqlite:///{tmp_path / 'candor.db'}"), tmp_path)


def make_cast(roster: CatalogStore, **research: Any) -> AgentCatalog:
    return AgentCatalog(
        AgentRegistry.discover(), roster, ResearchSettings(**research), {"small"}, ToolRegistry.discover()
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "lawyer"}, "name"),
        ({"name": "Planner"}, "part of the supervisor"),
        ({"prompt": "Just do it."}, "'# System'"),
        ({"prompt": "# System\nx\n# User\n$question $password"}, r"names \$password; an agent that gives notes can"),
        ({"prompt": "# System\nx\n# User\n$question costs $5"}, r"write \$\$ for a literal one"),
        ({"prompt": "# System\nx\n# User\n$evidence"}, r"has to name \$question or \$instruction"),
        ({"gives": "answer", "prompt": "# System\nx\n# User\n$question $passages $notes"}, r"names \$notes"),
        ({"weight": -1}, "weight"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_cannot_be_an_agent_is_refused_with_the_reason(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        CustomAgent(**{**LAWYER, **change})


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"name": "Extractor"}, NameTaken, "'Extractor' is a built-in agent"),
        ({"model": "huge"}, AgentError, "no model endpoint 'huge'; there are: small"),
        ({"gives": "answer", "prompt": "# System\nx\n# User\n$question"}, AgentError, r"name \$passages in the prompt"),
        ({"tools": ("hammer",)}, UnknownTool, "'hammer' does not exist; there are calculator"),
        ({"skills": ("none-such",)}, NotKept, "no skill 'none-such'; there are: none yet"),
    ],
)
def test_an_agent_that_names_what_is_not_there_is_not_kept(
    roster: CatalogStore, change: dict[str, Any], error: type[Exception], said: str
) -> None:
    cast = make_cast(roster)
    with pytest.raises(error, match=said):
        cast.add(CustomAgent(**{**LAWYER, **change}))
    assert all(member.custom is None for member in cast.members().values())


def test_what_an_agent_sees_is_what_its_prompt_names(roster: CatalogStore) -> None:
    cast = make_cast(roster)
    cast.add(CustomAgent(**{**LAWYER, "prompt": "# System\nx\n# User\n$question $passages $findings"}))
    card = cast.registry().get("Lawyer").card
    assert card.sees == {"chunks", "ranking", "evidence", "findings"}
    assert card.writes == {"notes"}


def test_an_agent_that_answers_takes_and_gives_what_the_reader_does(roster: CatalogStore) -> None:
    cast = make_cast(roster)
    cast.add(CustomAgent(**LAWYER | {"gives": "answer", "prompt": "# System\nx\n# User\n$question $passages"}))
    card = cast.registry().get("Lawyer").card
    assert (card.inputs, card.outputs, card.writes) == (
        Reader.card.inputs, Reader.card.outputs, Reader.card.writes
    )  # fmt: skip


def test_without_anything_kept_the_agents_are_those_of_the_packages(roster: CatalogStore) -> None:
    found, registry = AgentRegistry.discover(), make_cast(roster).registry()
    assert [(agent.card, agent.prompt and agent.prompt.hash) for agent in registry] == [
        (agent.card, agent.prompt and agent.prompt.hash) for agent in found
    ]


def test_an_agent_is_the_same_after_it_was_written_as_a_file() -> None:
    agent = CustomAgent(**{**LAWYER, "weight": None, "capabilities": ('it\'s "law"', "contracts"), "enabled": False})
    assert read_toml(as_toml(agent), CustomAgent, "it") == agent
    quoting = agent.model_copy(update={"prompt": "# System\n'''quotes'''\n# User\n$question\n"})
    assert read_toml(as_toml(quoting), CustomAgent, "it") == quoting


def test_the_settings_can_disable_what_was_added(roster: CatalogStore) -> None:
    make_cast(roster).add(CustomAgent(**LAWYER))
    cast = make_cast(roster, disabled_agents=("Lawyer",))
    assert "Lawyer" not in cast.registry()
    with pytest.raises(AgentError, match=r"research\.disabled_agents"):
        cast.give("Lawyer", Choice(enabled=True))
    with pytest.raises(AgentError, match="'Oracle' does not exist"):
        make_cast(roster, disabled_agents=("Oracle",)).registry()


def test_an_agent_without_a_model_is_given_no_skill(roster: CatalogStore) -> None:
    cast = make_cast(roster)
    cast.add_skill(Skill(name="plain-words", instructions="Short sentences."))
    with pytest.raises(AgentError, match="Retriever asks no model"):
        cast.give("Retriever", Choice(skills=("plain-words",)))


def test_two_of_one_name_are_refused_with_their_places(roster: CatalogStore, tmp_path: Path) -> None:
    cast = make_cast(roster)
    cast.add(CustomAgent(**LAWYER))
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "mine.toml").write_text(as_toml(CustomAgent(**LAWYER)))
    with pytest.raises(AgentError, match=r"'Lawyer' is kept twice: in .*mine\.toml and in the database"):
        cast.registry()


def test_the_tools_of_a_skill_are_those_of_the_agents_that_have_it(roster: CatalogStore) -> None:
    cast = make_cast(roster)
    cast.add_skill(Skill(name="sums", instructions="Calculate.", tools=("calculator",)))
    cast.add(CustomAgent(**LAWYER, tools=("search_documents",), skills=("sums",)))
    cast.give("Reader", Choice(skills=("sums",)))
    cards = {agent.card.name: agent.card.tools for agent in cast.registry()}
    assert cards["Lawyer"] == ("search_documents", "calculator")
    assert {name for name, tools in cards.items() if tools} == {"Lawyer", "Reader"}
    with pytest.raises(AgentError, match="Extractor works without tools"):
        cast.give("Extractor", Choice(skills=("sums",)))
    with pytest.raises(UnknownTool, match="'hammer' does not exist"):
        cast.edit_skill(Skill(name="sums", instructions="Calculate.", tools=("hammer",)))
