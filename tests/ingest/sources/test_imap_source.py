"""Reads mail folders from a small IMAP server, and from Dovecot where it is installed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from ingest.errors import SourceFailed
from ingest.source import Item, Known
from ingest.sources.imap import ImapOptions, ImapSource
from support.imap import PASSWORD, Dovecot, MailServer, SmallServer, message, write_certificate

NOTHING: Mapping[str, Known] = {}
PUMPS = message("Pumps", "They are blue.")


@pytest.fixture(params=[SmallServer, Dovecot])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MailServer]:
    if request.param is Dovecot and (missing := Dovecot.missing()):
        pytest.skip(missing)
    started: AbstractContextManager[Any] = Dovecot(tmp_path / "d") if request.param is Dovecot else SmallServer()
    with started as running:
        yield running


@pytest.fixture
def small() -> Iterator[SmallServer]:
    with SmallServer() as started:
        yield started


def read(url: str, known: Mapping[str, Known] = NOTHING, max_bytes: int = 10_000, **options: Any) -> list[Item]:
    given = ImapOptions(**{"password": PASSWORD, "unencrypted": True, **options})
    return list(ImapSource(url, given, max_bytes=max_bytes).items(known))


def remembered(items: list[Item]) -> dict[str, Known]:
    return {item.address: Known(Path(item.name), "") for item in items}


def test_a_folder_is_read_once_and_deleted_messages_are_gone(server: MailServer) -> None:
    server.put("INBOX", PUMPS)
    server.put("INBOX", message("Grüße / Fans", "They are red."))
    first = read(server.url())
    assert [item.name.rpartition(" ")[0] for item in first] == ["INBOX/Pumps", "INBOX/Grüße _ Fans"]
    assert b"They are blue." in first[0].content
    assert first[0].address.startswith(server.url("INBOX;UIDVALIDITY="))
    assert first[0].address.endswith("/;UID=1")
    server.put("INBOX", message("New", "They are green."))
    server.delete("INBOX", 1)
    again = read(server.url(), remembered(first))
    assert [(item.is_unchanged, item.address) for item in again[:-1]] == [(True, first[1].address)]
    assert again[-1].name.startswith("INBOX/New ")
    assert "Seen" not in server.flags("INBOX")


def test_a_folder_may_have_more_messages_than_one_answer_takes(small: SmallServer) -> None:
    small.folders["INBOX"] = dict.fromkeys(range(1_000_000, 1_150_000), PUMPS)
    known = {f"{small.url('INBOX')};UIDVALIDITY=7/;UID={uid}": Known(Path("a"), "") for uid in small.folders["INBOX"]}
    last = f"{small.url('INBOX')};UIDVALIDITY=7/;UID=1000001"
    del known[last]
    found = read(small.url(), known)
    assert len(found) == 150_000
    assert [item.address for item in found if not item.is_unchanged] == [last]


def test_a_pattern_names_folders(server: MailServer) -> None:
    for folder in ("INBOX", "Work/Pumps", "Work/Entw&APw-rfe", "Home &- garden"):
        server.put(folder, PUMPS)

    def folders(path: str) -> set[str]:
        return {item.name.rpartition("/")[0] for item in read(server.url(path))}

    assert folders("*") == {"INBOX", "Work/Pumps", "Work/Entwürfe", "Home & garden"}
    assert folders("Work/*") == {"Work/Pumps", "Work/Entwürfe"}
    assert folders("Work/Entw%C3%BCrfe") == {"Work/Entwürfe"}
    assert folders("Home%20%26%20garden") == {"Home & garden"}


def test_a_message_has_the_same_name_after_the_server_has_numbered_all_anew(small: SmallServer) -> None:
    small.put("INBOX", PUMPS)
    [first] = read(small.url())
    small.validity += 1
    [again] = read(small.url(), remembered([first]))
    assert (again.name, again.content) == (first.name, first.content)
    assert again.address != first.address


def test_large_and_broken_messages_are_told_and_the_others_are_read(small: SmallServer) -> None:
    for content in (message("Large", "x" * 5000), PUMPS, PUMPS):
        small.put("INBOX", content)
    small.broken = {2}
    large, broken, fine = read(small.url(), max_bytes=1000)
    assert "more than 1,000 bytes" in large.error
    assert "cannot be read" in broken.error
    assert fine.content
    assert "UID FETCH 1 (BODY.PEEK[])" not in small.asked


def test_older_messages_are_left_out(small: SmallServer) -> None:
    small.put("INBOX", PUMPS)
    assert read(small.url(), since=date(2024, 3, 1)) == []
    assert "UID SEARCH UNDELETED SINCE 01-Mar-2024" in small.asked


@pytest.mark.parametrize(
    ("path", "options", "words"),
    [
        ("Nothing", {}, "has no folder 'Nothing'"),
        ("", {"password": "wrong"}, "cannot be read: "),
        ("", {"unencrypted": False}, "TLS"),
    ],
)
def test_what_is_wrong_is_told(server: MailServer, path: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(SourceFailed, match=words) as error:
        read(server.url(path), **options)
    assert PASSWORD not in str(error.value)


def test_a_server_that_does_not_answer_is_told() -> None:
    with pytest.raises(SourceFailed, match="refused"):
        read("imaps://ada@127.0.0.1:1/")


def test_tls_is_used_from_the_start_and_the_certificate_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = write_certificate(tmp_path / "server.pem")
    with SmallServer(certificate) as server:
        server.put("INBOX", PUMPS)
        with pytest.raises(SourceFailed, match="CERTIFICATE_VERIFY_FAILED"):
            read(server.url(), unencrypted=False)
        assert server.asked == [], "no password was sent"
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        [item] = read(server.url(), unencrypted=False)
        assert b"They are blue." in item.content
        assert item.address.startswith(server.url("INBOX;"))
