"""The original files of documents, and page images with a highlighted quote, over HTTP."""

from __future__ import annotations

import asyncio
import io
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from PIL import Image

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import Settings
from ingest.errors import PageNotShown
from ingest.pages.renderer import PageRenderer
from ingest.pages.request import PageRequest, RenderedPage
from support.files import write_pdf
from support.service import SCRIPT, RunningService
from support.waiting import LIMIT_S
from vectorstore.embedding.embedder import Embedder

LIMIT = "The Borea 12 works down to -25 degrees."
TWICE = "Ask the service."
PAGE_2 = "The warranty of the pump ends after five years."


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A PDF of two pages, an image, a web page, and an archive."""
    folder = tmp_path_factory.mktemp("pages")
    table = [["Model", "Limit"], ["Borea 12", "-25"], ["Notos 8", "-10"]]
    write_pdf(
        folder / "manual.pdf", parts=[("h1", "Manual"), f"{LIMIT} {TWICE}", TWICE, ("table", table), ("page",), PAGE_2]
    )
    (folder / "page.html").write_text(f"<h1>Pumps</h1><p>They pump.</p>{SCRIPT}")
    with zipfile.ZipFile(folder / "mail.zip", "w") as archive:
        archive.writestr("inner/note.txt", "A note about the pump.")
    return folder


@pytest.fixture(scope="module")
def served(files: Path, tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[httpx.Client]:
    """A client of a service with these files."""
    candor = Candor(Settings(home=tmp_path_factory.mktemp("home")))
    candor.embedder = embedder
    run_ingest(candor, [files], "papers", progress=False)
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        yield client


@pytest.fixture
def http_manual(served: httpx.Client) -> tuple[httpx.Client, str]:
    """A client, and the id of the PDF."""
    return served, document(served, "manual.pdf")


def document(http: httpx.Client, name: str) -> str:
    """Return the id of a document."""
    return next(str(each["id"]) for each in http.get("/v1/documents").json() if each["name"] == name)


def span(http: httpx.Client, document_id: str, words: str) -> dict[str, int]:
    """Return the first span of the words in the parsed text."""
    text = http.get(f"/v1/documents/{document_id}/text").json()["text"]
    start = text.index(words)
    return {"start": start, "end": start + len(words)}


def test_a_quote_is_located_on_its_page(http_manual: tuple[httpx.Client, str]) -> None:
    http, manual = http_manual
    page = http.get(f"/v1/documents/{manual}/pages/1", params=span(http, manual, LIMIT)).json()
    assert page["located"]
    assert page["width"] < page["height"]
    for x0, y0, x1, y1 in page["boxes"]:
        assert 0 < x0 < x1 < 1
        assert 0 < y0 < y1 < 0.5, "in the upper half of the page"
    second = http.get(f"/v1/documents/{manual}/pages/2", params=span(http, manual, PAGE_2)).json()
    assert second["located"]
    elsewhere = http.get(f"/v1/documents/{manual}/pages/2", params=span(http, manual, LIMIT)).json()
    assert (elsewhere["located"], elsewhere["boxes"]) == (False, []), "the quote is on another page"


def test_the_image_highlights_the_quote(http_manual: tuple[httpx.Client, str]) -> None:
    http, manual = http_manual
    where = span(http, manual, LIMIT)
    plain = http.get(f"/v1/documents/{manual}/pages/1.png")
    marked = http.get(f"/v1/documents/{manual}/pages/1.png", params=where)
    assert (plain.headers["content-type"], plain.headers["x-located"]) == ("image/png", "false")
    assert marked.headers["x-located"] == "true"
    assert marked.headers["content-security-policy"] == "sandbox"
    before, after = (Image.open(io.BytesIO(each.content)).convert("RGB") for each in (plain, marked))
    [box, *_] = http.get(f"/v1/documents/{manual}/pages/1", params=where).json()["boxes"]
    inside = (int(box[0] * before.width) + 2, int(box[1] * before.height) + 2)
    assert before.getpixel(inside) != after.getpixel(inside)
    outside = (before.width // 2, before.height - 5)
    assert before.getpixel(outside) == after.getpixel(outside)
    small = http.get(f"/v1/documents/{manual}/pages/1.png", params={"scale": 0.5})
    assert Image.open(io.BytesIO(small.content)).width == pytest.approx(before.width / 4, abs=2)


def test_repeated_words_are_located_by_their_context(http_manual: tuple[httpx.Client, str]) -> None:
    http, manual = http_manual
    text = http.get(f"/v1/documents/{manual}/text").json()["text"]
    first = text.index(TWICE)
    again = text.index(TWICE, first + 1)
    tops = []
    for start in (first, again):
        place = {"start": start, "end": start + len(TWICE)}
        [box] = http.get(f"/v1/documents/{manual}/pages/1", params=place).json()["boxes"]
        tops.append(box[1])
    assert tops[0] < tops[1]


def test_a_table_row_is_located(http_manual: tuple[httpx.Client, str]) -> None:
    http, manual = http_manual
    row = span(http, manual, "| Notos 8 | -10 |")
    page = http.get(f"/v1/documents/{manual}/pages/1", params=row).json()
    assert page["located"]


def test_white_space_hyphens_and_accents_are_ignored(files: Path, tmp_path: Path) -> None:
    async def located(text: str, file: Path = files / "manual.pdf") -> bool:
        request = PageRequest(path=str(file), page=1, text=text, marks=((0, len(text)),))
        page, _ = await PageRenderer(timeout_s=LIMIT_S).render(request)
        return bool(page.boxes)

    assert asyncio.run(located("The Borea 12\nworks down to - 25 de-\ngrees."))
    assert not asyncio.run(located("The Borea 13 works"))
    assert not asyncio.run(located(TWICE)), "ambiguous without context"
    accents = write_pdf(tmp_path / "accents.pdf", parts=["Mr Mu\u00a8ller"])  # as LaTeX writes them
    assert asyncio.run(located("Mr M\u00fcller", accents))


def test_an_image_is_one_page(tmp_path: Path) -> None:
    path = tmp_path / "photo.png"
    Image.new("RGB", (400, 200), "red").save(path)

    async def render(page: int) -> tuple[RenderedPage, bytes]:
        return await PageRenderer(timeout_s=LIMIT_S).render(
            PageRequest(path=str(path), page=page, text="Red", marks=((0, 3),), scale=0.5)
        )

    page, image = asyncio.run(render(1))
    assert (page.width, page.height, page.boxes) == (400, 200, ())
    assert Image.open(io.BytesIO(image)).size == (200, 100)
    with pytest.raises(PageNotShown, match="page 2 of the image"):
        asyncio.run(render(2))


def test_a_missing_page_is_not_found(http_manual: tuple[httpx.Client, str]) -> None:
    http, manual = http_manual
    for wrong in (f"{manual}/pages/3", f"{manual}/pages/3.png", f"{document(http, 'page.html')}/pages/1.png"):
        problem = http.get(f"/v1/documents/{wrong}")
        assert (problem.status_code, problem.json()["title"]) == (404, "No such page")
        assert "/text" in problem.json()["remedy"]


def test_the_original_is_sent_as_an_attachment(served: httpx.Client, files: Path) -> None:
    response = served.get(f"/v1/documents/{document(served, 'page.html')}/original")
    assert response.content == (files / "page.html").read_bytes()
    assert response.headers["content-type"].startswith("text/html")
    assert response.headers["content-disposition"] == 'attachment; filename="page.html"'
    assert response.headers["content-security-policy"] == "sandbox"
    assert response.headers["x-content-type-options"] == "nosniff"
    part = served.get(f"/v1/documents/{document(served, 'page.html')}/original", headers={"Range": "bytes=0-3"})
    assert (part.status_code, part.content) == (206, b"<h1>")


@pytest.mark.parametrize("byte_range", ["bytes=9000000-", "bytes=5-1", "bytes=all", "lines=1-2"])
def test_an_invalid_byte_range_is_rejected(served: httpx.Client, byte_range: str) -> None:
    url = f"/v1/documents/{document(served, 'page.html')}/original"
    response = served.get(url, headers={"Range": byte_range})
    assert (response.status_code, response.json()["title"]) == (416, "No such bytes")
    assert byte_range in response.json()["detail"]
    size = response.headers["content-range"].removeprefix("bytes */")
    assert len(served.get(url).content) == int(size)


def test_a_file_in_an_archive_is_extracted(served: httpx.Client) -> None:
    response = served.get(f"/v1/documents/{document(served, 'mail.zip/inner/note.txt')}/original")
    assert response.content == b"A note about the pump."
    assert response.headers["content-disposition"] == 'attachment; filename="note.txt"'


def test_a_changed_or_deleted_file_is_gone(served: httpx.Client, files: Path) -> None:
    page = files / "page.html"
    kept, address = page.read_bytes(), f"/v1/documents/{document(served, 'page.html')}/original"
    page.write_bytes(kept.replace(b"They pump", b"They PUMP"))
    os.utime(page, (0, 0))
    changed = served.get(address)
    page.unlink()
    gone = served.get(address)
    page.write_bytes(kept)
    assert (changed.status_code, gone.status_code) == (410, 410)
    assert "has changed since it was ingested" in changed.json()["detail"]
    assert "Cannot read the file" in gone.json()["detail"]
    assert served.get(address).status_code == 200, "the content is compared, not the modification time"


def test_a_process_that_fails_does_not_affect_the_next_page(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "huge.pdf", parts=["Some text."])
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7\n" + os.urandom(2000))

    async def render() -> None:
        with pytest.raises(PageNotShown, match="takes more than"):
            await PageRenderer(timeout_s=0.01).render(PageRequest(path=str(path), page=1, scale=1))
        with pytest.raises(PageNotShown, match="too much memory"):
            await PageRenderer(timeout_s=LIMIT_S, memory_mb=1).render(PageRequest(path=str(path), page=1, scale=1))
        with pytest.raises(PageNotShown, match="cannot be shown"):
            await PageRenderer(timeout_s=LIMIT_S).render(PageRequest(path=str(broken), page=1, scale=1))
        page, image = await PageRenderer(timeout_s=LIMIT_S).render(PageRequest(path=str(path), page=1, scale=4))
        assert page.width
        assert image.startswith(b"\x89PNG")

    asyncio.run(render())
