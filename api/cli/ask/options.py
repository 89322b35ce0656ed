"""Options of questions: those of an earlier run, passages from a file, and changes of a fork."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from typer import Context

from api.auth.permissions import LOCAL_CALLER
from api.cli.given import read_text
from api.errors import UsageError, fault_list, usage_errors
from api.services.research.replay import find_earlier
from multi_agent.storage.trace import Trace
from multi_agent.values.plan import Plan
from multi_agent.values.request import ForkChange, RagResult, Request


def repeat(
    trace: Trace, run_id: str, ctx: Context, question: str, collection: str | None, options: dict[str, Any]
) -> tuple[str, str, dict[str, Any]]:
    """Return the question, collection and options of the run. Values on the command line replace those of the run."""
    earlier = find_earlier(trace, run_id, LOCAL_CALLER)
    changes = {name: value for name, value in options.items() if _is_given(ctx, name, value)}
    return question or earlier.request.question, collection or earlier.collection, earlier.options(changes)


def _is_given(ctx: Context, name: str, value: Any) -> bool:
    """Return whether the option is on the command line, even if its value equals the default."""
    source = ctx.get_parameter_source(name)
    if source is not None and source.name == "COMMANDLINE":
        return True
    return bool(value != Request.model_fields[name].get_default(call_default_factory=True))


_RESULTS = TypeAdapter(tuple[RagResult, ...])


def read_passages(path: Path) -> tuple[RagResult, ...]:
    """Return the passages in a JSON file. Raises UsageError if it is unreadable, invalid or empty."""
    wanted = f"The file {str(path)!r} must contain a JSON list of passages, each with `text` and `source`"
    try:
        with usage_errors(wanted):
            passages = _RESULTS.validate_json(path.read_bytes())
    except OSError as error:
        raise UsageError(f"The file {str(path)!r} cannot be read: {error.strerror}.") from error
    if not passages:
        raise UsageError(f"The file {str(path)!r} contains no passages. Add some, or omit --passages.")
    return passages


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
    with usage_errors("Invalid change"):
        return ForkChange.model_validate(fields)


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
