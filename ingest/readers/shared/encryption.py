"""Recognizes the encrypted files of old Office programs. The libraries that read them report damage or no text."""

from __future__ import annotations

import io
from pathlib import Path

import olefile

from ingest.errors import EncryptedDocument

_SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_WORD_FLAGS, _WORD_ENCRYPTED = 11, 0x01  # fEncrypted in the file information block of a .doc
_FILE_PASS, _END_OF_GLOBALS = 0x002F, 0x000A  # records of a .xls
_ENCRYPTED_SLIDES = bytes.fromhex("dfc4d1f3")  # headerToken of the stream Current User of a .ppt
_SLIDES_TOKEN = 12


def require_unencrypted(data: bytes, path: Path) -> None:
    """Raise EncryptedDocument if this is an encrypted .doc, .xls or .ppt, or an encrypted package."""
    if not data.startswith(_SIGNATURE):
        return
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as file:
            encrypted = _is_encrypted(file)
    except (OSError, ValueError, IndexError, KeyError, AttributeError, TypeError):
        return  # the file is damaged, and the reader of its format reports that
    if encrypted:
        raise EncryptedDocument(f"{path} is encrypted. Save a copy without its password and ingest that.")


def _is_encrypted(file: olefile.OleFileIO) -> bool:
    if file.exists("EncryptedPackage"):
        return True
    head = _read(file, "WordDocument", 32)
    if len(head) > _WORD_FLAGS and head[_WORD_FLAGS] & _WORD_ENCRYPTED:
        return True
    if _read(file, "Current User", 20)[_SLIDES_TOKEN : _SLIDES_TOKEN + 4] == _ENCRYPTED_SLIDES:
        return True
    return any(_has_file_pass(_read(file, name)) for name in ("Workbook", "Book"))


def _read(file: olefile.OleFileIO, stream: str, size: int = -1) -> bytes:
    found: bytes = file.openstream(stream).read(size) if file.exists(stream) else b""
    return found


def _has_file_pass(workbook: bytes) -> bool:
    """Return whether the first part of a workbook marks the following records as encrypted."""
    position = 0
    while position + 4 <= len(workbook):
        kind, size = (int.from_bytes(workbook[at : at + 2], "little") for at in (position, position + 2))
        if kind in (_FILE_PASS, _END_OF_GLOBALS):
            return kind == _FILE_PASS
        position += 4 + size
    return False
