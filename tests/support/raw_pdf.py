"""Writes PDF files object by object, with annotations and form fields. No installed library writes all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_APPEARANCE = re.compile(r"APPEARANCE\(([^)]*)\)")


class RawPage(NamedTuple):
    """A page: lines of text from the top, and the dictionaries of its annotations without ``<<`` and ``>>``.

    ``APPEARANCE(text)`` in an annotation is a reference to a drawing of that text, 200 points wide.
    """

    lines: Sequence[str] = ()
    annotations: Sequence[str] = ()


def write_raw_pdf(path: Path, pages: Sequence[RawPage], *, xfa: bool = False) -> Path:
    """Write a PDF of these pages. Annotations of the subtype Widget are the fields of its form.

    With ``xfa``, it claims that a form in XFA replaces the pages.
    """
    objects: list[str] = ["", "", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    kids, fields = [], []
    for page in pages:
        drawn = "".join(text_at(72, 760 - 16 * row, line) for row, line in enumerate(page.lines))
        objects.append(f"<</Length {len(drawn)}>>stream\n{drawn}endstream")
        content = len(objects)
        annotations = [_with_appearance(each, objects) for each in page.annotations]
        first = len(objects) + 1
        objects += [f"<</Type/Annot {each}>>" for each in annotations]
        numbers = range(first, first + len(page.annotations))
        fields += [number for number, each in zip(numbers, page.annotations, strict=True) if "/Subtype/Widget" in each]
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F 3 0 R>>>>/Contents {content} 0 R"
            f"/Annots[null {_references(numbers)}]>>"  # as a program leaves it that deleted one
        )
        kids.append(len(objects))
    form, catalog = ("/XFA 4 0 R", "/NeedsRendering true") if xfa else ("", "")
    objects[0] = f"<</Type/Catalog/Pages 2 0 R{catalog}/AcroForm<</Fields[{_references(fields)}]{form}>>>>"
    objects[1] = f"<</Type/Pages/Kids[{_references(kids)}]/Count {len(kids)}>>"
    _write(path, objects)
    return path


def text_at(x: float, y: float, text: str, size: float = 11) -> str:
    """Return the commands that write a line of text in Helvetica."""
    return f"BT /F {size} Tf {x} {y} Td ({text}) Tj ET\n"


def write_plain_pdf(
    path: Path,
    drawn: str,
    *,
    catalog: str = "",
    page: str = "",
    resources: str = "",
    font: str = "",
    objects: Sequence[str] = (),
) -> None:
    """Write a PDF of one page from its drawing commands.

    ``catalog``, ``page``, ``resources`` and ``font`` are further entries; ``objects`` begin with number 4.
    """
    last = 4 + len(objects)
    written = [
        f"<</Type/Catalog/Pages 2 0 R{catalog}>>",
        f"<</Type/Pages/Kids[{last + 1} 0 R]/Count 1>>",
        f"<</Type/Font/Subtype/Type1/BaseFont/Helvetica{font}>>",
        *objects,
        f"<</Length {len(drawn)}>>stream\n{drawn}\nendstream",
        f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents {last} 0 R{page}"
        f"/Resources<</Font<</F 3 0 R>>{resources}>>>>",
    ]
    _write(path, written)


def _write(path: Path, objects: Sequence[str]) -> None:
    """Write the objects, numbered from 1, and their places."""
    data, places = b"%PDF-1.7\n", []
    for number, source in enumerate(objects, start=1):
        places.append(len(data))
        data += f"{number} 0 obj\n{source}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    path.write_bytes(
        data
        + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}".encode()
        + f"trailer<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{len(data)}\n%%EOF\n".encode()
    )


def _with_appearance(annotation: str, objects: list[str]) -> str:
    found = _APPEARANCE.search(annotation)
    if found is None:
        return annotation
    drawn = text_at(4, 10, found[1])
    objects.append(
        "<</Type/XObject/Subtype/Form/BBox[0 0 200 40]/Resources<</Font<</F 3 0 R>>>>"
        f"/Length {len(drawn)}>>stream\n{drawn}endstream"
    )
    return _APPEARANCE.sub(f"{len(objects)} 0 R", annotation)


def _references(numbers: Sequence[int]) -> str:
    return " ".join(f"{number} 0 R" for number in numbers)
