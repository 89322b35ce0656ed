"""Images without text in archives: they are no failed documents."""

from __future__ import annotations

import zipfile

from support.files import make_png
from support.workplace import BREAD, Workplace


def test_an_image_in_an_archive_is_skipped(workplace: Workplace) -> None:
    with zipfile.ZipFile(workplace.documents / "a.zip", "w") as archive:
        archive.writestr("bread.md", BREAD)
        archive.writestr("logo.png", make_png())
    report = workplace.ingest()
    assert (report.failed, [left.name for left in report.left_out]) == ((), ["a.zip/logo.png"])
    assert workplace.states() == {"a.zip": "indexed", "a.zip/bread.md": "indexed", "a.zip/logo.png": "skipped"}
    assert "contains no text" in workplace.ledger.find("papers", "a.zip/logo.png").reason
    again = workplace.ingest()
    assert again.failed == ()
    assert workplace.states()["a.zip/logo.png"] == "skipped"
    retried = workplace.ingest(retry_failed=True)  # after Tesseract was installed, for example
    assert [left.name for left in retried.left_out] == ["a.zip/logo.png"]


def test_a_drawing_without_text_in_an_archive_is_skipped(workplace: Workplace) -> None:
    with zipfile.ZipFile(workplace.documents / "a.zip", "w") as archive:
        archive.writestr("bread.md", BREAD)
        archive.writestr("logo.svg", '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>')
    report = workplace.ingest()
    assert (report.failed, [left.name for left in report.left_out]) == ((), ["a.zip/logo.svg"])


def test_an_image_of_its_own_fails_with_a_reason(workplace: Workplace) -> None:
    workplace.write("scan.png", make_png())
    assert [each.name for each in workplace.ingest().failed] == ["scan.png"]
