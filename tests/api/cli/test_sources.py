"""Web addresses and sources on the command line: ingest, sync, errors, removal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.git import Repository
from support.imap import PASSWORD, SmallServer, message
from support.web import Page, Web

PUMPS = "<title>Pumps</title><body><h1>Pumps</h1><p>The Borea works down to -25 °C.</p>{}</body>"


def page(text: str = "", etag: str = "") -> Page:
    return Page(PUMPS.format(text).encode(), "text/html; charset=utf-8", headers={"ETag": f'"{etag}"'} if etag else {})


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    monkeypatch.setenv("CANDOR_INGEST__ALLOW_PRIVATE_ADDRESSES", "true")
    with Web() as started:
        yield started


def documents(run: Callable, **where: Any) -> dict[str, str]:
    listed = run("documents", "-c", "papers", "--json").json
    return {each["name"].partition("/")[2]: each["state"] for each in listed if each["state"] != "removed"}


def test_a_web_address_becomes_a_document_with_its_address(run: Callable, web: Web) -> None:
    web.pages["/a.html"] = page(etag="1")
    report = run("ingest", web.url("/a.html"), "-c", "papers", "--json").json
    assert (report["indexed"], report["failed"]) == (1, [])
    [document] = run("documents", "-c", "papers", "--json").json
    assert document["metadata"]["url"] == web.url("/a.html")
    assert document["name"].endswith("/a.html")
    assert run("search", "Borea cold", "-c", "papers", "--json").json[0]["title"] == "Pumps"


def test_an_unchanged_page_is_not_read_again_and_a_changed_one_replaces_its_document(run: Callable, web: Web) -> None:
    web.pages |= {"/a": page(etag="1"), "/b": page()}
    addresses = [web.url("/a"), web.url("/b")]
    assert run("ingest", *addresses, "-c", "papers", "--json").json["indexed"] == 2
    again = run("ingest", *addresses, "-c", "papers", "--json").json
    assert (again["indexed"], again["unchanged"], web.unchanged) == (0, 2, ["/a"]), "the hash of /b is the same"
    web.pages["/a"] = page("<p>It weighs 120 kg.</p>", etag="2")
    assert run("ingest", *addresses, "-c", "papers", "--json").json["indexed"] == 1
    assert len(run("documents", "-c", "papers", "--json").json) == 2
    assert "120 kg" in run("search", "weight", "-c", "papers", "--json").json[0]["text"]


def test_an_address_that_cannot_be_fetched_fails_and_the_others_are_read(run: Callable, web: Web) -> None:
    web.pages["/a"] = page()
    result = run("ingest", web.url("/a"), web.url("/none"), "-c", "papers")
    assert result.code == 1
    assert f"failed: {web.url('/none')} (while reading): {web.url('/none')} answers 404" in result.err
    alone = run("ingest", web.url("/none"), "-c", "papers")
    assert (alone.code, "answers 404" in alone.err) == (1, True)


def test_an_internal_address_is_refused_with_the_setting_that_allows_it(
    run: Callable, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CANDOR_INGEST__ALLOW_PRIVATE_ADDRESSES")
    result = run("ingest", web.url("/a"))
    assert (result.code, "ingest.allow_private_addresses" in result.err, web.asked) == (1, True, [])


@pytest.mark.parametrize("option", ["--sync", "--watch", "--dry-run"])
def test_options_that_need_folders_are_refused_with_an_address(run: Callable, web: Web, option: str) -> None:
    assert run("ingest", web.url("/a"), option).code == 2


def test_a_site_is_followed(run: Callable, web: Web) -> None:
    web.pages |= {"/docs/": page("<a href=a>a</a><a href=b>b</a>"), "/docs/a": page("A"), "/docs/b": page("B")}
    added = run("sources", "add", web.url("/docs/"), "-c", "papers", "--name", "handbook", "--json").json
    assert (added["name"], added["state"]) == ("handbook", "not synced")
    assert run("sources", "sync", "-c", "papers").code == 0
    assert documents(run) == {"docs/index.html": "indexed", "docs/a.html": "indexed", "docs/b.html": "indexed"}

    web.pages["/docs/"] = page("<a href=a>a</a>")
    [report] = run("sources", "sync", "handbook", "-c", "papers", "--json").json
    assert len(report["removed"]) == 1
    assert documents(run).keys() == {"docs/index.html", "docs/a.html"}, "deleted at the source, removed here"
    [listed] = run("sources", "--json").json
    assert (listed["state"], listed["documents"], listed["error"]) == ("synced", 2, "")

    assert run("sources", "remove", "handbook", "-c", "papers", "--yes", "--json").json["documents"] == 2
    assert (documents(run), run("sources", "--json").json) == ({}, [])


def test_a_source_that_fails_keeps_its_documents_and_says_why(run: Callable, web: Web) -> None:
    web.pages |= {"/docs/": page("<a href=a>a</a>"), "/docs/a": page("A")}
    run("sources", "add", web.url("/docs/"), "-c", "papers", "--name", "handbook")
    run("sources", "sync", "-c", "papers")
    web.pages["/docs/a"] = Page(b"", status=500)
    partly = run("sources", "sync", "-c", "papers")
    assert (partly.code, "answers 500" in partly.err, len(documents(run))) == (1, True, 2)
    web.pages.clear()
    result = run("sources", "sync", "-c", "papers")
    assert (result.code, "404" in result.err) == (1, True)
    [listed] = run("sources", "--json").json
    assert (listed["state"], "404" in listed["error"], len(documents(run))) == ("failed", True, 2)
    [failed] = run("sources", "sync", "-c", "papers", "--json").json
    assert (failed["source"], "404" in failed["error"]["message"]) == ("handbook", True)
    asked = len(web.asked)
    assert run("sources", "sync", "handbook", "none", "-c", "papers").code == 2
    assert len(web.asked) == asked, "a wrong name is refused before anything is read"


def test_a_file_system_is_followed_and_rules_apply(run: Callable, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    for name in ("a.md", "sub/b.md", "node_modules/x.md", "drafts/c.md", "key.pem"):
        (shelf / name).parent.mkdir(parents=True, exist_ok=True)
        (shelf / name).write_text(f"# {name}\n\nThe pump is blue.\n")
    run("sources", "add", f"file://{shelf}", "-c", "papers", "--exclude", "drafts/", "--name", "shelf")
    [report] = run("sources", "sync", "-c", "papers", "--json").json
    assert report["indexed"] == 2
    reasons = {re.sub(r".*/shelf/", "", each["name"]): each["reason"] for each in report["left_out"]}
    assert reasons == {
        "node_modules/x.md": "of a package manager or a cache (node_modules/)",
        "drafts/c.md": "excluded (drafts/)",
        "key.pem": "a key or a secret (*.pem)",
    }
    (shelf / "a.md").unlink()
    [again] = run("sources", "sync", "-c", "papers", "--json").json
    assert (again["removed"], again["unchanged"]) == (["a.md"], 1)


def test_a_git_repository_is_followed_and_rules_apply(run: Callable, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "pumps.git")
    files = ("a.md", "b.md", "node_modules/x.md", "drafts/c.md", ".github/d.md")
    repository.commit({name: f"# {name}\n\nThe pump is blue.\n" for name in files})
    added = run(
        "sources", "add", f"git+file://{repository.folder}", "-c", "papers", "--exclude", "drafts/", "--ref", "main",
        "--name", "pumps", "--json",
    ).json  # fmt: skip
    assert added["options"] == {"ref": "main"}
    [report] = run("sources", "sync", "-c", "papers", "--json").json
    assert (report["indexed"], report["failed"]) == (2, [])
    reasons = {each["name"].partition("#")[2]: each["reason"] for each in report["left_out"]}
    assert reasons == {
        "node_modules/x.md": "of a package manager or a cache (node_modules/)",
        "drafts/c.md": "excluded (drafts/)",
        ".github/d.md": "hidden (.*)",
    }
    repository.commit({"a.md": "# a.md\n\nThe pump is red.\n", "b.md": None, "sub/e.md": "# E\n\nNew.\n"})
    [again] = run("sources", "sync", "-c", "papers", "--json").json
    assert (again["indexed"], again["removed"]) == (2, ["b.md"])
    listed = run("documents", "-c", "papers", "--json").json
    found = {each["name"]: each["metadata"]["url"] for each in listed if each["state"] != "removed"}
    assert found == {name: f"file://{tmp_path}/pumps#{name}" for name in ("a.md", "sub/e.md")}


def test_mail_is_followed_with_its_attachments(run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANDOR_KEYS", f'{{"mail": "{PASSWORD}"}}')
    options = tmp_path / "mail.toml"
    options.write_text('password = {key = "mail"}\nunencrypted = true\nsince = 2020-01-01\n')
    with SmallServer() as server:
        server.put("INBOX", message("Pumps", "The Borea is blue.", attachment="The Castor weighs 120 kg."))
        server.put("INBOX", message("Fans", "The fan is red."))
        added = run("sources", "add", server.url(), "-c", "papers", "--options", options, "--name", "mail")
        assert added.code == 0, added.err
        [report] = run("sources", "sync", "-c", "papers", "--json").json
        assert (report["indexed"], report["failed"]) == (3, [])
        assert "120 kg" in run("search", "Castor weight", "-c", "papers", "--json").json[0]["text"]
        server.delete("INBOX", 1)
        [again] = run("sources", "sync", "-c", "papers", "--json").json
        assert (len(again["removed"]), again["indexed"], server.asked.count("UID FETCH 2 (BODY.PEEK[])")) == (2, 0, 1)
    assert PASSWORD not in run("sources", "--json").out


def test_a_reader_of_llama_index_is_followed_with_its_options(run: Callable, folder: Path, tmp_path: Path) -> None:
    options = tmp_path / "options.toml"
    options.write_text(f'input_dir = "{folder}"\n[load]\nshow_progress = false\n')
    reader = "llama_index:llama_index.core.readers.SimpleDirectoryReader"
    run("sources", "add", reader, "-c", "papers", "--options", options)
    [report] = run("sources", "sync", "-c", "papers", "--json").json
    assert (report["indexed"], report["failed"]) == (2, [])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("add", "papers/"), "is no source"),
        (("add", "https://u:secret@x.org/"), "has a password"),
        (("add", "https://[bad"), "'https://[bad' is no valid address: Invalid IPv6 URL"),
        (("add", "git+https://a\tb"), "has a character that cannot be printed"),
        (("add", "https://x.org/", "--depth", "-1"), "greater than or equal to 0"),
        (("add", "https://x.org/", "--ref", "main"), "ref: Extra inputs are not permitted"),
        (("add", "git+https://x.org/a", "--ref", "--upload-pack=x"), "ref: String should match"),
        (("add", "https://x.org/", "--name", "a/b"), "cannot name a source"),
        (("add", "https://x.org/", "--exclude", "!"), "invalid pattern"),
        (("sync", "nothing"), "no source 'nothing'"),
        (("remove", "nothing", "-y"), "no source 'nothing'"),
    ],
)
def test_wrong_use_is_told(run: Callable, arguments: tuple[str, ...], words: str) -> None:
    result = run("sources", *arguments)
    assert (result.code != 0, words in result.err) == (True, True), result.err
    assert "secret" not in result.err


def test_a_key_of_the_settings_is_used_by_name_and_not_stored(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = tmp_path / "options.toml"
    options.write_text('password = {key = "ftp"}\n')
    missing = run("sources", "add", "memory://shelf", "--options", options)
    assert (missing.code, "the key 'ftp'" in missing.err) == (2, True)
    monkeypatch.setenv("CANDOR_KEYS", '{"ftp": "hush"}')
    added = run("sources", "add", "memory://shelf", "--options", options, "--json").json
    assert added["options"] == {"password": {"key": "ftp"}}


def test_the_same_name_cannot_be_used_twice(run: Callable) -> None:
    assert run("sources", "add", "https://x.org/a").code == 0
    assert (len(run("sources", "-c", "documents", "--json").json), run("sources", "-c", "x", "--json").json) == (1, [])
    assert "Choose another name" in run("sources", "add", "https://x.org/a/").err


def test_a_source_is_changed_by_adding_it_again(run: Callable, web: Web) -> None:
    web.pages |= {"/docs/": page()}
    add = ("sources", "add", web.url("/docs/"), "-c", "papers", "--name", "handbook", "--json")
    run(*add)
    run("sources", "sync", "-c", "papers")
    changed = run(*add, "--every", "30m", "--depth", "1").json
    assert (changed["every"], changed["options"], changed["documents"]) == ("30m", {"depth": 1}, 1)
    assert "no interval" in run(*add, "--every", "1w").err
