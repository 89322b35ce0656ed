"""Reads Git repositories, real ones, over file and http."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ingest.errors import SourceFailed
from ingest.source import Item, Known
from ingest.sources.git import GitAccess, GitSource, is_repository
from support.git import GitServer, Repository

NOTHING: Mapping[str, Known] = {}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "pumps.git")
    made.commit({"a.md": "# A", "sub/b c.md": "# B", "drafts/d.md": "# D"})
    return made


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    with GitServer(tmp_path) as started:
        yield started


def source(address: str, *, allow_private: bool = True, **access: Any) -> GitSource:
    def judge(name: str) -> str:
        return "excluded" if name.startswith("drafts/") else ""

    return GitSource(address, GitAccess(**access), judge, max_bytes=100_000, allow_private=allow_private)


def read(read_from: GitSource, known: Mapping[str, Known] = NOTHING) -> dict[str, Item]:
    return {item.address: item for item in read_from.items(known)}


def remembered(items: Mapping[str, Item]) -> dict[str, Known]:
    return {address: Known(Path(item.name), item.version) for address, item in items.items() if item.name}


def test_a_repository_on_this_machine_is_read(repository: Repository) -> None:
    address = f"file://{repository.folder}"
    found = read(source(f"git+{address}"))
    base = address.removesuffix(".git")
    assert {(item.name, item.content, item.skipped) for item in found.values()} == {
        ("a.md", b"# A", ""), ("sub/b c.md", b"# B", ""), ("", b"", "excluded"),
    }  # fmt: skip
    assert found.keys() == {f"{base}#a.md", f"{base}#sub/b%20c.md", f"{base}#drafts/d.md"}


def test_over_http_only_changed_files_are_transferred(repository: Repository, server: GitServer) -> None:
    repository.commit({"large.txt": os.urandom(50_000), "drafts/large.txt": os.urandom(50_000)})
    reader = source(server.url("pumps.git"))
    first = read(reader)
    assert sum(bool(item.content) for item in first.values()) == 3
    assert 50_000 < server.sent < 100_000, "what is left out is not transferred"
    repository.commit({"a.md": "# Changed", "sub/b c.md": None})
    server.sent = 0
    again = read(reader, remembered(first))
    assert {item.name: item.content for item in again.values() if item.content} == {"a.md": b"# Changed"}
    assert sorted(item.is_unchanged for item in again.values()) == [False, False, False, True]
    assert not any("b%20c" in address for address in again), "deleted there"
    assert server.sent < 10_000


def test_branches_tags_and_commits_are_read(repository: Repository) -> None:
    repository.git("tag", "-a", "v1", "-m", "one", "main")
    first = repository.git("rev-parse", "main")
    repository.commit({"a.md": "# Main"})
    repository.commit({"a.md": "# Branch"}, branch="work/next")
    address = f"file://{repository.folder}"

    def at(ref: str) -> bytes:
        return next(item.content for item in read(source(address, ref=ref)).values() if item.name == "a.md")

    assert [at(ref) for ref in ("HEAD", "main", "work/next", "v1", first)] == [
        b"# Main", b"# Main", b"# Branch", b"# A", b"# A",
    ]  # fmt: skip


def test_links_submodules_pointers_and_large_files_are_told(repository: Repository) -> None:
    repository.commit({"link.md": "/etc/passwd"}, mode="120000")
    repository.commit({"module": repository.git("rev-parse", "main")}, mode="160000")
    repository.commit(
        {"big.pdf": "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "long.txt": "x" * 200_000}
    )
    found = {address.partition("#")[2]: item for address, item in read(source(f"file://{repository.folder}")).items()}
    reasons = {name: item.skipped for name, item in found.items() if item.skipped}
    assert reasons == {
        "link.md": "a link", "module": "a submodule", "big.pdf": "it is in Git LFS, which is not read",
        "drafts/d.md": "excluded",
    }  # fmt: skip
    assert "100,000 bytes" in found["long.txt"].error


def test_a_citation_opens_the_file_on_the_host(repository: Repository) -> None:
    reader = source(f"file://{repository.folder}", ref="main", link="https://git.example.org/p/{ref}/{path}")
    assert "https://git.example.org/p/main/sub/b%20c.md" in read(reader)


@pytest.mark.parametrize(
    ("address", "link"),
    [
        ("https://github.com/ada/pumps.git", "https://github.com/ada/pumps/blob/{ref}/{path}"),
        ("git+https://gitlab.com/ada/pumps", "https://gitlab.com/ada/pumps/-/blob/{ref}/{path}"),
        ("git+ssh://git@example.org/pumps.git", "ssh://git@example.org/pumps#{path}"),
    ],
)
def test_large_hosts_have_pages_of_files(address: str, link: str) -> None:
    assert source(address)._link == link


def test_the_password_goes_to_the_server(repository: Repository, tmp_path: Path) -> None:
    with GitServer(tmp_path, password="hush") as server:
        assert read(source(server.url("pumps.git"), password="hush"))
        assert set(server.authorizations) == {"Basic Z2l0Omh1c2g="}
        with pytest.raises(SourceFailed, match="could not read Username"):
            read(source(server.url("pumps.git")))


def test_an_internal_address_is_refused(repository: Repository, server: GitServer) -> None:
    with pytest.raises(SourceFailed, match=r"ingest\.allow_private_addresses"):
        read(source(server.url("pumps.git"), allow_private=False))
    assert server.authorizations == []


@pytest.mark.parametrize(
    ("address", "ref", "words"),
    [
        ("git+file:///nowhere/pumps.git", "HEAD", "does not appear to be a git repository"),
        ("git+ext::sh -c true", "HEAD", "not allowed"),
    ],
)
def test_what_git_says_is_told(address: str, ref: str, words: str) -> None:
    with pytest.raises(SourceFailed, match=words):
        read(source(address, ref=ref))


def test_an_unknown_branch_is_told(repository: Repository) -> None:
    with pytest.raises(SourceFailed, match=r"at 'nothing'.*couldn't find remote ref nothing"):
        read(source(f"file://{repository.folder}", ref="nothing"))


def test_without_git_the_error_says_how_to_install_it(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SourceFailed, match="apt install git"):
        read(source(f"file://{repository.folder}"))


def test_a_clone_address_is_known() -> None:
    assert [is_repository(each) for each in ("git@example.org:a.git", "git+https://x.org/a", "https://x.org/a")] == [
        True, True, False,
    ]  # fmt: skip
