"""``candor users``: users of the service, their groups and rights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.common import Cli, command_group, print_text
from api.cli.given import parse_rights, show_rights, valid_request

if TYPE_CHECKING:
    from api.auth.users import UserChange

app = command_group("users", "Add, invite, change and disable users, and set the rights of groups.")

Name = Annotated[str, typer.Argument(help="Name of the user.")]
Rights = Annotated[
    list[str] | None,
    typer.Option("--right", "-r", help="COLLECTION=read, write or admin; '*' for all collections. Repeatable."),
]
Groups = Annotated[list[str] | None, typer.Option("--group", "-g", help="Group of the user. Repeatable.")]
Email = Annotated[str, typer.Option("--email", help="Address that finds the user at the first sign-in over OIDC.")]


@app.command("add")
def add(cli: Cli, name: Name, right: Rights = None, group: Groups = None, email: Email = "") -> None:
    """Add a user. Invite them next, unless they sign in over OIDC or a proxy.

    Example: candor users add ada --right papers=write --group Editors
    """
    from api.auth.users import NewUser

    new = valid_request(NewUser, name=name, rights=parse_rights(right or ()), groups=group or (), email=email or None)
    cli.print_result(cli.make_candor(creates=True).users.add(new), f"Added {name}. Next: candor users invite {name}")


@app.command("invite")
def invite(cli: Cli, name: Name) -> None:
    """Print a link with which a user chooses a password, once, within 7 days. Use it for a forgotten password, too.

    Example: candor users invite ada
    """
    from api.auth.sessions import TokenKind

    candor = cli.make_candor()
    token = candor.callers.sessions.start(candor.users.named(name).id, TokenKind.INVITATION)
    service = candor.settings.service
    host = f"[{service.host}]" if ":" in service.host else service.host
    base = f"{'https' if service.certfile else 'http'}://{host}:{service.port}"
    link = f"{service.address(base)}/#/invitation/{token}"
    cli.print_result({"link": link}, f"Send this link to {name}:")
    if not cli.as_json:
        print_text(link)


@app.command("list")
def list_all(cli: Cli) -> None:
    """List the users, by name.

    Example: candor users
    """
    columns = ("name", "own rights", "groups", "state", "e-mail")
    cli.print_list(cli.make_candor().users.list(), columns, lambda user: (
        user.name, show_rights(user.rights), ", ".join(user.groups),
        "disabled" if user.disabled else "password" if user.has_password else "no password", user.email or "",
    ))  # fmt: skip


@app.command("set")
def change(cli: Cli, name: Name, right: Rights = None, group: Groups = None, email: Email = "") -> None:
    """Replace a user's own rights, groups or e-mail address. Options that are not given change nothing.

    Example: candor users set ada --right papers=read --group Readers
    """
    from api.auth.users import UserChange

    rights = parse_rights(right) if right else None
    changes = valid_request(UserChange, rights=rights, groups=group or None, email=email or None)
    _change(name, changes, f"Changed {name}.", cli)


@app.command("disable")
def disable(
    cli: Cli, name: Name, undo: Annotated[bool, typer.Option("--undo", help="Enable the user again.")] = False
) -> None:
    """Disable a user. Sessions, invitations and keys of the user end at once.

    Example: candor users disable ada
    """
    from api.auth.users import UserChange

    _change(name, UserChange(disabled=not undo), f"{'Enabled' if undo else 'Disabled'} {name}.", cli)


@app.command("groups")
def groups(cli: Cli) -> None:
    """List the groups with their rights.

    Example: candor users groups
    """
    found = cli.make_candor().users.groups()
    cli.print_list(found, ("group", "rights"), lambda each: (each.name, show_rights(each.rights)))


@app.command("group")
def set_group(
    cli: Cli,
    name: Annotated[str, typer.Argument(help="Name of the group.")],
    right: Rights = None,
    delete: Annotated[bool, typer.Option("--delete", help="Delete the group.")] = False,
) -> None:
    """Add a group, or replace its rights. The rights of its members change at once.

    Example: candor users group Editors --right papers=write
    """
    from api.auth.users import Group

    users = cli.make_candor(creates=True).users
    group = valid_request(Group, name=name, rights=parse_rights(right or ()))
    if delete:
        users.delete_group(name)
    else:
        users.set_group(group)
    cli.print_result(group, f"{'Deleted' if delete else 'Set'} the group {name}.")


def _change(name: str, changes: UserChange, told: str, cli: Cli) -> None:
    users = cli.make_candor().users
    cli.print_result(users.change(users.named(name).id, changes), told)
