"""Writes OpenDocument files from the XML of their body."""

from __future__ import annotations

import zipfile
from pathlib import Path

_NAMES = {
    "office": "office", "text": "text", "table": "table", "style": "style", "fo": "xsl-fo-compatible",
    "draw": "drawing",
}  # fmt: skip


def write_open_document(path: Path, kind: str, body: str, styles: str = "") -> None:
    """Write a document. ``kind`` is ``text``, ``spreadsheet`` or ``presentation``; ``styles`` are automatic styles."""
    spaces = " ".join(
        f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for prefix, name in _NAMES.items()
    )
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
        package.writestr(
            "content.xml",
            f"<office:document-content {spaces}><office:automatic-styles>{styles}</office:automatic-styles>"
            f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>",
        )
