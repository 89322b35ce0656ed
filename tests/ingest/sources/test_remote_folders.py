"""Reads folders of real servers: SFTP, WebDAV, S3, and Git over SSH."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from ingest.errors import SourceFailed
from ingest.source import Item, Known
from ingest.sources.file_system import FileSystemSource
from ingest.sources.git import GitAccess, GitSource
from support.git import Repository
from support.remote import S3, USER, Remote, Sftp, WebDav, missing

NOTHING: Mapping[str, Known] = {}


@pytest.fixture(params=[Sftp, WebDav, S3])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Remote:
    if why := missing(request.param):
        pytest.skip(why)
    made: Remote = request.param(tmp_path)
    return made


def read(server: Remote, known: Mapping[str, Known] = NOTHING, secret: str = "") -> dict[str, Item]:
    options = server.options(secret or server.secret)
    source = FileSystemSource(server.address, options, lambda _: "", max_bytes=1000)
    return {item.address.removeprefix(f"{server.address}/"): item for item in source.items(known)}


def test_only_changed_files_are_transferred_and_deleted_ones_are_gone(server: Remote) -> None:
    with server:
        server.put("a.md", "# A")
        server.put("sub/b ö.md", "# B")
        first = read(server)
        assert {name: (item.name, item.content) for name, item in first.items()} == {
            "a.md": ("a.md", b"# A"),
            "sub/b ö.md": ("sub/b ö.md", b"# B"),
        }
        known = {item.address: Known(Path(item.name), item.version) for item in first.values()}
        assert [item.is_unchanged for item in read(server, known).values()] == [True, True]
        server.put("sub/b ö.md", "# Changed")
        server.put("c.md", "# C")
        server.remove("a.md")
        again = read(server, known)
        assert {name: item.content for name, item in again.items()} == {"c.md": b"# C", "sub/b ö.md": b"# Changed"}


def test_a_wrong_password_and_a_server_that_is_away_are_told(server: Remote) -> None:
    with server:
        server.put("a.md", "# A")
        assert [*read(server)] == ["a.md"]
        with pytest.raises(SourceFailed, match=server.wrong) as wrong:
            read(server, secret="x-secret-x")
        assert "x-secret-x" not in str(wrong.value)
    with pytest.raises(SourceFailed, match=r"refused|Unable to connect|Could not connect"):
        read(server)
    with server:
        assert [*read(server)] == ["a.md"], "no connection of before is used"


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sftp]:
    """A Git server over SSH, and an ``ssh`` command that is configured for it."""
    if why := missing(Sftp):
        pytest.skip(why)
    with Sftp(tmp_path) as server:
        (tmp_path / "bin").mkdir()
        program = tmp_path / "bin/ssh"
        options = f"-F none -i {server.identity} -o UserKnownHostsFile={server.known_hosts} -o IdentitiesOnly=yes"
        program.write_text(f'#!/bin/sh\nPATH="${{PATH#*:}}" exec ssh {options} "$@"\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(program.parent), prepend=":")
        monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
        yield server


def repository(server: Sftp) -> GitSource:
    address = f"git+ssh://{USER}@127.0.0.1:{server.port}{server.folder}/pumps.git"
    return GitSource(address, GitAccess(), lambda _: "", max_bytes=1000, allow_private=False)


def test_a_repository_is_read_over_ssh_with_the_keys_of_the_user(ssh: Sftp) -> None:
    made = Repository(ssh.folder / "pumps.git")
    made.commit({"a.md": "# A", "b.md": "# B"})
    first = list(repository(ssh).items({}))
    assert [(item.name, item.content) for item in first] == [("a.md", b"# A"), ("b.md", b"# B")]
    made.commit({"a.md": "# Changed", "b.md": None})
    known = {item.address: Known(Path(item.name), item.version) for item in first}
    assert [(item.name, item.content) for item in repository(ssh).items(known)] == [("a.md", b"# Changed")]


@pytest.mark.parametrize(
    ("file", "words"), [("identity", "Permission denied"), ("known_hosts", "Host key verification")]
)
def test_an_unknown_key_is_told_and_nothing_is_asked(ssh: Sftp, file: str, words: str) -> None:
    Repository(ssh.folder / "pumps.git").commit({"a.md": "# A"})
    getattr(ssh, file).unlink()
    with pytest.raises(SourceFailed, match=words):
        list(repository(ssh).items({}))
