"""Reads the changes of ``candor fork --set``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from api.cli.common import read_text
from api.errors import UsageError, fault_list
from multi_agent.values.plan import Plan
from multi_agent.values.request import ForkChange


def parse_changes(step: str, given: Sequence[str]) -> ForkChange:
    """Return the changes of a step. Values of inputs are JSON, otherwise text. Raises UsageError."""
    fields: dict[str, Any] = {"step": step, "inputs": {}, "prompts": {}}
    for each in given:
        name, equals, value = each.partition("=")
        if equals and name in ("model", "instruction"):
            fields[name] = value
        elif equals and name.startswith("inputs.") and name != "inputs.":
            fields["inputs"][name.removeprefix("inputs.")] = _value(value)
        elif equals and name == "prompt" and ":" in value:
            agent, _, file = value.partition(":")
            fields["prompts"][agent] = read_text(Path(file))
        elif equals and name == "evidence":
            fields["evidence"] = _numbers(value)
        elif equals and name == "plan":
            fields["plan"] = _plan(Path(value))
        else:
            raise UsageError(
                f"--set {each!r} is not model=ENDPOINT, instruction=TEXT, inputs.NAME=VALUE, prompt=AGENT:FILE, "
                "evidence=NUMBERS or plan=FILE.json."
            )
    try:
        return ForkChange.model_validate(fields)
    except ValidationError as error:
        raise UsageError(f"Invalid change: {fault_list(error)}.") from error


def _plan(file: Path) -> Plan:
    try:
        return Plan.model_validate_json(read_text(file))
    except ValidationError as error:
        raise UsageError(
            f"{str(file)!r} contains no plan: {fault_list(error)}. `candor fork RUN --at STEP --options` prints the "
            "plan of the run."
        ) from error


def _numbers(text: str) -> list[int]:
    try:
        return [int(each) for each in text.split(",") if each.strip()]
    except ValueError as error:
        raise UsageError(f"--set evidence={text} is no list of numbers, such as evidence=1,3.") from error


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
