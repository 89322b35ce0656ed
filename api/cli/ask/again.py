"""``candor ask --again``: the question and the options of an earlier run."""

from __future__ import annotations

from typing import Any

from typer import Context

from api.auth.permissions import LOCAL_CALLER
from api.services.research.replay import find_earlier
from multi_agent.storage.trace import Trace
from multi_agent.values.request import Request


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
