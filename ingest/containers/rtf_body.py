"""Unpacks the RTF of Outlook messages, and the HTML in it (MS-OXRTFCP, MS-OXRTFEX).

HTML tags are stored in ``htmltag`` groups, and the text between them as RTF text. ``htmlrtf`` marks RTF that does not
belong to the HTML.
"""

from __future__ import annotations

import re

from ingest.decoding import FONT_CODE_PAGES, code_page, decode_declared

_TOKEN = re.compile(
    rb"\\'([0-9a-fA-F]{2})|\\([a-z]{1,32})(-?\d{1,9})? ?|\\(.)|([{}])|[\r\n]+|([^\\{}\r\n]+)", re.DOTALL
)
_CHARACTERS = {
    "par": "\n", "line": "\n", "tab": "\t", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”",
    "bullet": "•", "endash": "–", "emdash": "—", "emspace": "\u2003", "enspace": "\u2002", "zwj": "\u200d",
    "zwnj": "\u200c", "~": "\xa0", "_": "\xad", "{": "{", "}": "}", "\\": "\\",
}  # fmt: skip
_LEFT_OUT = {"fonttbl", "colortbl", "stylesheet", "info", "pntext", "mhtmltag", "*"}


def decompressed(data: bytes) -> bytes:
    """Return the RTF. Raises ValueError for damaged data."""
    from compressed_rtf import decompress

    try:
        rtf: bytes = decompress(data)
    except Exception as error:  # the library has no errors of its own
        raise ValueError(f"it is damaged ({error})") from error
    return rtf


def encapsulated_html(rtf: bytes) -> str:
    """Return the HTML that the RTF encapsulates, or an empty string."""
    return _Reader().read(rtf) if b"\\fromhtml1" in rtf[:512] else ""


class _Reader:
    """Reads the HTML token by token. ``_outer`` holds the state of the groups around the current one."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._bytes = bytearray()
        self._fonts: dict[int, int] = {}
        self._font = self._default = 0
        self._is_shown, self._is_hidden, self._skipped = True, False, 1
        self._outer: list[tuple[bool, bool, int, int]] = []
        self._to_skip = 0

    def read(self, rtf: bytes) -> str:
        for token in _TOKEN.finditer(rtf):
            byte, word, number, sign, brace, text = token.groups()
            if brace:
                self._group(brace)
            elif word or sign:
                self._control((word or sign).decode("latin-1"), int(number) if number else None)
            elif byte or text:
                self._add_bytes(bytes([int(byte, 16)]) if byte else text)
        self._flush()
        return "".join(self._texts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _group(self, brace: bytes) -> None:
        self._to_skip = 0
        if brace == b"{":
            self._outer.append((self._is_shown, self._is_hidden, self._font, self._skipped))
        elif self._outer:
            self._flush()
            self._is_shown, self._is_hidden, self._font, self._skipped = self._outer.pop()

    def _control(self, word: str, number: int | None) -> None:
        if word in ("f", "ansicpg", "fcharset"):
            self._set_font(word, number or 0)
        elif word == "htmlrtf":
            self._is_hidden = number != 0
        elif word == "htmltag":
            self._is_shown = True
        elif word in _LEFT_OUT:
            self._is_shown = False
        elif word == "uc":
            self._skipped = number or 0
        elif word == "u" and number is not None:
            self._add(chr(number % 0x10000))
            self._to_skip = self._skipped
        elif word in _CHARACTERS:
            self._add(_CHARACTERS[word])

    def _set_font(self, word: str, number: int) -> None:
        self._flush()
        if word == "f":
            self._font = number
        elif word == "ansicpg":
            self._default = number
        elif number != 1:
            self._fonts[self._font] = FONT_CODE_PAGES.get(number, 0)

    def _add(self, text: str) -> None:
        self._flush()
        if self._is_shown and not self._is_hidden:
            self._texts.append(text)

    def _add_bytes(self, data: bytes) -> None:
        """Add bytes in the code page of the font. Skips fallback bytes for programs without Unicode."""
        left_out = min(self._to_skip, len(data))
        self._to_skip -= left_out
        if self._is_shown and not self._is_hidden:
            self._bytes += data[left_out:]

    def _flush(self) -> None:
        if self._bytes:
            page = self._fonts.get(self._font) or self._default or 1252
            data = bytes(self._bytes)
            text = decode_declared(data, code_page(page), lambda _: None)
            self._texts.append(data.decode("cp1252", "replace") if text is None else text)
            self._bytes.clear()
