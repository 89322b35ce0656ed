"""Folders of real servers as sources, on the command line: sync, move, deletion, errors, and keys by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.remote import S3, Remote, Sftp, WebDav, missing


def as_toml(options: dict[str, Any]) -> str:
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in options.items()).replace(
        '"NAMED"', '{key = "remote"}'
    )


def documents(run: Callable) -> dict[str, str]:
    listed = run("documents", "-c", "papers", "--json").json
    return {each["metadata"]["url"]: each["id"] for each in listed if each["state"] != "removed"}


@pytest.mark.parametrize("kind", [Sftp, WebDav, S3])
def test_a_remote_folder_is_followed(
    run: Callable, kind: type[Remote], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why := missing(kind):
        pytest.skip(why)
    options, server = tmp_path / "options.toml", kind(tmp_path)

    def sync() -> Any:
        return run("sources", "sync", "-c", "papers", "--json")

    with server:
        monkeypatch.setenv("CANDOR_KEYS", json.dumps({"remote": server.secret}))
        options.write_text(as_toml(server.options("NAMED")))
        added = run("sources", "add", server.address, "-c", "papers", "--name", "shelf", "--options", options)
        assert added.code == 0, added.err
        server.put("pump.md", "# Pump\n\nThe Borea is blue.\n")
        server.put("fans/fan.md", "# Fan\n\nThe Lyra is red.\n")
        server.put("node_modules/x.md", "# X\n")
        [first] = sync().json
        assert (first["indexed"], [each["reason"] for each in first["left_out"]]) == (
            2, ["of a package manager or a cache (node_modules/)"],
        )  # fmt: skip
        before = documents(run)
        assert before.keys() == {f"{server.address}/pump.md", f"{server.address}/fans/fan.md"}

        server.put("pump.md", "# Pump\n\nThe Borea is green.\n")
        server.move("fans/fan.md", "old/fans/fan.md")
        assert sync().code == 0
        assert documents(run) == {
            f"{server.address}/pump.md": before[f"{server.address}/pump.md"],
            f"{server.address}/old/fans/fan.md": before[f"{server.address}/fans/fan.md"],
        }
        assert "green" in run("search", "Borea", "-c", "papers", "--json").json[0]["text"]

        monkeypatch.setenv("CANDOR_KEYS", '{"remote": "wrong-secret"}')
        refused = sync()
        assert (refused.code, len(documents(run)), "wrong-secret" in refused.err) == (1, 2, False)
        monkeypatch.setenv("CANDOR_KEYS", json.dumps({"remote": server.secret}))
        server.remove("pump.md")
        [deleted] = sync().json
        assert deleted["removed"] == ["pump.md"]
    away = sync()
    assert (away.code, f"{server.address} cannot be read" in away.err, len(documents(run))) == (1, True, 1)
    [listed] = run("sources", "--json").json
    assert (listed["state"], server.secret in json.dumps(listed)) == ("failed", False)
