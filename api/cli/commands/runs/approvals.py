"""``candor approvals``: tool calls that wait for a person's approval."""

import json
from typing import Annotated, Any

import typer

from api.cli.common import Cli, command_group
from api.errors import UsageError

app = command_group("approvals", "List, approve and refuse tool calls that wait for approval.")

ApprovalId = Annotated[str, typer.Argument(help="Approval id, as listed by `candor approvals`.")]


@app.command("list")
def list_all(cli: Cli) -> None:
    """List the tool calls that wait for approval.

    Example: candor approvals
    """
    from api.services.research.approvals import open_approvals

    candor = cli.make_candor()
    found = open_approvals(candor.tools.approvals, candor.trace, cli.caller)
    cli.print_list(found, ("approval", "agent", "tool", "arguments", "reason"), lambda each: (
        each.approval_id, each.agent, each.tool, json.dumps(each.arguments, ensure_ascii=False), each.reason,
    ))  # fmt: skip


@app.command()
def approve(
    cli: Cli,
    approval_id: ApprovalId,
    arguments: Annotated[
        str | None, typer.Option("--arguments", help="Changed arguments for the call, as a JSON object.")
    ] = None,
) -> None:
    """Approve a tool call, unchanged or with other arguments.

    Example: candor approvals approve run_3f2a91c0d4e7-5be1c2f0a9d3-0 --arguments '{"name": "data.csv"}'
    """
    if arguments is None:
        _decide(approval_id, {"decision": "approved"}, cli)
    else:
        _decide(approval_id, {"decision": "edited", "arguments": _parse_object(arguments)}, cli)


@app.command()
def refuse(cli: Cli, approval_id: ApprovalId) -> None:
    """Refuse a tool call. The agent is notified.

    Example: candor approvals refuse run_3f2a91c0d4e7-5be1c2f0a9d3-0
    """
    _decide(approval_id, {"decision": "refused"}, cli)


def _decide(approval_id: str, decision: dict[str, Any], cli: Cli) -> None:
    from api.services.research.approvals import Decision, decide

    candor = cli.make_candor()
    decided = decide(candor.tools.approvals, candor.trace, approval_id, Decision.model_validate(decision), cli.caller)
    cli.print_result(decided, f"{decided.status.capitalize()}: {decided.tool} of run {decided.run_id}.")


def _parse_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"--arguments is not valid JSON ({error}).") from error
    if not isinstance(value, dict):
        raise UsageError('--arguments must be a JSON object, e.g. \'{"name": "data.csv"}\'.')
    return value
