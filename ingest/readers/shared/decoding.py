"""Decodes text files."""

from __future__ import annotations

from pathlib import Path

from ingest.errors import UnsupportedFormat

_BYTE_ORDER_MARKS = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}


def decode(data: bytes, path: Path) -> str:
    """Decode by the byte order mark, as UTF-8, or in the encoding that fits best. Raises UnsupportedFormat."""
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            return data.decode(encoding, errors="replace")
    if b"\x00" in data:
        raise UnsupportedFormat(f"{path} is a binary file of an unknown format. Convert it to PDF or text first.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return _decode_by_guess(data, path)


def _decode_by_guess(data: bytes, path: Path) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(data).best()
    if best is None:
        raise UnsupportedFormat(f"{path} is neither text nor a known format. Convert it to PDF or text first.")
    return str(best)
