"""Reads RTF with pandoc. Characters of other code pages and of symbol fonts, which it misreads, are decoded before.

Outlook stores HTML in RTF (MS-OXRTFEX): the tags in ``htmltag`` groups, and the text between them as RTF text.
``htmlrtf`` marks RTF that does not belong to the HTML.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ingest.decoding import FONT_CODE_PAGES, code_page
from ingest.reader import Reader, ReadRequest
from ingest.readers.markup.html import write_page
from ingest.readers.markup.pandoc import LIBRARY, Refused, to_html
from ingest.readers.other_formats import read_other_format
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.symbols import SYMBOL_FONTS, in_font, symbol
from vectorstore.models import Scalar

_TOKEN = re.compile(r"\\'([0-9a-fA-F]{2})|\\([a-z]{1,32})(-?\d{1,10})? ?|\\[^a-z]|[{}]|[^\\{}\x80-\xff]+|.", re.DOTALL)
_FONT = re.compile(r"\\f(\d{1,5})(?=[\\{ ])((?:\\[a-z]+-?\d* ?|\{\\\*[^{}]{0,99}\}){0,12})([^\\{};]{0,60})[;{]")
_CHARSET = re.compile(r"\\fcharset(\d{1,3})")
_CODE_PAGE = re.compile(r"\\ansicpg(\d{1,5})")
_TITLE_BLOCK = re.compile(r'<(div|h1) id="title-block">.*?</\1>', re.DOTALL)  # properties, not on the page
_COMMENT = re.compile(r"\{\\\*\\annotation\b ?")
_NUMBER_OF_ITEM = re.compile(r"(\{\\(?:listtext|pntext)\b[^{}]{0,400}\})\s?(\\pard\b)?")
_SYMBOL_FIELD = re.compile(
    r"\{\\field[^{}]{0,60}\{\\\*\\fldinst\s?(\{[^{}]{0,200})?\s?SYMBOL (\d{1,5}) \\\\f \"?([\w -]{1,40}\b)\"?"
    r"[^{}]{0,60}\}"
    r"(?(1)\s?\})(?:\s?\{\\fldrslt[^{}]{0,200}(?:\{[^{}]{0,200}\})?\s?\})?"
)
_FORM_FIELD = re.compile(
    r"(?=\{\\field\b(?:(?!\\fldinst\b).){0,60}\\fldinst\b(?:(?!\\field\b|FORM).){0,300}FORM(?:CHECKBOX|DROPDOWN)"
    r"(?:(?!\\field\b|\\fftype).){0,400}\\fftype([12])((?:(?!\\field\b|\\fldrslt).){0,5000}))",
    re.DOTALL,
)
"""The place of a check box (1) or a list (2), with its result (25: as by default), its default and its entries."""
_RESULT, _ENTRY = re.compile(r"\\ff(def)?res(\d+)"), re.compile(r"\\ffl ([^{}]*)")
_RAISED_STYLE = re.compile(r"(\{\\\*\\cs\d{1,3}[^{};]{0,200})\\super\b")  # pandoc would raise all text
_DIGITS = re.compile(r"[0-9a-fA-F\s]{200,}")
_WESTERN = "cp1252"
_SYMBOLS = 2  # the character set of symbol fonts
_ITEM = "\u2063"  # marks the number of a list item: lists of pandoc lose their order and numbers
_BEFORE_ITEM = re.compile(rf"</p>\s*<p>{_ITEM}")
_BULLET = re.compile(rf"{_ITEM} ?[•·▪■◦o\uf0b7-]\s")
_INSTEAD = {
    "ls": "", "ilvl": "", "listtext": rf"\pntext {_ITEM}", "pntext": rf"\pntext {_ITEM}",
    "deleted": r"\v", "dn": r"\sub", "up": r"\super", "sect": r"\par ", "shprslt": r"\*\shprslt ",
    **{f"{place}{pages}": "" for place in ("header", "footer") for pages in ("", "l", "r", "f")},
}  # fmt: skip
"""Control words that pandoc leaves out or misreads, and what it reads instead. Headers and footers become text."""
_PART = re.compile(r"\\([a-z]{1,32})(-?\d{1,10})? ?|\\(.)|([{}])|[\r\n]+|([^\\{}\r\n]+)", re.DOTALL)
"""A control word with its number, a sign, a brace, or text of decoded RTF."""
_CHARACTERS = {
    "par": "\n", "line": "\n", "tab": "\t", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”",
    "bullet": "•", "endash": "–", "emdash": "—", "emspace": "\u2003", "enspace": "\u2002", "zwj": "\u200d",
    "zwnj": "\u200c", "~": "\xa0", "_": "\xad", "{": "{", "}": "}", "\\": "\\",
}  # fmt: skip
_NO_HTML = {"fonttbl", "colortbl", "stylesheet", "info", "pntext", "mhtmltag", "*"}
"""What begins groups without HTML."""


class _State(NamedTuple):
    """What a group inherits: its font, and the number of characters that repeat a Unicode one for old programs."""

    font: int
    fallback: int = 1


def read_rtf(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the document's blocks to the builder; return its title and author."""
    try:
        page = to_html(_Decoder(request.data.decode("latin-1")).decoded(), "rtf")
    except Refused as error:
        into.warn(f"Raised, lowered and struck text of the file could not be told from other text ({error}).")
        return read_other_format(request, into)
    html = _BEFORE_ITEM.sub(f"<br />{_ITEM}", _TITLE_BLOCK.sub("", page.html, count=1))
    return write_page(_BULLET.sub("- ", html).replace(_ITEM, ""), into)


def encapsulated_html(rtf: bytes) -> str:
    """Return the HTML that RTF of Outlook holds, or ``""``."""
    if b"\\fromhtml1" not in rtf[:512]:
        return ""
    texts: list[str] = []
    is_shown, is_hidden = True, False
    outer: list[tuple[bool, bool]] = []
    for part in _PART.finditer(_Decoder(rtf.decode("latin-1")).decoded()):
        word, number, sign, brace, text = part.groups()
        name = word or sign
        if brace == "{":
            outer.append((is_shown, is_hidden))
        elif brace and outer:
            is_shown, is_hidden = outer.pop()
        elif name == "htmlrtf":
            is_hidden = number != "0"
        elif name == "htmltag":
            is_shown = True
        elif name in _NO_HTML:
            is_shown = False
        elif is_shown and not is_hidden:
            texts.append(text or _CHARACTERS.get(name, ""))
    return "".join(texts)


class _Decoder:
    """Decodes the characters that RTF writes as numbers, in one pass."""

    def __init__(self, source: str) -> None:
        source = _NUMBER_OF_ITEM.sub(lambda item: (item[2] or "") + item[1].replace(r"\pard", ""), source)
        source = _FORM_FIELD.sub(_form_field, source)
        source = _RAISED_STYLE.sub(r"\1", source).replace(r"{\*\footnote", r"{\footnote")
        self._source = _SYMBOL_FIELD.sub(_field_symbol, _COMMENT.sub(r"{\\footnote Comment: ", source))
        self._fonts = {
            int(number): (int(charset[1]) if (charset := _CHARSET.search(words)) else 1, name.strip())
            for number, words, name in reversed(_FONT.findall(source))  # styles name fonts after their table
        }
        declared = _CODE_PAGE.search(source)
        by_default = "mac_roman" if r"\mac" in source[:40] else _WESTERN
        self._code_page = (code_page(int(declared[1])) or _WESTERN) if declared else by_default
        default = re.search(r"\\deff(\d{1,5})", source)
        self._states = [_State(int(default[1]) if default else 0)]
        self._out: list[str] = []
        self._bytes = bytearray()
        self._skip = 0

    def decoded(self) -> str:
        position = 0
        while token := _TOKEN.match(self._source, position):
            position = token.end()
            if token[2] == "bin":
                position += max(int(token[3] or 0), 0)
            else:
                self._read(token)
        self._flush()
        return "".join(self._out).encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _read(self, token: re.Match[str]) -> None:
        text = token[0]
        if token[1] or (len(text) == 1 and text >= "\x80"):
            if not self._skip:
                self._bytes.append(int(token[1], 16) if token[1] else ord(text))
            self._skip = max(self._skip - 1, 0)
        elif token[2]:
            self._control(token[2], token[3], text)
        elif text[0] in "\\{}":
            self._flush()
            self._skip = 0
            if text == "{":
                self._states.append(self._states[-1])
            elif text == "}" and len(self._states) > 1:
                self._states.pop()
            self._out.append(text)
        else:
            self._text(text)

    def _text(self, text: str) -> None:
        text = text.replace("\r", "").replace("\n", "") if self._skip else text
        used, self._skip = min(self._skip, len(text)), max(self._skip - len(text), 0)
        text = text[used:]
        if self._bytes and not self._is_whole() and text:  # the second byte of a character, which may be a letter
            self._bytes.append(ord(text[0]))
            text = text[1:]
        self._flush()
        text = in_font(text, self._font()[1]) if self._is_symbol() else text
        self._write("" if _DIGITS.fullmatch(text) else text)  # a picture

    def _control(self, word: str, number: str | None, text: str) -> None:
        self._flush()
        self._skip = 0
        state = self._states[-1]
        match word:
            case "u" if number:
                code = int(number) % 0x10000
                self._add(symbol(self._font()[1], code) if self._is_symbol() else chr(code))
                self._skip = state.fallback
            case "uc":
                self._states[-1] = state._replace(fallback=min(max(int(number or 1), 0), 9))
            case "f":
                self._states[-1] = state._replace(font=int(number or 0))
            case _ if word in _INSTEAD and number != "0" and (number or word not in ("dn", "up")):
                self._out.append(f"{_INSTEAD[word]} ".lstrip())
            case _:
                if word == "plain":
                    self._states[-1] = state._replace(font=self._states[0].font)
                self._out.append(text)

    def _font(self) -> tuple[int, str]:
        return self._fonts.get(self._states[-1].font, (1, ""))

    def _is_symbol(self) -> bool:
        return self._font()[0] == _SYMBOLS or self._font()[1].lower() in SYMBOL_FONTS

    def _codec(self) -> str:
        page = FONT_CODE_PAGES.get(self._font()[0])
        return self._code_page if page is None else code_page(page)

    def _is_whole(self) -> bool:
        try:
            self._bytes.decode(self._codec())
        except UnicodeDecodeError:
            return False
        return True

    def _flush(self) -> None:
        if self._bytes and self._is_symbol():
            self._add("".join(symbol(self._font()[1], each) for each in self._bytes))
        elif self._bytes:
            self._add(self._bytes.decode(self._codec(), "replace"))
        self._bytes.clear()

    def _add(self, text: str) -> None:
        self._write(re.sub(r"([\\{}])", r"\\\1", text))

    def _write(self, text: str) -> None:
        """Write text. A blank ends the control word before it, if one was left out between them."""
        before = self._out[-1] if self._out else ""
        is_word = before.startswith("\\") and before[-1].isalnum() and text[:1] not in ("", "\n", "\r")
        self._out.append(f" {text}" if is_word else text)


def _form_field(found: re.Match[str]) -> str:
    """Return what a form field shows: a check box or the chosen entry of a list."""
    results = {default: int(value) for default, value in _RESULT.findall(found[2])}
    result = results.get("", 25)
    chosen = results.get("def", 0) if result == 25 else result
    if found[1] == "1":
        return "[x]" if chosen == 1 else "[ ]"
    return "".join(_ENTRY.findall(found[2])[chosen : chosen + 1])


def _field_symbol(found: re.Match[str]) -> str:
    return "{" + "".join(rf"\u{ord(each)}?" for each in symbol(found[3], int(found[2])))


READER = Reader(name="rtf", version=7, read=read_rtf, mime_types=("application/rtf", "text/rtf"), library=LIBRARY)
