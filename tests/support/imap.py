"""IMAP servers for tests: a small one of our own, and Dovecot.

with SmallServer() as server:
    server.put("Projects", message("Pumps", "They are blue."))
    server.url("Projects")                       # imap://ada@127.0.0.1:…/Projects
"""

from __future__ import annotations

import imaplib
import os
import re
import shutil
import socketserver
import ssl
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, Protocol, Self

from support.ports import free_port
from support.server_thread import ServerThread
from support.waiting import until

USER, PASSWORD = "ada", "hush"


def message(subject: str, text: str, attachment: str = "") -> bytes:
    """Return a message, with a text file if there is an attachment."""
    made = EmailMessage()
    made["Subject"], made["From"], made["Date"] = subject, "Ada <ada@example.org>", "Mon, 01 Jan 2024 10:00:00 +0000"
    made.set_content(text)
    if attachment:
        made.add_attachment(attachment, filename="notes.txt")
    return made.as_bytes()


def write_certificate(file: Path) -> Path:
    """Write a private key and a self-signed certificate for 127.0.0.1."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    private = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, plain)
    file.write_bytes(private + made.public_bytes(encoding))
    return file


class MailServer(Protocol):
    """Serves the mail folders of one user. Their names are in modified UTF-7, with slashes."""

    def url(self, path: str = "") -> str: ...

    def put(self, folder: str, content: bytes) -> None: ...

    def delete(self, folder: str, number: int) -> None:
        """Mark a message as deleted, as mail programs do."""

    def flags(self, folder: str) -> str:
        """Return the flags of all messages."""


class SmallServer(ServerThread):
    """Responds to IMAP commands. Refuses those that change a folder. ``asked`` lists all commands.

    With a ``certificate``, a file of its key and itself, it speaks TLS from the start.
    """

    def __init__(self, certificate: Path | None = None) -> None:
        self._scheme = "imaps" if certificate else "imap"
        self.folders: dict[str, dict[int, bytes]] = {"INBOX": {}}
        self.deleted: set[tuple[str, int]] = set()
        self.validity = 7
        self.asked: list[str] = []
        self.broken: set[int] = set()  # messages that cannot be sent
        mail = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.wfile.write(b"* OK ready\r\n")
                selected = ""
                for line in self.rfile:
                    tag, command = line.decode().strip().split(" ", 1)
                    mail.asked.append(re.sub(r"(LOGIN \S+) .*", r"\1", command))
                    answers, status = mail.answer(command, selected)
                    if command.startswith("EXAMINE") and status == "OK":
                        selected = _unquoted(command.split(" ", 1)[1])
                    self.wfile.write(b"".join(each + b"\r\n" for each in answers) + f"{tag} {status} x\r\n".encode())
                    if command == "LOGOUT":
                        return

        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        if certificate:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        super().__init__(server)

    def answer(self, command: str, selected: str) -> tuple[list[bytes], str]:
        name, _, rest = command.partition(" ")
        match name:
            case "CAPABILITY":
                return [b"* CAPABILITY IMAP4rev1"], "OK"
            case "LOGIN":
                return [], "OK" if rest == f'{USER} "{PASSWORD}"' else "NO"
            case "LIST":
                return self._list(_unquoted(rest.split(" ", 1)[1])), "OK"
            case "EXAMINE" if _unquoted(rest) in self.folders:
                count = len(self.folders[_unquoted(rest)])
                return [b"* %d EXISTS" % count, b"* OK [UIDVALIDITY %d] x" % self.validity], "OK"
            case "LOGOUT":
                return [b"* BYE x"], "OK"
            case "UID" if selected:
                return self._messages(*rest.split(" ", 1), self.folders[selected], selected)
        return [], "BAD"

    def _list(self, pattern: str) -> list[bytes]:
        if not pattern:
            return [b'* LIST (\\Noselect) "/" ""']
        wanted = re.compile(re.escape(pattern).replace(r"\*", ".*").replace("%", "[^/]*"))
        found = [name for name in [*self.folders, "Parent"] if wanted.fullmatch(name)]
        return [
            b'* LIST (%s) "/" {%d}\r\n%s' % (b"\\NoSelect" * (name == "Parent"), len(name), name.encode())
            for name in found
        ]

    def _messages(self, what: str, rest: str, messages: dict[int, bytes], folder: str) -> tuple[list[bytes], str]:
        if what == "SEARCH":
            part = re.match(r"(\d+):(\d+) ", rest)
            asked = [*messages][int(part[1]) - 1 : int(part[2])] if part else messages
            found = [uid for uid in asked if (folder, uid) not in self.deleted and "2024" not in rest]
            return [b"* SEARCH " + " ".join(map(str, found)).encode()], "OK"
        uid, _, part = rest.partition(" ")
        content = messages[int(uid)]
        if int(uid) in self.broken:
            return [], "NO"
        if part == "(RFC822.SIZE)":
            return [f"* 1 FETCH (UID {uid} RFC822.SIZE {len(content)})".encode()], "OK"
        assert part == "(BODY.PEEK[])", "anything else would mark the message as seen"
        return [b"* 1 FETCH (UID %d BODY[] {%d}\r\n%s)" % (int(uid), len(content), content)], "OK"

    def url(self, path: str = "") -> str:
        return f"{self._scheme}://{USER}@127.0.0.1:{self.port}/{path}"

    def put(self, folder: str, content: bytes) -> None:
        messages = self.folders.setdefault(folder, {})
        messages[len(messages) + 1] = content

    def delete(self, folder: str, number: int) -> None:
        self.deleted.add((folder, number))

    def flags(self, folder: str) -> str:
        return ""


def _unquoted(text: str) -> str:
    return text.strip('"').replace('\\"', '"')


_CONFIGURATION = """
base_dir = {folder}/run
state_dir = {folder}/run
log_path = {folder}/log
protocols = imap
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
mail_location = maildir:{folder}/mail/%u:LAYOUT=fs
mail_uid = 65534
mail_gid = 65534
namespace inbox {{
  inbox = yes
  separator = .
}}
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid=65534 gid=65534 home={folder}/mail/%u
}}
service imap-login {{
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
"""


class Dovecot:
    """Runs Dovecot with its data in a folder. Dots separate the parts of a mail folder's name."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._port = folder, free_port()

    @staticmethod
    def missing() -> str:
        """Return why it cannot run here, or an empty string."""
        if not shutil.which("dovecot"):
            return "Dovecot is not installed (apt install dovecot-imapd)"
        return "" if os.getuid() == 0 else "Dovecot runs with users of its own, which only root may start"

    def __enter__(self) -> Self:
        for part in ("run", "mail"):
            (self._folder / part).mkdir(parents=True)
        os.chown(self._folder / "mail", 65534, 65534)
        for parent in (self._folder, *self._folder.parents[:4]):
            parent.chmod(parent.stat().st_mode | 0o111)
        file = self._folder / "dovecot.conf"
        file.write_text(_CONFIGURATION.format(folder=self._folder, password=PASSWORD, port=self._port))
        self._process = subprocess.Popen(["dovecot", "-F", "-c", str(file)])
        until(self._answers)
        return self

    def _answers(self) -> bool:
        try:
            self._command(lambda server: None)
        except (OSError, imaplib.IMAP4.error):
            return False
        return True

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def url(self, path: str = "") -> str:
        return f"imap://{USER}@127.0.0.1:{self._port}/{path}"

    def put(self, folder: str, content: bytes) -> None:
        name = '"' + folder.replace("/", ".") + '"'
        self._command(lambda server: (server.create(name), server.append(name, "", "", content)))

    def delete(self, folder: str, number: int) -> None:
        def mark(server: imaplib.IMAP4) -> None:
            server.select(f'"{folder}"')
            server.store(str(number), "+FLAGS", "\\Deleted")

        self._command(mark)

    def flags(self, folder: str) -> str:
        def read(server: imaplib.IMAP4) -> str:
            server.select(f'"{folder}"', readonly=True)
            return str(server.fetch("1:*", "(FLAGS)")[1])

        return str(self._command(read))

    def _command(self, act: Callable[[imaplib.IMAP4], Any]) -> Any:
        with imaplib.IMAP4("127.0.0.1", self._port) as server:
            server.login(USER, PASSWORD)
            return act(server)
