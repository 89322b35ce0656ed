"""Decodes text files, and says so if the encoding is a guess."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from unicodedata import category

from base.text import without_surrogates
from ingest.errors import UnsupportedFormat

Warn = Callable[[str], None]

_BYTE_ORDER_MARKS = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
_ESCAPES = {b"\x1b$)C": "iso2022_kr", b"\x1b$": "iso2022_jp_2", b"\x1b(J": "iso2022_jp_2"}
"""Sequences that switch the character set in encodings of seven bits, which are valid UTF-8."""
_LATIN = ("cp1252", "cp1250", "iso8859-2", "cp1254", "cp1257")
_OTHERS = (
    "cp1251", "koi8-r", "koi8-u", "cp1253", "cp1255", "cp1256", "cp874", "euc_jis_2004", "cp932", "gb18030",
    "big5hkscs", "cp949",
)  # fmt: skip
"""Encodings of files that people have today. Those of old computers fit short texts of any language by accident."""
_EBCDIC = ("cp1140", "cp500", "cp273")
_EBCDIC_BLANK, _BLANKS = b"\x40", 20  # text in EBCDIC has this many blanks of its own for each blank of ASCII
WIDE_MARKUP = re.compile(rb"\x00?(?:\s\x00)*<\x00[!?a-zA-Z]")
"""The first bytes of pages and XML files in UTF-16 without a byte order mark. Big-endian ones begin with a zero."""
_TWO_SCRIPTS = re.compile("[a-z][Ͱ-ۿก-๛]|[Ͱ-ۿก-๛][a-z]|(?s:\\A(?!.*[⺀-鿿가-힣]{3}).*[a-z][⺀-鿿가-힣])", re.IGNORECASE)
_C1 = re.compile(rb"[\x80-\x9f]")
_AS_GOOD, _AS_GOOD_IF_SHORT, _SHORT = 0.95, 0.7, 0.05
"""The most frequent Latin encoding wins from this share of the best likelihood; the other share for likelihoods below
the third number, which a few words give. Chosen on 33 sentences in 17 encodings."""
_MOSTLY = 10  # times as many characters of ASCII as others
_FEW = 0.02  # replaced characters of all, up to which a declared encoding is right
_LABELS = {"gb2312": "gb18030", "gbk": "gb18030", "ks_c_5601-1987": "cp949", "euc-kr": "cp949",
           "shift_jis": "cp932", "sjis": "cp932", "big5": "big5hkscs", "iso-8859-1": "cp1252", "latin1": "cp1252",
           "us-ascii": "utf-8", "ascii": "utf-8", "iso-8859-9": "cp1254", "windows-874": "cp874", "tis-620": "cp874",
           "iso-2022-jp": "iso2022_jp_2", "unicode-1-1-utf-7": "utf-7"}  # fmt: skip
"""What a declared encoding stands for: browsers and mail programs decode with these supersets (WHATWG Encoding)."""
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
_CODE_PAGES = {0: "cp1252", 936: "gb18030", 950: "big5hkscs", 10000: "mac_roman",
               10006: "mac_greek", 10007: "mac_cyrillic",
               10029: "mac_latin2", 10081: "mac_turkish", 20127: "utf-8", 20866: "koi8-r",
               20932: "euc_jp", 20936: "gb18030", 20949: "cp949",
               21866: "koi8-u", 50220: "iso-2022-jp", 50221: "iso-2022-jp", 50222: "iso-2022-jp", 50225: "iso2022_kr",
               51932: "euc_jp", 51936: "gb18030", 51949: "cp949", 52936: "hz", 54936: "gb18030",
               65001: "utf-8"}  # fmt: skip
"""Encodings of Windows code pages that Python knows by another name than ``cp`` and the number."""
FONT_CODE_PAGES = {0: 1252, 77: 10000, 128: 932, 129: 949, 130: 1361, 134: 936, 136: 950, 161: 1253, 162: 1254,
                   163: 1258, 177: 1255, 178: 1256, 186: 1257, 204: 1251, 222: 874, 238: 1250}  # fmt: skip
"""Code pages of the fonts of RTF by their ``fcharset``."""


def without_escapes(text: str) -> str:
    r"""Return a text with each ``\uXXXX`` as its character. Pairs of surrogates are one character."""
    return without_surrogates(_ESCAPED.sub(lambda escape: chr(int(escape[1], 16)), text))


def code_page(number: int) -> str:
    """Return the encoding of a Windows code page, or ``""`` if it is unknown."""
    is_iso = 28591 <= number <= 28605
    name = f"iso-8859-{number - 28590}" if is_iso else _CODE_PAGES.get(number, f"cp{number}")
    try:
        codecs.lookup(name)
    except LookupError:
        return ""
    return name


def decode(data: bytes, path: Path, warn: Warn) -> str:
    """Decode by the byte order mark, as UTF-8, or in the likeliest encoding, with a warning.

    A few invalid bytes do not make a file another encoding: they are replaced, with a warning. Raises
    UnsupportedFormat for binary files.
    """
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            return data.decode(encoding, errors="replace")
    if b"\x00" in data:
        wide = "utf-16-le" if data[0] else "utf-16-be"
        if WIDE_MARKUP.match(data) and (markup := decode_declared(data, wide, warn)) is not None:
            return markup
        return _decode_with_zeros(data, path, warn)
    escaped = next((encoding for mark, encoding in _ESCAPES.items() if mark in data), "")
    if escaped and (text := decode_declared(data, escaped, warn)) is not None:
        return text
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return _decode_damaged(data, warn) or _decode_by_guess(data, path, warn)


def decode_declared(data: bytes, label: str, warn: Warn) -> str | None:
    """Decode in the encoding that a mail or page declares, or return None if it is unknown or does not fit."""
    label = label.strip().strip("\"'").lower().removeprefix("x-")
    try:
        encoding = codecs.lookup(_LABELS.get(label, label)).name
        text = data.decode(encoding, errors="replace")
    except (LookupError, UnicodeError, ValueError):  # ValueError: a name with a zero byte
        return None
    wrong = text.count("\ufffd") - data.count("\ufffd".encode())
    if wrong > _FEW * len(text):
        return None
    if wrong > 0:
        warn(f"{_invalid_bytes(wrong)} replaced by \ufffd. The text is damaged {encoding}.")
    return text


def _invalid_bytes(count: int) -> str:
    return "1 invalid byte was" if count == 1 else f"{count:,} invalid bytes were"


def _decode_damaged(data: bytes, warn: Warn) -> str:
    """Decode UTF-8 with a few invalid bytes, or return ``""`` for text in another encoding.

    Text in other encodings has bytes that happen to be a UTF-8 character much more rarely than bytes that do not.
    """
    text = data.decode("utf-8", errors="replace")
    wrong = text.count("\ufffd") - data.count("\ufffd".encode())
    right = sum(character > "\x7f" for character in text) - wrong
    is_mostly_ascii = _MOSTLY * (right + wrong) < len(text)
    if right < (wrong if is_mostly_ascii else 2 * wrong):
        return ""
    warn(f"{_invalid_bytes(wrong)} replaced by \ufffd. The file is damaged UTF-8.")
    return text


def _decode_with_zeros(data: bytes, path: Path, warn: Warn) -> str:
    """Decode UTF-16 without a byte order mark, or UTF-8 with a few zero bytes, such as a log after a power failure."""
    zeros = data.count(b"\x00")
    is_western = zeros > len(data) / 4
    likely = "utf-16-le" if data[::2].count(b"\x00") < zeros / 2 else "utf-16-be"
    if zeros <= _FEW * len(data):
        with suppress(UnicodeDecodeError):
            text = data.replace(b"\x00", b"").decode("utf-8")
            warn(f"{_invalid_bytes(zeros)} left out. The file is damaged UTF-8.")
            return text
    for wide in (likely,) if is_western else ("utf-16-le", "utf-16-be"):  # the wrong one makes U+0A00 of a line break
        with suppress(UnicodeDecodeError):
            text = data.decode(wide)
            is_text = all(each.isprintable() or each.isspace() or category(each) == "Cf" for each in set(text))
            if is_text and (is_western or "\n" in text):
                warn(f"Read as {wide}. This encoding is a guess: the file does not declare one and is not UTF-8.")
                return text
    raise UnsupportedFormat(f"{path} is a binary file of an unknown format. Convert it to PDF or text first.")


def _decode_by_guess(data: bytes, path: Path, warn: Warn) -> str:
    is_ebcdic = data.count(_EBCDIC_BLANK) > _BLANKS * (data.count(b" ") + 1)
    encoding = _likeliest(data, _EBCDIC if is_ebcdic else (*_LATIN, *_OTHERS))
    if encoding and (encoding in _LATIN or _TWO_SCRIPTS.search(data.decode(encoding, errors="replace"))):
        differing = "cp1250" if _C1.search(data) is None else "iso8859-2"
        encoding = _likeliest(data, [each for each in _LATIN if each != differing]) or encoding
    if encoding == "cp1252" and b"\xa4" in data and not _C1.search(data):
        encoding = "iso8859-15"  # € for ¤, which nobody types
    if not encoding:
        raise UnsupportedFormat(f"{path} is neither text nor a known format. Convert it to PDF or text first.")
    warn(f"Read as {encoding}. This encoding is a guess: the file does not declare one and is not UTF-8.")
    return data.decode(encoding, errors="replace")


def _likeliest(data: bytes, encodings: tuple[str, ...] | list[str]) -> str:
    import chardet

    found = chardet.detect_all(data, ignore_threshold=True, include_encodings=encodings, compat_names=False)
    likely = {str(each["encoding"]): each["confidence"] for each in found if each["encoding"]}
    if not likely:
        return ""
    best = max(likely, key=lambda each: likely[each])
    share = _AS_GOOD if likely[best] >= _SHORT else _AS_GOOD_IF_SHORT
    return _LATIN[0] if likely.get(_LATIN[0], 0) >= share * likely[best] else best
