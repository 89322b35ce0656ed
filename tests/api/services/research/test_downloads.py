"""Files downloaded by a run: parsed with the real parser and quoted under their URL."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from api.services.research.downloads import DownloadReader
from base.web import Fetched
from ingest.settings import IngestSettings
from multi_agent.errors import ToolError
from support.files import write_pdf
from vectorstore.models import WebPage

ORIGIN = WebPage(url="https://example.org/pumps.pdf", read_at=datetime(2026, 11, 22, 12, tzinfo=UTC))


def test_a_pdf_becomes_passages_with_pages_and_its_address(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", parts=["It works down to -25 degrees.", ("page",), "Its weight is 120 kg."])
    chunks = DownloadReader(IngestSettings()).passages(path, ORIGIN)
    [chunk] = [chunk for chunk in chunks if "120 kg" in chunk.text]
    assert (chunk.name, chunk.origin) == ("https://example.org/pumps.pdf", ORIGIN)
    assert 2 in chunk.pages
    assert chunk.metadata == {}, "the library could not draw its pages"
    at = chunk.text.index("120 kg")
    assert chunk.source_text(chunk.start + at, chunk.start + at + 6) == "120 kg"


def test_the_same_file_under_another_address_is_another_document(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("The Borea 12 is blue.\n")
    reader = DownloadReader(IngestSettings())
    other = ORIGIN.model_copy(update={"url": "https://example.org/copy.txt"})
    [one], [copy] = reader.passages(path, ORIGIN), reader.passages(path, other)
    assert one.text == copy.text
    assert len({one.id, copy.id}) == len({one.document_id, copy.document_id}) == 2
    path.write_text("The Borea 12 is red.\n")
    assert reader.passages(path, ORIGIN)[0].text == "The Borea 12 is red.", "a new version is read again"


def test_a_file_that_cannot_be_parsed_is_an_error_without_paths_of_this_machine(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.7 and then nothing of the kind")
    with pytest.raises(ToolError, match=r"https://example\.org/pumps\.pdf cannot be read: ") as error:
        DownloadReader(IngestSettings()).passages(path, ORIGIN)
    assert str(tmp_path) not in str(error.value)


def test_a_download_has_the_limits_of_an_ingested_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("\n\n".join(f"{number}. The Borea 12 is blue. {'So blue. ' * 60}" for number in range(9)))
    with pytest.raises(ToolError, match="max_passages"):
        DownloadReader(IngestSettings(max_passages=2)).passages(path, ORIGIN)


def test_a_page_is_read_apart_within_the_limits_of_a_file() -> None:
    reader = DownloadReader(IngestSettings(parse_memory_mb=400))
    good = Fetched("https://example.org/a", "text/html", "utf-8", b"<title>Borea</title><p>The Borea 12 is blue.</p>")
    hostile = f"<p {' '.join(f'a{number}=1' for number in range(99))}>x</p>".encode() * 5_000
    assert reader.page(good)[:3] == ("Borea", "", "The Borea 12 is blue.")
    with pytest.raises(
        ToolError, match=r"^https://example\.org/b took more than 400 MB to be read\. Read another page"
    ):
        reader.page(good._replace(url="https://example.org/b", content=hostile))
    with pytest.raises(ToolError, match=r"^The text of https://example\.org/c cannot be made out"):
        reader.page(good._replace(url="https://example.org/c", content=b""))
