"""Uploads, ingests of server files, re-ingests and deletions over HTTP."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.bootstrap import Candor
from api.settings import ServiceSettings, Settings
from api.storage.uploads import Uploads
from ingest.ledger.lock import ingest_lock
from ingest.settings import IngestSettings
from support.files import write_pdf
from support.service import RunningService
from support.waiting import LIMIT_S, until

PUMPS = ("pumps.md", b"# Pumps\n\nThe Borea 12 works down to -25 degrees.")
SOUP = ("recipes/soup.txt", b"Boil the lentils for 20 minutes.")


class Client(httpx.Client):
    """An HTTP client of a service with its own data folder."""

    home: Path

    def upload(self, *files: tuple[str, bytes], collection: str = "papers", **kwargs: Any) -> httpx.Response:
        """Upload the files as a browser does."""
        sent = [("files", (name, content)) for name, content in files]
        return self.post(f"/v1/collections/{collection}/documents", files=sent, **kwargs)

    def done(self, begun: httpx.Response) -> dict[str, Any]:
        """Wait for the end of the job and return it."""
        assert begun.status_code == 202, begun.text
        where = begun.headers["location"]
        assert where == f"/v1/jobs/{begun.json()['id']}"
        job: dict[str, Any] = begun.json()
        latest = time.monotonic() + LIMIT_S
        while job["status"] in ("waiting", "running"):
            assert time.monotonic() < latest, job
            time.sleep(0.05)
            job = self.get(where).json()
        return job

    def documents(self, collection: str = "papers") -> dict[str, dict[str, Any]]:
        """Return current and deleted documents by name."""
        listed = self.get("/v1/documents", params={"collection": collection}).json()
        return {document["name"]: document for document in listed}

    def stored(self) -> list[str]:
        """List all uploaded files, also unfinished ones."""
        folder = self.home / "uploads"
        # os.walk skips a folder that the service deletes meanwhile; Path.rglob raises FileNotFoundError.
        found = (Path(parent, name) for parent, _, names in os.walk(folder) for name in names)
        return sorted(str(path.relative_to(folder)) for path in found)


Start = Callable[..., Any]


@pytest.fixture
def start(make_candor: Callable[..., Candor]) -> Start:
    """``with start(upload_files=2) as client:`` runs a service with these settings."""

    @contextmanager
    def started(max_file_mb: int = 200, **service: Any) -> Iterator[Client]:
        candor = make_candor(service=ServiceSettings(**service), ingest=IngestSettings(max_file_mb=max_file_mb))
        with RunningService(candor) as running, Client(base_url=running.url, timeout=LIMIT_S) as client:
            client.home = candor.settings.home
            yield client

    return started


def test_uploaded_files_become_documents_that_are_found(start: Start) -> None:
    with start() as client:
        job = client.done(client.upload(PUMPS, SOUP))
        assert (job["kind"], job["status"], job["result"]["indexed"]) == ("ingest", "done", 2)
        assert {name: each["state"] for name, each in client.documents().items()} == {
            "pumps.md": "indexed", "recipes/soup.txt": "indexed"
        }  # fmt: skip
        [best, *_] = client.post("/v1/search", json={"query": "How cold for the Borea 12?"}).json()
        assert best["name"] == "pumps.md"
        assert client.stored() == ["papers/pumps.md", "papers/recipes/soup.txt"]
        original = client.get(f"/v1/documents/{best['document_id']}/original")
        assert original.content == PUMPS[1]


def test_a_file_of_the_same_name_replaces_the_one_before(start: Start) -> None:
    with start() as client:
        client.done(client.upload(PUMPS, SOUP))
        client.done(client.upload(SOUP, collection="others"))
        before = client.documents()
        client.done(client.upload((SOUP[0], b"Boil the beans for an hour.")))
        after = client.documents()
        assert after["recipes/soup.txt"]["id"] == before["recipes/soup.txt"]["id"]
        assert after["pumps.md"] == before["pumps.md"]
        found = client.post("/v1/search", json={"query": "boil", "collection": "papers"}).json()
        assert {hit["text"] for hit in found if hit["name"] == SOUP[0]} == {"Boil the beans for an hour."}
        other = client.post("/v1/search", json={"query": "boil", "collection": "others"}).json()
        assert [hit["text"] for hit in other] == [SOUP[1].decode()], "of another collection, it stays"


ASTRAY = (
    "../pumps.md", "/etc/pumps.md", "a/../../pumps.md", "a//pumps.md", ".pumps.md", "a/.b/pumps.md", "..\\pumps.md",
    "pumps\x00.md", f"{'x' * 300}.md",
)  # fmt: skip


def test_a_name_that_could_lead_elsewhere_is_refused_and_nothing_is_kept(start: Start) -> None:
    head = b'--b\r\nContent-Disposition: form-data; name="files"; filename="'
    kind = {"Content-Type": "multipart/form-data; boundary=b"}
    with start() as client:
        for name in ASTRAY:
            body = head + b'good.md"\r\n\r\nGood.\r\n' + head + name.encode() + b'"\r\n\r\nBad.\r\n--b--\r\n'
            refused = client.post("/v1/collections/papers/documents", content=body, headers=kind)
            assert (refused.status_code, refused.json()["title"]) == (422, "Wrong input"), name
            assert "Invalid file name" in refused.json()["detail"]
        assert client.stored() == []
        assert client.get("/v1/collections").json() == []


def test_what_is_no_upload_or_is_cut_off_leaves_nothing(start: Start) -> None:
    with start() as client:
        form = {"Content-Type": "multipart/form-data; boundary=b"}
        head = b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.md"\r\n\r\n'
        address = "/v1/collections/papers/documents"
        for body, headers, reason in (
            (b"{}", {"Content-Type": "application/json"}, "multipart/form-data"),
            (head + b"cut", form, "the form has no end"),
            (b"--b--\r\n", form, "no file"),
            (
                b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n1\r\n--b--\r\n',
                form,
                "'x' of the upload has no file name",
            ),
            (head + b"1\r\n" + head + b"2\r\n--b--\r\n", form, "two files named 'a.md'"),
            (b"nonsense", form, "not valid multipart"),
        ):
            refused = client.post(address, content=body, headers=headers)
            assert refused.status_code == 422, refused.text
            assert reason in refused.json()["detail"]
        host, port = client.base_url.host, client.base_url.port
        with socket.create_connection((host, port)) as gone_away:
            sent = {"Host": f"{host}:{port}", "Content-Length": "1000000", **form}
            lines = [f"POST {address} HTTP/1.1", *map(": ".join, sent.items()), "", ""]
            gone_away.sendall("\r\n".join(lines).encode() + head + b"x" * 200_000)
            until(lambda: len(client.stored()) == 1)
        until(lambda: client.stored() == [])


def test_a_file_and_a_folder_of_one_name_in_an_upload_leave_nothing(start: Start) -> None:
    with start() as client:
        for files in ([("a", b"1"), ("a/b.md", b"2")], [("a/b/c.md", b"1"), ("a", b"2")]):
            refused = client.upload(*files)
            assert (refused.status_code, refused.json()["title"]) == (422, "Wrong input")
            assert "the file 'a' and, in a folder with the same name, the file" in refused.json()["detail"]
        assert client.stored() == []


def test_what_is_too_large_is_refused_and_names_the_setting(start: Start) -> None:
    with start(upload_bytes=3 << 20, upload_files=2, max_file_mb=1) as client:
        for files, setting in (
            ([("a.md", b"x" * (4 << 20))], "service.upload_bytes"),
            ([("a.md", b"x" * (2 << 20))], "ingest.max_file_mb"),
            ([(f"{number}.md", b"x") for number in range(3)], "service.upload_files"),
        ):
            refused = client.upload(*files)
            assert (refused.status_code, refused.json()["title"]) == (413, "Upload too large")
            assert setting in refused.json()["detail"]

        def unannounced() -> Iterator[bytes]:
            yield b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.md"\r\n\r\n'
            for _ in range(8):
                yield b"x" * (1 << 19)

        kind = {"Content-Type": "multipart/form-data; boundary=b"}
        refused = client.post("/v1/collections/papers/documents", content=unannounced(), headers=kind)
        assert refused.status_code == 413
        assert client.stored() == []


def test_many_fields_of_metadata_are_read_in_linear_time(start: Start) -> None:
    part = '--x\r\nContent-Disposition: form-data; name="meta"\r\n\r\n1\r\n'
    with start() as http:
        began = time.monotonic()
        refused = http.post(
            "/v1/collections/papers/documents", content=part.encode() * 30_000 + b"--x--\r\n",
            headers={"Content-Type": "multipart/form-data; boundary=x"},
        )  # fmt: skip
        assert refused.status_code == 422
        assert time.monotonic() - began < 10


def test_a_document_that_failed_says_why_and_is_tried_again(start: Start) -> None:
    with start() as client:
        job = client.done(client.upload(("bad.pdf", b"%PDF-1.7 no document"), SOUP))
        assert (job["status"], job["result"]["indexed"]) == ("done", 1)
        bad = client.documents()["bad.pdf"]
        assert (bad["state"], bad["stage"], bad["attempts"]) == ("failed", "parsing", 1)
        assert "damaged" in bad["reason"]
        again = client.done(client.post(f"/v1/documents/{bad['id']}/ingest"))
        assert again["result"]["files"] == 1
        assert client.documents()["bad.pdf"]["attempts"] == 2
        client.done(client.post("/v1/collections/papers/ingest", json={"retry_failed": True}))
        assert client.documents()["bad.pdf"]["attempts"] == 3
        client.done(client.upload(("bad.pdf", write_pdf(client.home / "good", parts=["Good."]).read_bytes())))
        assert client.documents()["bad.pdf"]["state"] == "indexed"
        nothing = client.post("/v1/collections/papers/ingest", json={"retry_failed": True})
        assert (nothing.status_code, nothing.json()["detail"]) == (422, "No file has failed.")


def test_with_a_document_its_uploaded_file_goes_but_no_other(start: Start, folder: Path) -> None:
    with start(ingest_roots=(folder,)) as client:
        client.done(client.upload(PUMPS, SOUP))
        client.done(client.post("/v1/collections/papers/ingest", json={"paths": [str(folder / "soup.txt")]}))
        documents = client.documents()
        for name in (SOUP[0], "soup.txt"):
            assert client.delete(f"/v1/documents/{documents[name]['id']}?now=true").status_code == 200
        assert client.stored() == ["papers/pumps.md"]
        assert not (client.home / "uploads" / "papers" / "recipes").exists(), "nor its folder, which is empty now"
        assert (folder / "soup.txt").exists()


def test_files_of_the_machine_are_ingested_only_from_folders_that_are_named(
    start: Start, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text("Nobody is to read this.")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")

    def refused(client: Client, path: Path) -> str:
        response = client.post("/v1/collections/papers/ingest", json={"paths": [str(path)]})
        assert response.status_code == 422, response.text
        return str(response.json()["detail"])

    with start() as client:
        assert "service.ingest_roots" in refused(client, folder)
    with start(ingest_roots=(folder, tmp_path / "home")) as client:
        assert "may not read" in refused(client, tmp_path / "secret.txt")
        assert "may not read" in refused(client, folder / ".." / "secret.txt")
        assert "may not read" in refused(client, folder / "link.txt")
        assert "may not read" in refused(client, client.home / "candor.db"), "Candor's own data, wherever it lies"
        assert "not an absolute path" in refused(client, Path("papers"))
        assert "U+0000" in refused(client, Path("/papers\0"))
        assert "does not exist" in refused(client, folder / "missing.txt")
        (folder / "link.txt").unlink()
        begun = client.post("/v1/collections/papers/ingest", json={"paths": [str(folder)]})
        assert client.done(begun)["result"]["indexed"] == 2
        (folder / "soup.txt").unlink()
        synced = client.post("/v1/collections/papers/ingest", json={"paths": [str(folder)], "sync": True})
        assert client.done(synced)["result"]["removed"] == ["soup.txt"]


def test_a_collection_is_deleted_with_what_was_uploaded(start: Start) -> None:
    with start() as client:
        client.done(client.upload(PUMPS))
        assert client.post("/v1/search", json={"query": "pumps"}).status_code == 200
        assert client.delete("/v1/collections/papers?now=true").json() == {"dropped": "papers"}
        assert client.get("/v1/collections").json() == []
        assert client.stored() == []
        assert client.delete("/v1/collections/papers?now=true").status_code == 404
        assert client.done(client.upload(SOUP))["result"]["indexed"] == 1, "and made anew"
        assert list(client.documents()) == [SOUP[0]]


def test_one_idempotency_key_gives_one_job(start: Start) -> None:
    with start() as client:
        key = {"Idempotency-Key": "once"}
        first, second = (client.upload(PUMPS, headers=key) for _ in range(2))
        assert client.done(first)["id"] == client.done(second)["id"]
        assert client.upload(SOUP, headers=key).status_code == 409


def test_what_a_killed_service_was_receiving_is_cleared_by_the_next(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    host = socket.gethostname()
    names = [f"{host}-{ended.pid}-x", f"{host}-{os.getpid()}-x", f"{host}-{os.getppid()}-x", f"other-{ended.pid}-x"]
    _, _, going_on, elsewhere = folders = [tmp_path / ".incoming" / name for name in names]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "0").write_text("half a file")
    Uploads(tmp_path).clear()
    assert [folder for folder in folders if folder.exists()] == [going_on, elsewhere]


def test_an_accepted_upload_is_a_document_before_its_ingest_begins(start: Start) -> None:
    with start() as client:
        candor = Candor(Settings(home=client.home))
        with ingest_lock(candor.engine, "papers"):  # the jobs wait
            first = client.upload(PUMPS, SOUP, params={"tags": ["new"]})
            listed = client.documents()
            assert {name: (each["state"], each["tags"]) for name, each in listed.items()} == {
                "pumps.md": ("discovered", ["new"]), "recipes/soup.txt": ("discovered", ["new"])
            }  # fmt: skip
            assert client.get("/v1/documents/pumps.md", params={"collection": "papers"}).status_code == 200
            client.post(f"/v1/jobs/{first.json()['id']}/cancel")
        assert client.done(first)["status"] == "cancelled"
        retried = client.post("/v1/collections/papers/ingest", json={"retry_failed": True})
        assert client.done(retried)["result"]["indexed"] == 2
        assert {each["state"] for each in client.documents().values()} == {"indexed"}


def test_a_replaced_document_waits_and_stays_searchable(start: Start) -> None:
    with start() as client:
        client.done(client.upload(PUMPS))
        candor = Candor(Settings(home=client.home))
        with ingest_lock(candor.engine, "papers"):
            waiting = client.upload(("pumps.md", b"# Pumps\n\nThe Borea 14 is new."))
            assert client.documents()["pumps.md"]["state"] == "discovered"
            [hit] = client.post("/v1/search", json={"query": "Borea", "collection": "papers"}).json()
            assert "Borea 12" in hit["text"]
            client.post(f"/v1/jobs/{waiting.json()['id']}/cancel")
        client.done(waiting)
        client.done(client.post("/v1/collections/papers/ingest", json={"retry_failed": True}))
        [hit] = client.post("/v1/search", json={"query": "Borea", "collection": "papers"}).json()
        assert "Borea 14" in hit["text"]
        assert client.documents()["pumps.md"]["state"] == "indexed"


def test_a_repeated_request_leaves_its_documents_indexed(start: Start) -> None:
    with start() as client:
        for _ in range(2):
            client.done(client.upload(PUMPS, headers={"Idempotency-Key": "one"}))
        assert client.documents()["pumps.md"]["state"] == "indexed"


def test_a_collection_that_waits_for_its_first_ingest_can_be_dropped(start: Start) -> None:
    with start() as client:
        candor = Candor(Settings(home=client.home))
        with ingest_lock(candor.engine, "papers"):
            waiting = client.upload(PUMPS)
            client.post(f"/v1/jobs/{waiting.json()['id']}/cancel")
        client.done(waiting)
        assert client.delete("/v1/collections/papers?now=true").status_code == 200
        assert client.get("/v1/documents", params={"collection": "papers"}).status_code == 404
        assert client.stored() == []
