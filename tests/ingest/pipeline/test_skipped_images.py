"""Files in archives that are no documents, such as images without text: they are skipped, not failed."""

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


def test_files_that_programs_write_for_themselves_are_skipped_in_archives(workplace: Workplace) -> None:
    with zipfile.ZipFile(workplace.documents / "a.zip", "w") as archive:
        archive.writestr("bread.md", BREAD)
        archive.writestr("print/LowRes.joboptions", "<< /ImageResolution 72 >> setdistillerparams")
        archive.writestr("~$bread.docx", b"lock")
    report = workplace.ingest()
    assert (report.failed, {left.name: left.reason for left in report.left_out}) == (
        (),
        {
            "a.zip/print/LowRes.joboptions": "no document: settings of a program",
            "a.zip/~$bread.docx": "no document: written by a program about open files or folders",
        },
    )
    states = workplace.states()
    assert states["a.zip/bread.md"] == "indexed"
    assert states["a.zip/print/LowRes.joboptions"] == "skipped"
