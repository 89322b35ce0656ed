"""Git repositories: the files of one commit. The command line of Git fetches them, without their history."""

from __future__ import annotations

import asyncio
import subprocess
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import httpx
from pydantic import Field

from base.models import FrozenModel
from base.process import child_environment
from base.web import WebError, checked_addresses
from ingest.errors import SourceFailed
from ingest.source import Item, Known, too_large

PREFIX = "git+"
_TIMEOUT_S = 3600  # for one command; a server that sends nothing for a minute ends it earlier
_LINKS = {"github.com": "/blob/{ref}/{path}", "gitlab.com": "/-/blob/{ref}/{path}"}  # below the repository
_PROTOCOLS = ("file", "git", "http", "https", "ssh")  # others run programs
_PORTS = {"http": 80, "https": 443}
_POINTER = b"version https://git-lfs.github.com/spec/"
_NO_FILES = {b"120000": "a link", b"160000": "a submodule"}  # by mode


def is_repository(address: str) -> bool:
    """Return whether an address is of a Git repository: it begins with `git+` or ends with `.git`."""
    return address.startswith(PREFIX) or address.endswith(".git")


class GitOptions(FrozenModel):
    """Which state of a repository to read."""

    ref: str = Field(default="HEAD", pattern=r"^[^-+:\s][^:\s]*$", description="branch, tag or full commit id")


class GitAccess(GitOptions):
    """How to read a repository. Only the person at the machine of the service may choose all of it."""

    link: str = Field(default="", description="address of a file on the host, with {ref} and {path}")
    user: str = Field(default="git", description="user name for http, with the password")
    password: str = Field(default="", description="password or token for http")


class _Entry(NamedTuple):
    """A file of the commit."""

    name: str
    mode: bytes
    blob: str


class GitSource:
    """The repository at an address such as `git+https://example.org/pumps.git`.

    ``judge`` returns why a file is left out, or an empty string. Files that are left out are not transferred.
    """

    def __init__(
        self, address: str, access: GitAccess, judge: Callable[[str], str], *, max_bytes: int, allow_private: bool
    ) -> None:
        self._address, self._access, self._judge = address.removeprefix(PREFIX), access, judge
        self._max_bytes, self._allow_private = max_bytes, allow_private
        self._scheme = urlsplit(self._address).scheme or "ssh"  # git@example.org:pumps.git
        if self._scheme in _PORTS:
            self._address = str(httpx.URL(self._address))  # so that Git sees the host that is checked
        self._link = access.link or self._address.removesuffix(".git") + _LINKS.get(
            urlsplit(self._address).hostname or "", "#{path}"
        )

    def items(self, known: Mapping[str, Known]) -> Iterator[Item]:
        """Yield the files. Transfers only changed ones, if the server can send single files, as the large hosts can."""
        with TemporaryDirectory(prefix="candor-git-") as folder:
            git = partial(self._git, folder, self._environment(folder))
            git("init", "--bare", "--quiet")
            git("fetch", "--depth=1", "--filter=blob:none", "origin", self._access.ref)
            link, changed = self._link.replace("{ref}", quote(self._access.ref)), list[tuple[_Entry, str]]()
            for entry in _entries(git("ls-tree", "-r", "-z", "--full-tree", "FETCH_HEAD")):
                address = link.replace("{path}", quote(entry.name, errors="surrogateescape"))
                if why := _NO_FILES.get(entry.mode) or self._judge(entry.name):
                    yield Item("", address, skipped=why)
                elif address in known and known[address].version == entry.blob:
                    yield Item("", address, is_unchanged=True)
                else:
                    changed.append((entry, address))
            sizes = _sizes(git, [entry.blob for entry, _ in changed])
            for (entry, address), size in zip(changed, sizes, strict=True):
                if size > self._max_bytes:
                    yield too_large(address, self._max_bytes)
                elif (content := git("cat-file", "blob", entry.blob)).startswith(_POINTER):
                    yield Item("", address, skipped="it is in Git LFS, which is not read")
                else:
                    yield Item(entry.name, address, entry.blob, content)

    def _environment(self, folder: str) -> dict[str, str]:
        """Return the environment of Git, with its settings: other users cannot see it, but they can see a command."""
        settings = [("remote.origin.url", self._address), ("core.sshCommand", "ssh -o BatchMode=yes")]
        settings += [("protocol.allow", "never"), *((f"protocol.{each}.allow", "always") for each in _PROTOCOLS)]
        environment = child_environment(network=True, agent=True)
        if self._scheme in _PORTS:
            # A service must not use the logins of its machine for the repositories that others name.
            environment |= {"HOME": folder, "XDG_CONFIG_HOME": folder}
            settings += [("http.lowSpeedLimit", "1"), ("http.lowSpeedTime", "60"), ("credential.helper", "")]
            settings += [("http.followRedirects", "false"), *self._pinned()]
            if self._access.password:
                login = b64encode(f"{self._access.user}:{self._access.password}".encode()).decode()
                settings.append(("http.extraHeader", f"Authorization: Basic {login}"))
        for number, (name, value) in enumerate(settings):
            environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
        return environment | {"GIT_CONFIG_COUNT": str(len(settings))}

    def _pinned(self) -> list[tuple[str, str]]:
        """Return the settings with which Git connects only to the IP addresses that were checked, without a proxy."""
        if self._allow_private:
            return []
        url = httpx.URL(self._address)
        try:
            found = asyncio.run(checked_addresses(url, allow_private=False, setting="ingest.allow_private_addresses"))
        except WebError as error:
            raise SourceFailed(str(error)) from error
        port = url.port or _PORTS[self._scheme]
        return [("http.curloptResolve", f"{url.host}:{port}:{','.join(found)}"), ("http.proxy", "")]

    def _git(self, folder: str, environment: Mapping[str, str], *arguments: str, given: bytes = b"") -> bytes:
        """Run Git in the folder and return its output. Raises SourceFailed."""
        try:
            done = subprocess.run(
                ["git", *arguments], input=given, capture_output=True, check=False, cwd=folder, env=environment,
                timeout=_TIMEOUT_S, start_new_session=True,  # without a terminal, Git and ssh ask for no password
            )  # fmt: skip
        except FileNotFoundError as error:
            raise SourceFailed("The source needs Git, which is not installed: `apt install git`.") from error
        except subprocess.TimeoutExpired as error:
            raise SourceFailed(f"{self._address} was not complete after {_TIMEOUT_S} seconds.") from error
        if done.returncode:
            said = " ".join(done.stderr.decode("utf-8", "replace").split())
            raise SourceFailed(f"Git cannot read {self._address} at {self._access.ref!r}: {said}")
        return done.stdout


def _entries(listed: bytes) -> Iterator[_Entry]:
    for line in filter(None, listed.split(b"\0")):
        about, _, name = line.partition(b"\t")
        mode, _, blob = about.split(b" ")
        yield _Entry(name.decode("utf-8", "surrogateescape"), mode, blob.decode())


def _sizes(git: Callable[..., bytes], blobs: Sequence[str]) -> list[int]:
    """Transfer files that are missing, all at once, and return the sizes."""
    given = "\n".join(blobs).encode()
    if blobs:
        git("fetch", "--no-tags", "--no-write-fetch-head", "--filter=blob:none", "--stdin", "origin", given=given)
    return [int(size) for size in git("cat-file", "--batch-check=%(objectsize)", given=given).split()]
