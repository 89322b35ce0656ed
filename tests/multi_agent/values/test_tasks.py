"""Task data is readable by its own agent and deleted with its run."""

from __future__ import annotations

import pytest

from multi_agent.agent import AgentCard
from multi_agent.catalog.registry import AgentRegistry
from multi_agent.errors import TaskAccessDenied
from multi_agent.values.tasks import TaskStorage, task_data_type

REGISTRY = AgentRegistry.discover()
CARD: AgentCard = REGISTRY.get("Reader").card


def stored(storage: TaskStorage, task_id: str = "run_1_read_1", run_id: str = "run_1") -> None:
    inputs = CARD.inputs.model_validate({"question": "Why?", "queries": []})
    task = task_data_type("Reader", CARD.inputs)(
        task_id=task_id, run_id=run_id, step="read", agent="Reader", instruction="Answer it.", inputs=inputs
    )
    storage.store(task)


def test_an_agent_reads_its_own_task_with_typed_inputs() -> None:
    storage = TaskStorage()
    stored(storage)
    task = storage.reader_for("Reader")("run_1_read_1")
    assert (task.instruction, task.inputs.question) == ("Answer it.", "Why?")


def test_an_agent_cannot_read_other_tasks() -> None:
    storage = TaskStorage()
    stored(storage)
    with pytest.raises(TaskAccessDenied, match=r"not Extractor's task\. Agents may read only their own"):
        storage.reader_for("Extractor")("run_1_read_1")
    with pytest.raises(TaskAccessDenied, match="no task 'run_1_read_2'"):
        storage.reader_for("Reader")("run_1_read_2")


def test_task_data_is_deleted_with_its_run() -> None:
    storage = TaskStorage()
    stored(storage)
    stored(storage, "run_2_read_1", "run_2")
    storage.delete_run("run_1")
    assert len(storage) == 1
    with pytest.raises(TaskAccessDenied, match="its run has ended"):
        storage.reader_for("Reader")("run_1_read_1")


def test_a_task_id_must_be_unique() -> None:
    storage = TaskStorage()
    stored(storage)
    with pytest.raises(ValueError, match="already"):
        stored(storage)


@pytest.mark.parametrize("agent", REGISTRY.names)
def test_every_agent_has_its_own_task_schema(agent: str) -> None:
    card = REGISTRY.get(agent).card
    schema = task_data_type(agent, card.inputs).model_json_schema()
    assert schema["title"] == f"{agent}TaskData"
    assert schema["properties"]["agent"]["const"] == agent
    assert set(schema["$defs"][card.inputs.__name__].get("properties", {})) == set(card.inputs.model_fields)
