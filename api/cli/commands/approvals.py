"""Commands about approvals: dangerous calls of tools that wait for a person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from api.cli.common import Home, Json, listing, make_candor, plain, print_json, say, show_list
from api.errors import UsageError

app = listing("List the calls of tools that wait for a person, and decide about them.")

ApprovalId = Annotated[str, typer.Argument(help="The approval, as `candor approvals` lists it.")]


@app.command("list")
def list_approvals(as_json: Json = False, home: Home = None) -> None:
    """List the calls of tools that wait for a decision.

    Example: candor approvals
    """
    from api.auth.permissions import LOCAL_CALLER
    from api.services.approvals import open_approvals

    found = open_approvals(make_candor(home), LOCAL_CALLER)
    rows = [
        (each.approval_id, each.agent, each.tool, json.dumps(each.arguments, ensure_ascii=False), each.reason)
        for each in found
    ]
    show_list(found, ("approval", "agent", "tool", "arguments", "why"), rows, as_json)


@app.command()
def approve(
    approval_id: ApprovalId,
    arguments: Annotated[
        str | None, typer.Option("--arguments", help="Other arguments for the call, as a JSON object.")
    ] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Let the call be made, as the agent wants it or with other arguments.

    Example: candor approvals approve run_3f2a91c0d4e7-5be1c2f0a9d3-0 --arguments '{"name": "data.csv"}'
    """
    if arguments is None:
        _decide(approval_id, {"decision": "approved"}, as_json, home)
    else:
        _decide(approval_id, {"decision": "edited", "arguments": _object(arguments)}, as_json, home)


@app.command()
def refuse(approval_id: ApprovalId, as_json: Json = False, home: Home = None) -> None:
    """Do not let the call be made; the agent is told so.

    Example: candor approvals refuse run_3f2a91c0d4e7-5be1c2f0a9d3-0
    """
    _decide(approval_id, {"decision": "refused"}, as_json, home)


def _decide(approval_id: str, decision: dict[str, Any], as_json: bool, home: Path | None) -> None:
    from api.auth.permissions import LOCAL_CALLER
    from api.services.approvals import Decision, decide

    decided = decide(make_candor(home), approval_id, Decision.model_validate(decision), LOCAL_CALLER)
    if as_json:
        print_json(plain(decided))
    else:
        say(f"{decided.status.capitalize()}: {decided.tool} of run {decided.run_id}.")


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"--arguments is no JSON ({error}).") from error
    if not isinstance(value, dict):
        raise UsageError('--arguments is a JSON object, such as \'{"name": "data.csv"}\'.')
    return value
