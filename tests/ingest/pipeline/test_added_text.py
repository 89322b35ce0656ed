"""Text beside the body of a file is in passages with its page. What is not read fails with what to do."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from support.office import write_xps
from support.raw_pdf import RawPage, write_raw_pdf
from support.workplace import Workplace


def _page_of(workplace: Workplace, path: Path, text: str) -> set[int]:
    """Return the pages on which the passages of the document have this text."""
    kept = workplace.ledger.text("papers", workplace.ledger.find("papers", path.name).id)
    at = kept.text.index(text)
    spans = [span for chunk in workplace.chunks(path) for span in chunk.page_spans]
    return {span.number for span in spans if span.start <= at < span.end}


def test_notes_and_fields_of_a_pdf_are_in_passages_with_their_page(workplace: Workplace) -> None:
    field = "/Subtype/Widget/Rect[100 500 300 520]/FT/Tx/T(Tenant)/V(Ada Lovelace)"
    note = "/Subtype/Text/Rect[10 700 30 720]/Contents(Ask the landlord about heating.)/T(Bea)"
    pages = [RawPage(["The lease begins in May."]), RawPage(["The rent is 900 euros."], [field, note])]
    path = write_raw_pdf(workplace.documents / "lease.pdf", [*pages, RawPage(["The lease ends in June."])])
    workplace.ingest()
    assert _page_of(workplace, path, "Tenant: Ada Lovelace") == {2}
    assert _page_of(workplace, path, "Ask the landlord about heating.") == {2}
    assert workplace.searched("landlord heating") == ["lease.pdf"]


def test_pages_of_an_xps_file_are_pages_of_its_passages(workplace: Workplace) -> None:
    glyphs = '<Glyphs UnicodeString="{}" OriginX="100" OriginY="100" FontRenderingEmSize="16"/>'
    pages = [glyphs.format(text) for text in ("The lease begins in May.", "The rent is due in June.")]
    path = write_xps(workplace.documents / "lease.xps", pages)
    workplace.ingest()
    assert _page_of(workplace, path, "The rent is due") == {2}


@pytest.mark.parametrize("place", ["letter.wpd", "letters.zip/letter.wpd"])
def test_a_format_that_is_not_read_fails_with_its_converter(workplace: Workplace, place: str) -> None:
    content = b"\xffWPC" + bytes(500)
    if place.startswith("letters.zip"):
        with zipfile.ZipFile(workplace.documents / "letters.zip", "w") as archive:
            archive.writestr("letter.wpd", content)
            archive.writestr("letter.txt", "The rent is 900 euros.")
    else:
        workplace.write("letter.wpd", content)
    report = workplace.ingest()
    assert [failed.name for failed in report.failed] == [place]
    assert "soffice --headless --convert-to docx FILE" in report.failed[0].reason


def test_a_member_that_is_not_extracted_says_what_to_do(workplace: Workplace) -> None:
    with zipfile.ZipFile(workplace.documents / "letters.zip", "w") as archive:
        archive.writestr("../letter.txt", "The rent is 900 euros.")
        archive.writestr("letter.txt", "The rent is 900 euros.")
    (failed,) = workplace.ingest().failed
    assert (
        "was not extracted: its name leads out of the container. If you trust it, extract it yourself" in failed.reason
    )
