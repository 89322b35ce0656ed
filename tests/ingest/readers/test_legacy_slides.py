"""Old PowerPoint files (.ppt): each slide is a page with its text once, its tables as tables, its notes below it."""

from __future__ import annotations

import random
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from ingest.document import ParsedDocument
from ingest.errors import ParseError
from ingest.parser import Parser, load_parser
from support.compound import write_compound

PLANT = Path(__file__).parents[1] / "cases/42-ppt-twice-no-slides/plant.zip"
TITLE, BODY, OTHER = 0, 1, 4


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


@pytest.fixture(scope="module")
def plant() -> bytes:
    with zipfile.ZipFile(PLANT) as archive:
        return archive.read("plant.ppt")


def pages(document: ParsedDocument) -> dict[int, str]:
    return {page.number: document.text[page.start : page.end].strip() for page in document.pages}


def test_a_presentation_is_read_slide_by_slide(parser: Parser, tmp_path: Path, plant: bytes) -> None:
    (tmp_path / "plant.ppt").write_bytes(plant)
    found = pages(parser.parse(tmp_path / "plant.ppt"))
    assert found == {
        1: "Opening of the plant\n\nStart in May 2025\n\nBudget 4.2 million",
        2: "Risks\n\nSupply of steel\n\nNotes: Note to slide 2: the supplier is late by 6 weeks.",
        3: "Прогноз продаж\n\nРост 12 %\n\n| Item | 2024 | 2025 |\n| --- | --- | --- |\n| Steel | 10 | 12 |\n"
        "| Energy | 7 | 9 |\n\nNotes: Note to slide 3: figures are in million.",
    }


def atom(kind: int, data: bytes, instance: int = 0) -> bytes:
    return struct.pack("<HHI", instance << 4, kind, len(data)) + data


def container(kind: int, *records: bytes, instance: int = 0) -> bytes:
    data = b"".join(records)
    return struct.pack("<HHI", instance << 4 | 15, kind, len(data)) + data


def words(kind: int, text: str, *others: bytes) -> bytes:
    """Return the records of a text."""
    return atom(0x0F9F, struct.pack("<I", kind)) + atom(0x0FA0, text.encode("utf-16-le")) + b"".join(others)


def shape(text: bytes, *data: bytes, place: tuple[int, int, int, int] | None = None) -> bytes:
    anchor = [atom(0xF010, struct.pack("<4h", *place))] if place else []
    return container(0xF004, atom(0xF00A, bytes(8)), *anchor, container(0xF011, *data), container(0xF00D, text))


def slide(*shapes: bytes, master: int = 0, others: Sequence[bytes] = (), flags: int = 7) -> bytes:
    head = atom(0x03EF, struct.pack("<I8xIIHH", 0, master, 0, flags, 0))
    return container(0x03EE, head, *others, drawing(*shapes))


def drawing(*shapes: bytes) -> bytes:
    first = container(0xF004, atom(0xF009, bytes(16)))
    return container(0x040C, container(0xF002, container(0xF003, first, *shapes)))


def write_ppt(
    path: Path,
    slides: Sequence[bytes],
    *,
    outlines: Sequence[bytes] = (),
    notes: Sequence[bytes] = (),
    masters: Sequence[bytes] = (),
    document: Sequence[bytes] = (),
    older: Sequence[bytes] = (),
) -> Path:
    """Write a presentation. ``outlines`` are texts of the slides; ``older`` slides were replaced by a later save."""
    groups = {0: slides, 1: masters, 2: notes}
    lists, persisted, number = [], [b""], 1
    for instance, group in groups.items():
        entries = b""
        for index, record in enumerate(group):
            number += 1
            identity = (256, 0x80000000, 512)[instance] + index
            entries += atom(0x03F3, struct.pack("<IIiII", number, 0, 0, identity, 0))
            entries += outlines[index] if instance == 0 and index < len(outlines) else b""
            persisted.append(record)
        lists.append(container(0x0FF0, entries, instance=instance))
    persisted[0] = container(0x03E8, *lists, *document)
    stream, last = b"", 0
    for save in ([b"", *older], persisted) if older else (persisted,):
        places = []
        for record in save:
            places.append(len(stream))
            stream += record
        table = len(stream)
        stream += atom(0x1772, struct.pack(f"<I{len(places)}I", 1 | len(places) << 20, *places))
        edit = len(stream)
        stream += atom(0x0FF5, struct.pack("<IIIIIII", 0, 0, last, table, 1, 99, 0))
        last = edit
    user = struct.pack("<HHIIII", 0, 0x0FF6, 20, 20, 0xE391C05F, last)
    return write_compound(path, {"PowerPoint Document": stream, "Current User": user})


def test_titles_lists_numbers_and_raised_text(parser: Parser, tmp_path: Path) -> None:
    text = "Open valve\rSub\rIn all 10 m3 fit"
    levels = [struct.pack("<IHIH", *each) for each in ((11, 0, 1, 1), (4, 1, 1, 1), (17, 0, 1, 0))]
    numbered, raised = struct.pack("<IIH", 11, 0x0400, 0x0400), struct.pack("<IIh", 1, 0x80000, 30)
    styles = b"".join([*levels, numbered, struct.pack("<II", 15, 0), raised, struct.pack("<II", 5, 0)])
    scheme = struct.pack("<IHHHII", 0x3000000, 1, 2, 4, 0, 0)
    extension = container(0x1388, container(0x138A, atom(0x138B, atom(0x0FAC, struct.pack("<III", 0, 0, 0) + scheme))))
    body = words(BODY, text, atom(0x0FA1, styles))
    path = write_ppt(tmp_path / "a.ppt", [slide(shape(words(TITLE, "Steps")), shape(body, extension))])
    document = parser.parse(path)
    assert document.text == "Steps\n\n4) Open valve\n  - Sub\n\nIn all 10 m^3 fit"
    assert document.blocks[0].kind.value == "heading"


def test_texts_of_the_outline_stand_at_their_shape(parser: Parser, tmp_path: Path) -> None:
    outline = words(TITLE, "Rent") + words(BODY, "5,200 EUR a month\rDue in May")
    boxes = [shape(atom(0x0F9E, struct.pack("<I", index))) for index in (0, 1)]
    path = write_ppt(tmp_path / "a.ppt", [slide(*boxes), slide(shape(words(OTHER, "End")))], outlines=[outline])
    assert pages(parser.parse(path)) == {1: "Rent\n\n- 5,200 EUR a month\n- Due in May", 2: "End"}


def test_a_later_save_replaces_slides(parser: Parser, tmp_path: Path) -> None:
    path = write_ppt(
        tmp_path / "a.ppt", [slide(shape(words(OTHER, "New price 7")))], older=[slide(shape(words(OTHER, "Old 5")))]
    )
    assert parser.parse(path).text == "New price 7"


def test_notes_footers_comments_links_hidden_slides_and_master_texts(parser: Parser, tmp_path: Path) -> None:
    date = struct.pack("<I8H", 1, 2024, 5, 0, 17, 0, 0, 0, 0)
    comment = container(
        0x2EE0, atom(0x0FBA, "Ann".encode("utf-16-le")), atom(0x0FBA, "Check 42.".encode("utf-16-le"), 1),
        atom(0x2EE1, date),
    )  # fmt: skip
    extras = [
        atom(0x03F9, struct.pack("<IIBBH", 0, 0, 0, 0, 4) + bytes(4)),
        container(0x0FD9, atom(0x0FDA, struct.pack("<HH", 0, 0x20)), atom(0x0FBA, "Draft".encode("utf-16-le"), 2)),
        container(0x1388, container(0x138A, atom(0x138B, comment))),
    ]
    link = container(0x0FF2, atom(0x0FF3, struct.pack("<II8x", 0, 3))) + atom(0x0FDF, struct.pack("<II", 4, 10))
    target = atom(0x0FBA, "https://example.org/f.pdf".encode("utf-16-le"), 1)
    links = container(0x0409, container(0x0FD7, atom(0x0FD3, struct.pack("<I", 3)), target))
    notes = container(0x03F0, atom(0x03F1, struct.pack("<I4x", 256)), drawing(shape(words(2, "Say it slowly."))))
    number = shape(words(OTHER, "*", atom(0x0FD8, bytes(4))), atom(0x0BC3, struct.pack("<iBB2x", 0, 8, 0)))
    master = container(0x03F8, drawing(shape(words(OTHER, "Confidential")), number))
    first = slide(shape(words(OTHER, "See report now", link)), number, master=0x80000000, others=extras)
    path = write_ppt(tmp_path / "a.ppt", [first], notes=[notes], masters=[master], document=[links])
    assert parser.parse(path).text == (
        "(hidden slide)\n\nSee report (https://example.org/f.pdf) now\n\nNotes: Say it slowly.\n\n"
        "Comment (Ann, 2024-05-17): Check 42.\n\nFooter: Draft\n\nSlide master: Confidential"
    )


def test_damaged_files_raise_only_documented_errors(parser: Parser, tmp_path: Path, plant: bytes) -> None:
    generator = random.Random(1)
    outcomes = set()
    for _ in range(25):
        damaged = bytearray(plant)
        for _ in range(60):
            damaged[generator.randrange(444_000, len(damaged))] = generator.choice([0, 255, generator.randrange(256)])
        (tmp_path / "a.ppt").write_bytes(damaged)
        try:
            outcomes.add(bool(parser.parse(tmp_path / "a.ppt").text))
        except ParseError:
            outcomes.add(False)
    assert outcomes <= {True, False}


def test_a_damaged_list_of_saves_is_named(parser: Parser, tmp_path: Path) -> None:
    path = write_ppt(tmp_path / "a.ppt", [slide(shape(words(OTHER, "The rent is 5 EUR.")))])
    data = path.read_bytes().replace(struct.pack("<HHI", 0, 0x0FF5, 28), struct.pack("<HHI", 0, 0x0FF4, 28))
    path.write_bytes(data)
    document = parser.parse(path)
    assert "The rent is 5 EUR." in document.text
    assert document.warnings == (
        "The slides were read without their order, notes and tables: its list of saves is damaged.",
    )
