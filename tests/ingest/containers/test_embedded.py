"""Files attached to PDFs and embedded in Office files are documents of their own."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

import pytest

from ingest.containers.entries import ENTRIES, ContainerKind, Exhausted, container_kind
from support.compound import write_compound
from support.workplace import Workplace

CASES = Path(__file__).parents[1] / "cases"


def _unpacked(path: Path) -> dict[str, bytes]:
    kind = container_kind(path)
    assert kind is not None
    assert kind.is_document
    return {entry.name: entry.open().read() for entry in ENTRIES[kind](path, 1 << 20)}


def test_attachments_of_a_pdf_are_indexed_beside_it(workplace: Workplace) -> None:
    portfolio = (CASES / "14-pdf-attachments" / "q10_port.pdf").read_bytes()
    workplace.write("port.pdf", portfolio)
    workplace.ingest()
    names = {record.name for record in workplace.ledger.list("papers")}
    assert names == {"port.pdf", "port.pdf/contract.txt"}
    assert any("77,000 EUR" in chunk.text for chunk in workplace.chunks())


def test_a_pdf_without_attachments_is_no_container() -> None:
    assert container_kind(CASES / "32-page-labels" / "q12_labels.pdf") is None


def test_objects_of_office_files_are_found_but_no_data_of_charts(tmp_path: Path) -> None:
    data = b"The contract sum is 77,000 EUR."
    native = struct.pack("<IH", 0, 2) + b"contract.txt\0C:\\contract.txt\0" + struct.pack("<II", 3, 2) + b"t\0"
    native += struct.pack("<I", len(data)) + data
    packaged = write_compound(tmp_path / "a.bin", {"\x01Ole10Native": native}).read_bytes()
    formula = write_compound(tmp_path / "b.bin", {"Equation Native": b"x"}).read_bytes()
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as package:
        package.writestr("[Content_Types].xml", "<Types/>")
        package.writestr("word/embeddings/Sheet1.xlsx", b"PK")
        package.writestr("word/embeddings/Sheet2.xlsx", b"PK")
        package.writestr("word/embeddings/oleObject1.bin", packaged)
        package.writestr("word/embeddings/oleObject2.bin", formula)
        package.writestr(
            "word/charts/_rels/chart1.xml.rels", '<Relationship Target="../embeddings/Sheet2.xlsx" Id="rId1"/>'
        )
    assert container_kind(tmp_path / "a.docx") is ContainerKind.OFFICE
    with pytest.raises(Exhausted, match="unpacks to more than 0 MB"):
        list(ENTRIES[ContainerKind.OFFICE](tmp_path / "a.docx", 1000))
    assert _unpacked(tmp_path / "a.docx") == {"Sheet1.xlsx": b"PK", "contract.txt": data}


def test_names_of_attached_files_in_utf_16_are_read(tmp_path: Path) -> None:
    from pypdf import PdfWriter

    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    writer.add_attachment("Příloha č. 4.txt", b"640")  # only in /F, which PDFium takes for bytes
    writer.write(tmp_path / "a.pdf")
    assert _unpacked(tmp_path / "a.pdf") == {"Příloha č. 4.txt": b"640"}


def test_a_file_that_is_listed_and_pinned_is_one_file(tmp_path: Path) -> None:
    from fpdf import FPDF

    (tmp_path / "sum.txt").write_text("8450")
    pdf = FPDF()
    pdf.add_page()
    pdf.file_attachment_annotation(tmp_path / "sum.txt", x=20, y=30)
    pdf.output(str(tmp_path / "a.pdf"))
    entries = ENTRIES[ContainerKind.PDF](tmp_path / "a.pdf", 1 << 20)
    assert [(entry.name, entry.open().read()) for entry in entries] == [("sum.txt", b"8450")]
