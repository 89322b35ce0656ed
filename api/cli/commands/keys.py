"""``candor keys``: API keys of the service."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.common import Cli, Now, command_group, print_text
from api.cli.given import parse_rights, show_rights, valid_request
from api.errors import UsageError

if TYPE_CHECKING:
    from api.auth.keys import Key

app = command_group("keys", "Create, list and revoke API keys.")

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@app.command("add")
def add(
    cli: Cli,
    name: Annotated[str, typer.Argument(help="Name of the person or program that uses the key.")],
    right: Annotated[
        list[str],
        typer.Option("--right", "-r", help="COLLECTION=ask, read, write or admin; '*' for all but ask. Repeatable."),
    ],
    user: Annotated[str, typer.Option("--user", help="User to whom the key belongs. It can do no more.")] = "",
    origin: Annotated[
        list[str] | None,
        typer.Option("--origin", help="Origin of web pages that may use the key, which can only ask. Repeatable."),
    ] = None,
    expires: Annotated[str, typer.Option("--expires", help="Lifetime: 90m, 12h, 30d or 2w. Default: none.")] = "",
    requests_per_day: Annotated[
        int | None, typer.Option("--requests-per-day", min=1, help="Daily limit of requests.")
    ] = None,
    tokens_per_day: Annotated[
        int | None,
        typer.Option("--tokens-per-day", min=1, help="Daily limit of tokens in prompts and responses."),
    ] = None,
    upload_bytes_per_day: Annotated[
        int | None, typer.Option("--upload-bytes-per-day", min=1, help="Daily limit of bytes in uploaded files.")
    ] = None,
) -> None:
    """Create a key. It is shown only once, because Candor stores only its hash.

    Example: candor keys add "Reading room" --right papers=read --expires 30d
    Example: candor keys add "Box on our site" --right papers=ask --origin https://example.org --tokens-per-day 300000
    """
    limits = {
        "requests_per_day": requests_per_day,
        "tokens_per_day": tokens_per_day,
        "upload_bytes_per_day": upload_bytes_per_day,
    }
    from api.auth.keys import KeyRequest

    candor = cli.make_candor(creates=True)
    user_id = candor.users.named(user).id if user else None
    request = valid_request(
        KeyRequest, name=name, rights=parse_rights(right), expires_at=_parse_lifetime(expires), limits=limits,
        user_id=user_id, origins=origin or (),
    )  # fmt: skip
    created = candor.keys.add(request)
    told = f"Created key {created.key.id} for {created.key.name}. Copy it now. It is not shown again:"
    cli.print_result(created, told)
    if not cli.as_json:
        print_text(created.secret)


@app.command("list")
def list_all(cli: Cli) -> None:
    """List the keys without their secrets, newest first.

    Example: candor keys
    """
    columns = ("key", "name", "rights", "state", "daily limits", "last used (UTC)")
    cli.print_list(cli.make_candor().keys.list(), columns, lambda key: (
        key.id, key.name, "\n".join((show_rights(key.rights), *key.origins)), _state(key), _limits(key),
        f"{key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "never",
    ))  # fmt: skip


@app.command("revoke")
def revoke(cli: Cli, key: Annotated[str, typer.Argument(help="Id of the key.")], now: Now = False) -> None:
    """Revoke a key immediately. `candor bin restore ID` makes it valid again, unless you revoke it with --now.

    Example: candor keys revoke 3f2a9c41d0b7
    """
    candor = cli.make_candor()
    revoked = candor.bin.delete_key(candor.keys.get(key), now=now)
    cli.print_result(revoked, f"Revoked {revoked.id} ({revoked.name}).")


def _parse_lifetime(expires: str) -> datetime | None:
    if not expires:
        return None
    match = re.fullmatch(r"(\d{1,5})([mhdw])", expires)
    if not match:
        raise UsageError(f"Invalid lifetime {expires!r}. Write a number and its unit: 90m, 12h, 30d or 2w.")
    return datetime.now(UTC) + timedelta(**{_UNITS[match[2]]: int(match[1])})


def _limits(key: Key) -> str:
    limits = {
        "requests": key.limits.requests_per_day,
        "tokens": key.limits.tokens_per_day,
        "bytes uploaded": key.limits.upload_bytes_per_day,
    }
    return "\n".join(f"{limit:,} {name}" for name, limit in limits.items() if limit) or "none"


def _state(key: Key) -> str:
    if key.revoked_at:
        return f"revoked {key.revoked_at:%Y-%m-%d}"
    if not key.expires_at:
        return "valid"
    return f"{'valid until' if key.valid(datetime.now(UTC)) else 'expired'} {key.expires_at:%Y-%m-%d %H:%M}"
