"""Writes PDFs of one page from its drawing commands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def text_at(x: float, y: float, text: str, size: float = 11) -> str:
    """Return the commands that write a line of text in Helvetica."""
    return f"BT /F {size} Tf {x} {y} Td ({text}) Tj ET\n"


def write_plain_pdf(
    path: Path, drawn: str, *, catalog: str = "", page: str = "", resources: str = "", objects: Sequence[str] = ()
) -> None:
    """Write a PDF. ``catalog``, ``page`` and ``resources`` are further entries; ``objects`` begin with number 4."""
    last = 4 + len(objects)
    written = [
        f"<</Type/Catalog/Pages 2 0 R{catalog}>>",
        f"<</Type/Pages/Kids[{last + 1} 0 R]/Count 1>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        *objects,
        f"<</Length {len(drawn)}>>stream\n{drawn}\nendstream",
        f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents {last} 0 R{page}"
        f"/Resources<</Font<</F 3 0 R>>{resources}>>>>",
    ]
    data, places = b"%PDF-1.7\n", []
    for number, source in enumerate(written, start=1):
        places.append(len(data))
        data += f"{number} 0 obj\n{source}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    path.write_bytes(
        data
        + f"xref\n0 {len(written) + 1}\n0000000000 65535 f \n{table}".encode()
        + f"trailer<</Size {len(written) + 1}/Root 1 0 R>>\nstartxref\n{len(data)}\n%%EOF\n".encode()
    )
