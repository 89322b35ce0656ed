"""Writes Office files part by part, with only what a test needs."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_MAIN = {
    "word/document.xml": "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
    "ppt/presentation.xml": "application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml",
}
WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
SLIDE = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    f'xmlns:r="{OFFICE}" xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'
)
OPEN = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{full}:1.0"'
    for name, full in {
        "office": "office", "text": "text", "table": "table", "draw": "drawing", "presentation": "presentation",
        "style": "style",
    }.items()
)  # fmt: skip


def write_office(
    path: Path, main: str, parts: Mapping[str, str], relations: Mapping[str, Mapping[str, tuple[str, str]]]
) -> Path:
    """Write a package of parts. ``relations`` maps a part to its relations: id to kind and target."""
    with zipfile.ZipFile(path, "w") as package:
        package.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{_TYPES}"><Default Extension="xml" ContentType="application/xml"/>'
            f'<Override PartName="/{main}" ContentType="{_MAIN[main]}"/></Types>',
        )
        for part, related in {"": {"r0": ("officeDocument", main)}, **relations}.items():
            folder, _, base = part.rpartition("/")
            entries = "".join(
                f'<Relationship Id="{identity}" Type="{OFFICE}/{kind}" Target="/{target}"/>'
                for identity, (kind, target) in related.items()
            )
            package.writestr(
                f"{folder}/_rels/{base}.rels".lstrip("/"),
                f'<Relationships xmlns="{_RELATIONS}">{entries}</Relationships>',
            )
        for name, content in parts.items():
            package.writestr(name, content)
    return path


def write_open(path: Path, kind: str, body: str, styles: str = "", master: str = "") -> Path:
    """Write an OpenDocument file of this kind (``text``, ``presentation``) with this body and master page."""
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
        package.writestr(
            "content.xml",
            f"<office:document-content {OPEN}><office:automatic-styles>{styles}</office:automatic-styles>"
            f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>",
        )
        package.writestr(
            "styles.xml",
            f"<office:document-styles {OPEN}><office:master-styles><style:master-page>{master}</style:master-page>"
            "</office:master-styles></office:document-styles>",
        )
    return path


def write_xps(path: Path, pages: Sequence[str], *, pieces: bool = False) -> Path:
    """Write an XPS file of pages, each the XML inside a FixedPage. ``pieces`` cuts each part in two."""
    fixed = 'xmlns="http://schemas.microsoft.com/xps/2005/06"'
    listed = "".join(f'<PageContent Source="Pages/{n}.fpage"/>' for n in range(len(pages)))
    parts = {
        "_rels/.rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="r" Target="/FixedDocSeq.fdseq" '
        'Type="http://schemas.microsoft.com/xps/2005/06/fixedrepresentation"/></Relationships>',
        "FixedDocSeq.fdseq": f'<FixedDocumentSequence {fixed}><DocumentReference Source="/Documents/1/Fixed.fdoc"/>'
        "</FixedDocumentSequence>",
        "Documents/1/Fixed.fdoc": f"<FixedDocument {fixed}>{listed}</FixedDocument>",
    }
    parts |= {
        f"Documents/1/Pages/{n}.fpage": f'<FixedPage {fixed} Width="816" Height="1056">{page}</FixedPage>'
        for n, page in enumerate(pages)
    }
    parts["[Content_Types].xml"] = f'<Types xmlns="{_TYPES}"/>'  # last, as Windows writes it
    with zipfile.ZipFile(path, "w") as package:
        for name, content in parts.items():
            if pieces:
                package.writestr(f"{name}/[1].last.piece", content[20:])
                package.writestr(f"{name}/[0].piece", content[:20])
            else:
                package.writestr(name, content)
    return path
