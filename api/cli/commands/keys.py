"""Commands about API keys."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.common import Home, Json, listing, make_candor, plain, print_json, say, show_list
from api.errors import UsageError

if TYPE_CHECKING:
    from api.auth.keys import Key, KeyRequest

app = listing("Make, list and revoke API keys.")

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@app.command("add")
def add_key(
    name: Annotated[str, typer.Argument(help="Whose it is, or what for.")],
    right: Annotated[
        list[str], typer.Option("--right", "-r", help="COLLECTION=read, write or admin; '*' stands for all.")
    ],
    expires: Annotated[str, typer.Option("--expires", help="After this time: 30d, 12h, 90m, 2w; never.")] = "",
    requests_per_day: Annotated[int | None, typer.Option("--requests-per-day", min=1)] = None,
    tokens_per_day: Annotated[
        int | None, typer.Option("--tokens-per-day", min=1, help="Of the prompts and responses of its runs.")
    ] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Make a key. It is shown this once; only its hash is kept.

    Example: candor keys add "Reading room" --right papers=read --expires 30d
    """
    limits = {"requests_per_day": requests_per_day, "tokens_per_day": tokens_per_day}
    order = _order({"name": name, "rights": _rights(right), "expires_at": _until(expires), "limits": limits})
    made = make_candor(home).keys.add(order)
    if as_json:
        print_json(plain(made))
    else:
        say(f"Made key {made.key.id} for {made.key.name}. Copy it now; it cannot be shown again:")
        print(made.secret)


@app.command("list")
def list_keys(as_json: Json = False, home: Home = None) -> None:
    """List the keys, the newest first, without their secrets.

    Example: candor keys
    """
    found = make_candor(home).keys.list()
    rows = [
        (
            key.id,
            key.name,
            ", ".join(f"{collection}={right}" for collection, right in key.rights.items()),
            _state(key),
            f"{key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "never",
        )
        for key in found
    ]
    show_list(found, ("key", "name", "rights", "state", "last used (UTC)"), rows, as_json)


@app.command("revoke")
def revoke_key(key: Annotated[str, typer.Argument(help="Its id.")], as_json: Json = False, home: Home = None) -> None:
    """Make a key useless from now on.

    Example: candor keys revoke 3f2a9c41d0b7
    """
    revoked = make_candor(home).keys.revoke(key)
    if as_json:
        print_json(plain(revoked))
    else:
        say(f"Revoked {revoked.id} ({revoked.name}).")


def _order(wanted: dict[str, object]) -> KeyRequest:
    from pydantic import ValidationError

    from api.auth.keys import KeyRequest

    try:
        return KeyRequest.model_validate(wanted)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise UsageError(f"There can be no such key: {faults}.") from error


def _rights(given: list[str]) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    if wrong := [each for each, pair in zip(given, pairs, strict=True) if not pair[2]]:
        raise UsageError(f"{wrong[0]!r} is no right; write COLLECTION=read, COLLECTION=write or COLLECTION=admin.")
    return {collection: right for collection, _, right in pairs}


def _until(expires: str) -> datetime | None:
    if not expires:
        return None
    shape = re.fullmatch(r"(\d{1,5})([mhdw])", expires)
    if not shape:
        raise UsageError(f"{expires!r} is no time; write a number and its unit: 90m, 12h, 30d or 2w.")
    return datetime.now(UTC) + timedelta(**{_UNITS[shape[2]]: int(shape[1])})


def _state(key: Key) -> str:
    if key.revoked_at:
        return f"revoked {key.revoked_at:%Y-%m-%d}"
    if not key.expires_at:
        return "valid"
    return f"{'valid until' if key.valid(datetime.now(UTC)) else 'expired'} {key.expires_at:%Y-%m-%d %H:%M}"
