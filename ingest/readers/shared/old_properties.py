"""The properties of old Office files: title, subject, author and dates (MS-OLEPS).

olefile reads forged properties without end, so the few that are needed are read here.
"""

from __future__ import annotations

import io
import struct
from datetime import UTC, datetime, timedelta

import olefile

from ingest.decoding import code_page
from vectorstore.models import Scalar

DAMAGE = (struct.error, IndexError, ValueError, KeyError, AttributeError, TypeError, OSError)
"""What reading a damaged file of old Office programs raises."""
_STREAM = "\x05SummaryInformation"
_CODE_PAGE, _TEXTS = 1, {2: "title", 3: "subject", 4: "authors", 5: "keywords"}
_TIMES = {12: "created_at", 13: "modified_at"}
_TEXT, _TIME = 0x1E, 0x40
_MAX_PROPERTIES, _LAST_TICKS = 100, 10**18


def read_properties(data: bytes) -> dict[str, Scalar]:
    """Return the properties that are set. Their texts are in the code page that they name."""
    with olefile.OleFileIO(io.BytesIO(data)) as file:
        stream = file.openstream(_STREAM).read() if file.exists(_STREAM) else b""
    start = int.from_bytes(stream[44:48], "little")
    count = min(int.from_bytes(stream[start + 4 : start + 8], "little"), _MAX_PROPERTIES)
    listed = [stream[start + 8 + 8 * number : start + 16 + 8 * number] for number in range(count)]
    places = {entry[0]: start + int.from_bytes(entry[4:], "little") for entry in reversed(listed) if len(entry) == 8}
    page = int.from_bytes(stream[places[_CODE_PAGE] + 4 :][:2], "little") if _CODE_PAGE in places else 1252
    texts = {key: _text(stream, places[each], page) for each, key in _TEXTS.items() if each in places}
    times = {key: _time(stream, places[each]) for each, key in _TIMES.items() if each in places}
    return {key: value for key, value in (texts | times).items() if value}


def _text(stream: bytes, at: int, page: int) -> str:
    kind, size = struct.unpack("<II", stream[at : at + 8].ljust(8, b"\0"))
    value = stream[at + 8 : at + 8 + size] if kind == _TEXT else b""
    return value.decode(code_page(page) or "cp1252", "replace").strip("\0 ")


def _time(stream: bytes, at: int) -> str:
    kind, ticks = struct.unpack("<IQ", stream[at : at + 12].ljust(12, b"\0"))
    is_set = kind == _TIME and 0 < ticks < _LAST_TICKS
    return (datetime(1601, 1, 1, tzinfo=UTC) + timedelta(seconds=ticks // 10**7)).isoformat() if is_set else ""
