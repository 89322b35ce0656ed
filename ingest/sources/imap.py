"""Folders of mail on an IMAP server. They are only read: no message is marked as seen."""

from __future__ import annotations

import hashlib
import imaplib
import re
import ssl
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from email.parser import BytesHeaderParser
from email.policy import default
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from pydantic import Field

from base.models import FrozenModel
from ingest.errors import SourceFailed
from ingest.source import Item, Known, file_name, too_large

SCHEMES = ("imap://", "imaps://")
_TIMEOUT_S = 60.0  # for each answer of the server
_MOST_FOUND = 50_000  # messages in one answer: Python takes lines of up to 1,000,000 bytes
_SUBJECT = 60  # characters of a file name
_LISTED = re.compile(rb'\((?P<flags>.*?)\) (?:NIL|"\\?(?P<between>.)") (?:"(?P<quoted>.*)"|(?P<plain>.*))', re.DOTALL)
_SIZE = re.compile(rb"RFC822\.SIZE (\d+)")


class ImapOptions(FrozenModel):
    """How to read folders of mail."""

    password: str = Field(default="", description="of the user, or the one of an app that the provider makes")
    since: date | None = Field(default=None, description="leave out messages that arrived before")
    unencrypted: bool = Field(default=False, description="allow a connection without TLS")


class ImapSource:
    """The folders at an address such as `imaps://ada@example.org/Projects`. The path may be a pattern of IMAP."""

    def __init__(self, address: str, options: ImapOptions, *, max_bytes: int) -> None:
        self._parts, self._options, self._max_bytes = urlsplit(address), options, max_bytes
        self._server = f"{self._parts.scheme}://{self._parts.netloc}"
        self._pattern = unquote(self._parts.path.strip("/")) or "INBOX"

    def items(self, known: Mapping[str, Known]) -> Iterator[Item]:
        """Yield the messages that are not marked as deleted. A message never changes, so known ones are not read."""
        with self._session() as server:
            folders = list(_folders(server, self._pattern))
            if not folders:
                raise SourceFailed(f"{self._server} has no folder {self._pattern!r}. Correct the path of the address.")
            for folder in folders:
                yield from self._messages(server, *folder, known)

    @contextmanager
    def _session(self) -> Iterator[imaplib.IMAP4]:
        """Connect and log in. Raises SourceFailed, also for what fails within."""
        host, port = self._parts.hostname or "", self._parts.port
        user, password = unquote(self._parts.username or ""), self._options.password
        context = ssl.create_default_context()
        try:
            with (
                imaplib.IMAP4_SSL(host, port or 993, ssl_context=context, timeout=_TIMEOUT_S)
                if self._parts.scheme == "imaps"
                else imaplib.IMAP4(host, port or 143, timeout=_TIMEOUT_S)
            ) as server:
                if self._parts.scheme == "imap" and not self._options.unencrypted:
                    server.starttls(context)
                if "AUTH=PLAIN" in server.capabilities:
                    server.authenticate("PLAIN", lambda _: f"\0{user}\0{password}".encode())
                else:
                    server.login(user, password)
                yield server
        except (imaplib.IMAP4.error, OSError, ValueError) as error:
            raise SourceFailed(f"{self._server} cannot be read: {_words(error)}") from error

    def _messages(
        self, server: imaplib.IMAP4, folder: str, parts: tuple[str, ...], known: Mapping[str, Known]
    ) -> Iterator[Item]:
        count = int(_data(server.select, folder, readonly=True)[0] or 0)
        validity = (server.response("UIDVALIDITY")[1][0] or b"0").decode()
        since = f" SINCE {self._options.since:%d-%b-%Y}" if self._options.since else ""
        for uid in _found(server, count, f"UNDELETED{since}"):
            address = f"{self._server}/{quote('/'.join(parts))};UIDVALIDITY={validity}/;UID={uid}"  # RFC 5092
            if address in known:
                yield Item("", address, is_unchanged=True)
                continue
            try:
                yield from self._message(server, uid, parts, address)
            except imaplib.IMAP4.abort:  # the connection has ended
                raise
            except imaplib.IMAP4.error as error:
                yield Item("", address, error=f"{address} cannot be read: {_words(error)}")

    def _message(self, server: imaplib.IMAP4, uid: int, parts: tuple[str, ...], address: str) -> Iterator[Item]:
        """Yield a message, or nothing if it was deleted meanwhile."""
        size = _SIZE.search(b"".join(filter(None, _data(server.uid, "FETCH", str(uid), "(RFC822.SIZE)"))))
        if size and int(size[1]) > self._max_bytes:
            yield too_large(address, self._max_bytes)
            return
        fetched = _data(server.uid, "FETCH", str(uid), "(BODY.PEEK[])")
        for content in (each[1] for each in fetched if isinstance(each, tuple)):
            subject = str(BytesHeaderParser(policy=default).parsebytes(content)["subject"] or "")
            # With its hash, a message has the same name in other folders and after the server numbers all anew.
            name = f"{file_name(subject[:_SUBJECT])} {hashlib.sha256(content).hexdigest()[:8]}.eml"
            yield Item("/".join([*map(file_name, parts), name]), address, content=content)


def _found(server: imaplib.IMAP4, count: int, criteria: str) -> list[int]:
    """Return the messages of a folder of ``count`` messages that fit. Asks for parts of a large folder, the last first.

    If messages are deleted meanwhile, later ones move to lower numbers: to parts that are still asked for.
    """
    lasts = range(count, 0, -_MOST_FOUND) if count > _MOST_FOUND else ()
    parts = [f"{max(last - _MOST_FOUND, 0) + 1}:{last} " for last in lasts] or [""]
    answers = (_data(server.uid, "SEARCH", part + criteria) for part in parts)
    return sorted({int(uid) for lines in answers for line in lines if line for uid in line.split()})


def _folders(server: imaplib.IMAP4, pattern: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the folders that can have messages: each as the server wants it, and its path for people."""
    separator = next((between for _, between, _ in _listed(server, "")), "")  # of names; the pattern has a slash
    wanted = pattern.replace("/", separator) if separator else pattern
    for flags, between, name in _listed(server, _encoded(wanted)):
        if b"\\noselect" not in flags.lower():
            yield _quoted(name), tuple(map(_decoded, name.split(between) if between else [name]))


def _listed(server: imaplib.IMAP4, pattern: str) -> Iterator[tuple[bytes, str, str]]:
    """Yield the answers to LIST: flags, separator and name."""
    for each in _data(server.list, '""', _quoted(pattern)):
        about, literal = each if isinstance(each, tuple) else (each or b"", b"")
        if found := _LISTED.match(about):
            name = literal or found["plain"] or re.sub(rb"\\(.)", rb"\1", found["quoted"] or b"")
            yield found["flags"], (found["between"] or b"").decode(), name.decode("ascii", "replace")


def _data(command: Callable[..., tuple[str, list[Any]]], *arguments: Any, **options: Any) -> list[Any]:
    """Return the data of a response. Raises imaplib.IMAP4.error if the server refuses the command."""
    status, data = command(*arguments, **options)
    if status != "OK":
        raise imaplib.IMAP4.error(data[0])
    return data


def _words(error: Exception) -> str:
    said = error.args[0] if isinstance(error, imaplib.IMAP4.error) and error.args else error
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said) or type(error).__name__


def _quoted(name: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", name) + '"'


def _encoded(name: str) -> str:
    """Return the name of a folder in the modified UTF-7 of IMAP."""
    return re.sub(
        r"[^ -~]+",
        lambda found: f"&{b64encode(found[0].encode('utf-16-be')).decode().rstrip('=').replace('/', ',')}-",
        name.replace("&", "&-"),
    )


def _decoded(name: str) -> str:
    """Return a name in the modified UTF-7 of IMAP as text."""
    return re.sub(
        r"&([^-]*)-",
        lambda found: f"+{found[1].replace(',', '/')}-".encode().decode("utf-7") if found[1] else "&",
        name,
    )
