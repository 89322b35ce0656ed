"""Links in the folders that the service may ingest from: none leads out of them."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.bootstrap import Candor
from api.settings import ServiceSettings
from ingest.pipeline.plan import IngestRequest
from support.service import RunningService
from support.waiting import LIMIT_S, until

SECRET = "api_key = 'sk-never-to-be-read'"
PLAIN = "The Borea 12 works down to -25 degrees."


class Shared:
    """A service that may ingest the folder ``root``, and a secret outside it."""

    def __init__(self, client: httpx.Client, candor: Candor, root: Path, secret: Path) -> None:
        self.client, self.candor, self.root, self.secret = client, candor, root, secret

    def ingest(self, *paths: Path) -> dict[str, Any]:
        """Ingest the paths, by default the root, and return the ended job."""
        body = {"paths": [str(path) for path in paths or (self.root,)]}
        return self.ended(self.client.post("/v1/collections/papers/ingest", json=body))

    def again(self, name: str) -> dict[str, Any]:
        """Ingest a document again and return the ended job."""
        identity = self.documents()[name]["id"]
        return self.ended(self.client.post(f"/v1/documents/{identity}/ingest", params={"collection": "papers"}))

    def ended(self, begun: httpx.Response) -> dict[str, Any]:
        """Wait for the end of the job and return it."""
        assert begun.status_code == 202, begun.text
        where = begun.headers["location"]
        until(lambda: self.client.get(where).json()["status"] not in ("waiting", "running"))
        job: dict[str, Any] = self.client.get(where).json()
        return job

    def documents(self) -> dict[str, dict[str, Any]]:
        """Return the documents by name."""
        listed = self.client.get("/v1/documents", params={"collection": "papers"}).json()
        return {document["name"]: document for document in listed}

    def original(self, name: str) -> httpx.Response:
        """Ask for the original file of a document."""
        identity = self.documents()[name]["id"]
        return self.client.get(f"/v1/documents/{identity}/original", params={"collection": "papers"})

    def leaked(self) -> bool:
        """Return whether a document has the text of the secret."""
        texts = [self.client.get(f"/v1/documents/{each['id']}", params={"collection": "papers"}).text
                 for each in self.documents().values()]  # fmt: skip
        originals = [self.original(name).text for name in self.documents()]
        found = self.client.post("/v1/search", json={"query": SECRET, "collection": "papers"}).text
        return any("sk-never" in text for text in (*texts, *originals, found))


@pytest.fixture
def shared(make_candor: Callable[..., Candor], tmp_path: Path) -> Iterator[Shared]:
    """Start the service with a root that holds one plain file."""
    root = tmp_path / "shared"
    root.mkdir()
    (root / "plain.txt").write_text(PLAIN)
    secret = tmp_path / "secret.txt"
    secret.write_text(SECRET)
    with _serving(make_candor(service=ServiceSettings(ingest_roots=(root,))), root, secret) as service:
        yield service


@contextmanager
def _serving(candor: Candor, root: Path, secret: Path) -> Iterator[Shared]:
    with RunningService(candor) as running, httpx.Client(base_url=running.url, timeout=LIMIT_S) as client:
        yield Shared(client, candor, root, secret)


def test_no_link_in_a_root_leads_out_of_it(shared: Shared, tmp_path: Path) -> None:
    home = shared.candor.settings.home
    (home / "candor.toml").write_text(SECRET)
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "diary.txt").write_text(SECRET)
    (shared.root / "file.txt").symlink_to(shared.secret)
    (shared.root / "settings.toml").symlink_to(home / "candor.toml")
    (shared.root / "host").symlink_to("/etc/hostname")
    (shared.root / "folder").symlink_to(tmp_path / "private")
    (shared.root / "home").symlink_to(home)
    job = shared.ingest()
    assert job["result"]["indexed"] == 1
    documents = shared.documents()
    assert {name for name, each in documents.items() if each["state"] == "indexed"} == {"plain.txt"}
    assert "diary.txt" not in str(documents), "not even the names of files outside"
    for name in ("file.txt", "settings.toml", "host", "folder"):
        assert documents[name]["state"] == "skipped"
        assert "leads out of the folders" in documents[name]["reason"]
    assert shared.original("plain.txt").text == PLAIN
    assert not shared.leaked()


def test_a_link_inside_a_root_is_followed(shared: Shared) -> None:
    (shared.root / "below").mkdir()
    (shared.root / "below" / "text.md").write_text("# Soup\n\nBoil the lentils.")
    (shared.root / "alias.md").symlink_to("below/text.md")
    assert shared.ingest()["result"]["indexed"] == 3
    assert "lentils" in shared.original("alias.md").text


def test_a_link_that_becomes_a_folder_while_it_is_resolved(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    (shared.root / "link").symlink_to(shared.root)
    read = os.readlink

    def replaced(path: str) -> str:
        if Path(path).name == "link":
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
        return read(path)

    monkeypatch.setattr(os, "readlink", replaced)
    refused = shared.client.post("/v1/collections/papers/ingest", json={"paths": [str(shared.root / "link")]})
    assert refused.status_code == 422
    assert "cannot be read: Invalid argument. Try again." in refused.text


def test_a_file_that_becomes_a_link_is_not_read_again(shared: Shared) -> None:
    shared.ingest()
    (shared.root / "plain.txt").unlink()
    (shared.root / "plain.txt").symlink_to(shared.secret)
    job = shared.again("plain.txt")
    assert job["result"]["indexed"] == 0
    document = shared.documents()["plain.txt"]
    assert (document["state"], "leads out of the folders" in document["reason"]) == ("failed", True)
    assert not shared.leaked()


def test_an_original_is_served_only_with_the_content_that_was_ingested(shared: Shared) -> None:
    forged = shared.root / "plain.txt"
    forged.write_text("x" * len(SECRET))  # the size and the time of the secret
    seen = shared.secret.stat()
    os.utime(forged, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    shared.ingest()
    forged.unlink()
    forged.symlink_to(shared.secret)
    response = shared.original("plain.txt")
    assert (response.status_code, "changed" in response.text) == (410, True)
    assert not shared.leaked()


def test_a_path_with_dots_after_a_link_does_not_lead_out(shared: Shared) -> None:
    (shared.root / "a" / "b").mkdir(parents=True)
    (shared.root / "secret.txt").write_text("A decoy in the root.")
    (shared.root / "link").symlink_to(shared.root / "a" / "b")
    path = f"{shared.root}/link/../../secret.txt"  # through the link, the decoy; without it, the secret
    answer = shared.client.post("/v1/collections/papers/ingest", json={"paths": [path]})
    assert answer.status_code == 422, answer.text


def test_a_document_of_the_command_line_is_read_again_unless_it_became_a_link(shared: Shared, tmp_path: Path) -> None:
    outside = tmp_path / "own.txt"
    outside.write_text("Knead the dough for ten minutes.")
    shared.candor.ingest.ingest(IngestRequest(collection="papers", paths=(outside,)))
    assert shared.again("own.txt")["result"]["failed"] == []
    outside.unlink()
    outside.symlink_to(shared.secret)
    shared.again("own.txt")
    assert shared.documents()["own.txt"]["state"] == "failed"
    assert not shared.leaked()
