"""Page images are read with Tesseract: the program, else the library. A warning or an error says what is missing."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy
import pytest
from fpdf import FPDF
from PIL import Image, ImageDraw, ImageFont, ImageOps
from pypdf import PdfWriter

from ingest.document import BlockKind
from ingest.errors import CorruptDocument, EmptyDocument
from ingest.isolation.isolated_parser import IsolatedParser
from ingest.parser import Parser, load_parser
from ingest.reader import OcrMode, ParserOptions
from support.files import write_page_with_picture, write_pdf, write_scan

RESULTS = [("Athlete", "Time"), ("Amos Kirui", "2:03:11"), ("Sofia Brandt", "2:19:40")]

with_tesseract = pytest.mark.skipif(shutil.which("tesseract") is None, reason="Tesseract is not installed")


@pytest.fixture
def without_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.fixture
def only_library(without_program: None) -> None:
    pytest.importorskip("tesserocr")


@pytest.fixture
def without_tesseract(monkeypatch: pytest.MonkeyPatch, without_program: None) -> None:
    monkeypatch.setattr("ingest.readers.pdf.tesseract._data_folder", lambda: None)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return write_pdf(
        tmp_path / "written.pdf",
        parts=[("h1", "Marathon results"), "The course was flat and the morning cold.", ("table", RESULTS)],
    )


def make_parser(ocr: OcrMode = OcrMode.AUTO) -> Parser:
    return load_parser("default", ParserOptions(ocr=ocr))


@with_tesseract
def test_a_scan_is_read_with_its_headings_and_tables(written: Path, tmp_path: Path) -> None:
    document = make_parser().parse(write_scan(tmp_path / "scan.pdf", [written]))
    assert [(block.kind, document.text[block.start : block.end]) for block in document.blocks] == [
        (BlockKind.HEADING, "Marathon results"),
        (BlockKind.PROSE, "The course was flat and the morning cold."),
        (BlockKind.TABLE, "| Athlete | Time |\n| --- | --- |\n| Amos Kirui | 2:03:11 |\n| Sofia Brandt | 2:19:40 |"),
    ]
    assert str(document.metadata["recognised"]).startswith("page 1 by Tesseract (")
    assert document.warnings == ()


@pytest.mark.usefixtures("only_library")
def test_without_the_program_the_library_reads_scans_of_all_kinds(written: Path, tmp_path: Path) -> None:
    assert shutil.which("tesseract") is None
    for name in ("scan.pdf", "scan.png", "scan.jpg", "scan.tiff"):
        document = make_parser().parse(write_scan(tmp_path / name, [written]))
        assert [block.kind for block in document.blocks] == [BlockKind.HEADING, BlockKind.PROSE, BlockKind.TABLE]
        assert "| Amos Kirui | 2:03:11 |" in document.text
        assert (document.metadata["recognised"], document.warnings) == ("page 1 by Tesseract (eng+deu)", ())


@pytest.mark.usefixtures("only_library")
def test_the_library_reads_other_languages_and_turned_pages(tmp_path: Path) -> None:
    german = "Die Gebühr für größere Änderungen beträgt fünf Euro und ist spätestens im März zu überweisen."
    written = write_pdf(tmp_path / "written.pdf", parts=[german, german])
    with Image.open(write_scan(tmp_path / "scan.png", [written])) as scan:
        scan.rotate(180).save(tmp_path / "turned.png")
    text = " ".join(make_parser().parse(tmp_path / "turned.png").text.split())
    assert text.count("größere Änderungen beträgt fünf Euro") == 2


@pytest.mark.usefixtures("only_library")
def test_the_library_reads_in_an_isolated_process_without_messages(
    written: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    scan = write_scan(tmp_path / "scan.pdf", [written])
    with IsolatedParser("default", workers=1, timeout_s=60, memory_mb=2048) as parser:
        assert "2:19:40" in parser.parse(scan).text
    assert capfd.readouterr() == ("", "")


def test_the_library_reads_what_the_program_has_no_language_for(
    written: Path, tmp_path: Path, slow_tesseract: None
) -> None:
    parser = load_parser("default", ParserOptions(ocr_languages=("deu",)))
    document = parser.parse(write_scan(tmp_path / "scan.png", [written]))
    assert "The course was flat" in document.text
    assert document.metadata["recognised"] == "page 1 by Tesseract (deu)"


@with_tesseract
@pytest.mark.parametrize("how", ["small", "transparent", "16 bits", "bilevel", "palette"])
def test_images_of_all_kinds_are_read_with_their_tables(written: Path, tmp_path: Path, how: str) -> None:
    with Image.open(write_scan(tmp_path / "scan.png", [written], dpi=72 if how == "small" else 200)) as scan:
        changed = _changed(scan.convert("L"), how)
        changed.save(tmp_path / "changed.tiff", **({"compression": "group4"} if how == "bilevel" else {}))
    document = make_parser().parse(tmp_path / "changed.tiff")
    assert "The course was flat and the morning cold." in document.text
    assert "| Amos Kirui | 2:03:11 |" in document.text


def _changed(scan: Image.Image, how: str) -> Image.Image:
    match how:
        case "transparent":
            ink = Image.new("RGBA", scan.size, (0, 0, 0, 0))
            ink.putalpha(ImageOps.invert(scan))
            return ink
        case "16 bits":
            return Image.fromarray(numpy.asarray(scan).astype("uint16") * 257)
        case "bilevel":
            return scan.convert("1")
        case "palette":
            return scan.quantize(16)
    return scan


@with_tesseract
def test_all_pages_of_a_tiff_are_read(written: Path, tmp_path: Path) -> None:
    other = write_pdf(tmp_path / "other.pdf", parts=["Entirely different words."])
    images = [Image.open(write_scan(tmp_path / f"{page.stem}.png", [page])) for page in (written, other)]
    images[0].save(tmp_path / "fax.tiff", save_all=True, append_images=images[1:])
    document = make_parser().parse(tmp_path / "fax.tiff")
    assert [page.number for page in document.pages] == [1, 2]
    assert document.text.endswith("Entirely different words.")


@with_tesseract
def test_pages_of_a_scan_keep_their_numbers(written: Path, tmp_path: Path) -> None:
    other = write_pdf(tmp_path / "other.pdf", parts=["Entirely different words."])
    document = make_parser().parse(write_scan(tmp_path / "scan.pdf", [written, None, other]))
    assert [page.number for page in document.pages] == [1, 3]
    (last,) = [page for page in document.pages if page.number == 3]
    assert document.text[last.start : last.end].strip() == "Entirely different words."
    assert str(document.metadata["recognised"]).startswith("pages 1, 3 ")


@with_tesseract
def test_images_are_read(written: Path, tmp_path: Path) -> None:
    document = make_parser().parse(write_scan(tmp_path / "photo.png", [written]))
    assert document.mime_type == "image/png"
    assert "The course was flat and the morning cold." in document.text


@with_tesseract
def test_pages_with_text_are_recognised_only_on_request(written: Path) -> None:
    assert "recognised" not in make_parser().parse(written).metadata
    assert "recognised" in make_parser(OcrMode.ALWAYS).parse(written).metadata


@with_tesseract
def test_an_image_without_words_is_empty(tmp_path: Path) -> None:
    with pytest.raises(EmptyDocument, match="recognises no text in its images"):
        make_parser().parse(write_scan(tmp_path / "blank.png", [None]))


@with_tesseract
def test_a_damaged_image_is_rejected(written: Path, tmp_path: Path) -> None:
    whole = write_scan(tmp_path / "photo.png", [written]).read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[:64])
    with pytest.raises(CorruptDocument, match="Save the file again"):
        make_parser().parse(tmp_path / "cut.png")


@pytest.fixture
def slow_tesseract(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Replace Tesseract by a program that returns one word after a second and a half."""
    program = tmp_path / "programs" / "tesseract"
    program.parent.mkdir()
    program.write_text(
        """#!/bin/sh
[ "$1" = --list-langs ] && { echo "List of languages (1):"; echo eng; exit; }
sleep 2.6
cat <<END
<html xmlns="http://www.w3.org/1999/xhtml"><div class="ocr_page" title="bbox 0 0 90 90; scan_res 72 72">
<span class="ocr_line" title="bbox 1 1 80 9; x_size 9"><span class="ocrx_word" title="bbox 1 1 80 9; x_wconf 99">Word
</span></span></div></html>
END
"""
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")


@pytest.mark.usefixtures("slow_tesseract")
def test_the_time_limit_of_a_scan_restarts_with_each_page(written: Path, tmp_path: Path) -> None:
    scan = write_scan(tmp_path / "long.pdf", [written] * 6, dpi=40)
    with IsolatedParser("default", workers=1, timeout_s=15, memory_mb=2048) as parser:
        assert parser.parse(scan).metadata["recognised"] == "pages 1-6 by Tesseract (eng)"


@pytest.mark.usefixtures("without_tesseract")
def test_without_tesseract_a_scan_fails_with_the_install_command(written: Path, tmp_path: Path) -> None:
    for name in ("scan.pdf", "scan.png"):
        with pytest.raises(EmptyDocument, match=r"Its pages are images.*`apt-get install tesseract-ocr`"):
            make_parser().parse(write_scan(tmp_path / name, [written]))


@pytest.mark.usefixtures("without_tesseract")
def test_without_tesseract_a_warning_names_the_unread_pages(written: Path, tmp_path: Path) -> None:
    import pypdfium2

    mixed = pypdfium2.PdfDocument(written)
    mixed.import_pages(pypdfium2.PdfDocument(write_scan(tmp_path / "scan.pdf", [written, None, written])))
    mixed.save(tmp_path / "mixed.pdf")
    document = make_parser().parse(tmp_path / "mixed.pdf")
    assert "The course was flat" in document.text
    (warning,) = document.warnings
    assert warning.startswith("pages 2-4 without text not read: Tesseract is not installed (`apt-get install")


@with_tesseract
def test_a_language_without_data_is_named(written: Path, tmp_path: Path) -> None:
    parser = load_parser("default", ParserOptions(ocr_languages=("eng", "tlh")))
    with pytest.raises(
        EmptyDocument, match=r"lacks the data of the language tlh \(`apt-get install tesseract-ocr-tlh`"
    ):
        parser.parse(write_scan(tmp_path / "scan.pdf", [written]))


def test_a_scan_fails_when_recognition_is_switched_off(written: Path, tmp_path: Path) -> None:
    with pytest.raises(EmptyDocument, match="switched off"):
        make_parser(OcrMode.NEVER).parse(write_scan(tmp_path / "scan.pdf", [written]))


def test_a_blank_pdf_is_not_a_scan(tmp_path: Path) -> None:
    with pytest.raises(EmptyDocument, match="blank"):
        make_parser().parse(write_pdf(tmp_path / "blank.pdf"))


def _note(folder: Path, *, strips: int = 1) -> Path:
    image = Image.new("L", (1200, 430), "white")
    for row, line in enumerate(
        ("The deposit of 300 EUR is returned", "within four weeks after the keys", "came back.")
    ):
        ImageDraw.Draw(image).text((20, 20 + 90 * row), line, "black", font=ImageFont.load_default(56))
    return write_page_with_picture(folder / "note.pdf", image, strips=strips)


@with_tesseract
@pytest.mark.parametrize("strips", [1, 4])
def test_a_picture_of_text_on_a_page_is_read_in_its_place(tmp_path: Path, strips: int) -> None:
    document = make_parser().parse(_note(tmp_path, strips=strips))
    text = " ".join(document.text.split())
    assert "before the picture. The deposit of 300 EUR is returned within four weeks after the keys came back." in text
    assert text.endswith("after the picture.")
    assert str(document.metadata["recognised"]).startswith("page 1 by")


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_a_picture_of_text_on_a_rotated_page_is_a_warning(tmp_path: Path, rotation: int) -> None:
    writer = PdfWriter(clone_from=_note(tmp_path))
    writer.pages[0].rotate(rotation)
    writer.write(tmp_path / "rotated.pdf")
    (warning,) = make_parser(OcrMode.NEVER).parse(tmp_path / "rotated.pdf").warnings
    assert warning.startswith("page 1 with a picture that seems to show text not read")


def test_a_picture_of_one_line_of_text_is_a_warning_and_a_logo_is_not(tmp_path: Path) -> None:
    for name, text, count in (
        ("line", "The deposit of 300 EUR is returned within four weeks.", 1),
        ("logo", "ACME", 0),
    ):
        picture = Image.new("L", (1000, 40), "white")
        ImageDraw.Draw(picture).text((4, 2), text, "black", ImageFont.load_default(32))
        pdf = FPDF(unit="pt", format="A4")
        pdf.add_page()
        pdf.set_font("helvetica", size=11)
        pdf.multi_cell(0, 14, "The tenant pays the rent on the third working day of each month. " * 12)
        pdf.image(picture, x=60, y=400, w=420, h=17)
        pdf.output(str(tmp_path / f"{name}.pdf"))
        assert len(make_parser(OcrMode.NEVER).parse(tmp_path / f"{name}.pdf").warnings) == count


@with_tesseract
def test_a_scan_of_a_ruled_table_has_its_cells(tmp_path: Path) -> None:
    pdf = FPDF(unit="pt", format="A4")
    pdf.add_page()
    pdf.set_font("helvetica", size=12)
    rows = (("Item", "Owner", "Price"), ("Repair of the\nroof", "Works", "1,210"), ("Paint", "Safety office", "840"))
    for row, (top, height) in zip(rows, ((100, 30), (130, 50), (180, 30)), strict=True):
        for left, width, text in zip((60, 220, 380), (160, 160, 100), row, strict=True):
            pdf.rect(left, top, width, height)
            for number, line in enumerate(text.split("\n")):
                pdf.text(left + 8, top + 20 + 16 * number, line)
    pdf.output(str(tmp_path / "written.pdf"))
    with Image.open(write_scan(tmp_path / "scan.png", [tmp_path / "written.pdf"])) as scan:
        scan.convert("L").rotate(0.6, fillcolor=255).save(tmp_path / "turned.png")
    assert make_parser().parse(tmp_path / "turned.png").text == (
        "| Item | Owner | Price |\n| --- | --- | --- |\n"
        "| Repair of the roof | Works | 1,210 |\n| Paint | Safety office | 840 |"
    )


def test_a_picture_of_text_that_cannot_be_read_is_a_warning(tmp_path: Path) -> None:
    (warning,) = make_parser(OcrMode.NEVER).parse(_note(tmp_path)).warnings
    assert warning.startswith("page 1 with a picture that seems to show text not read: text recognition is switched")


def test_other_pictures_on_a_page_are_no_warning(tmp_path: Path) -> None:
    photo = Image.effect_noise((600, 215), 90)
    chart = Image.new("L", (600, 215), "white")
    for bar in range(6):
        ImageDraw.Draw(chart).rectangle((20 + 90 * bar, 30 * bar, 80 + 90 * bar, 200), "grey")
    for name, picture in (("photo.pdf", photo), ("chart.pdf", chart)):
        path = write_page_with_picture(tmp_path / name, picture)
        assert make_parser(OcrMode.NEVER).parse(path).warnings == ()
