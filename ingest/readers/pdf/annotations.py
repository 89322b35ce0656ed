"""Reads annotations of PDF pages: notes, comments, text boxes, values of form fields, and addresses of links.

None of it is in the text of the page.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import cache
from typing import NamedTuple

import pypdfium2.raw as pdfium
from pypdfium2 import PdfPage, PdfTextPage

from ingest.readers.shared.form import is_useful_link, linked
from ingest.readers.shared.ooxml import comment_line

_LONGEST_ADDRESS = 2048  # characters; browsers accept no more
_DATE = re.compile(r"D:(\d{4})(\d\d)(\d\d)")


class Annotation(NamedTuple):
    """An annotation or form field of a page."""

    text: str
    """The text for the document, with the author of a comment or the name of a field."""
    shown: str
    """The part of the text that is visible in a picture of the page. Empty for comments."""
    is_field: bool = False
    """Whether it is a field or a link: those of a page share a paragraph."""


def read_annotations(page: PdfPage) -> list[Annotation]:
    """Return the annotations and filled-in fields of an open page, in the order of the file. Omits hidden ones."""
    hidden = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
    found: list[Annotation] = []
    with ExitStack() as stack:
        text_page = cache(lambda: stack.enter_context(closing(page.get_textpage())))
        for index in range(pdfium.FPDFPage_GetAnnotCount(page.raw)):
            annotation = pdfium.FPDFPage_GetAnnot(page.raw, index)
            if not annotation:
                continue
            try:
                if not pdfium.FPDFAnnot_GetFlags(annotation) & hidden:
                    found += _read(page, annotation, text_page)
            finally:
                pdfium.FPDFPage_CloseAnnot(annotation)
    return found


def _read(page: PdfPage, annotation: object, text_page: Callable[[], PdfTextPage]) -> Iterator[Annotation]:
    kind = pdfium.FPDFAnnot_GetSubtype(annotation)
    if kind == pdfium.FPDF_ANNOT_WIDGET:
        if page.formenv is not None:
            yield from _field(page.formenv.raw, annotation)
        return
    if kind == pdfium.FPDF_ANNOT_LINK:
        yield from _link(page, annotation, text_page)
        return
    text = _entry(annotation, b"Contents")
    is_state = bool(pdfium.FPDFAnnot_HasKey(annotation, b"StateModel"))  # such as "accepted", set on another comment
    if not text or is_state or kind == pdfium.FPDF_ANNOT_POPUP:
        return
    if kind == pdfium.FPDF_ANNOT_FREETEXT:
        yield Annotation(text, shown=text)
        return
    if _marks_text(kind) and f" {one_line(text)} " in f" {one_line(_text_below(text_page(), annotation))} ":
        return
    date = _DATE.match(_entry(annotation, b"M"))
    when = "-".join(date.groups()) if date else ""
    yield Annotation(comment_line(_entry(annotation, b"T"), when, text), shown="")


def _link(page: PdfPage, annotation: object, text_page: Callable[[], PdfTextPage]) -> Iterator[Annotation]:
    """Yield the words of a link with its address, unless they are its address or the link stays in the document."""
    action = pdfium.FPDFLink_GetAction(pdfium.FPDFAnnot_GetLink(annotation))
    if pdfium.FPDFAction_GetType(action) != pdfium.PDFACTION_URI:
        return
    buffer = ctypes.create_string_buffer(_LONGEST_ADDRESS)
    pdfium.FPDFAction_GetURIPath(page.pdf.raw, action, buffer, len(buffer))
    address = buffer.value.decode("utf-8", errors="replace")
    words = one_line(_text_below(text_page(), annotation))
    if words and is_useful_link(address) and (shown := linked(words, address)) != words:
        yield Annotation(shown, shown="", is_field=True)


def _marks_text(kind: int) -> bool:
    return kind in (
        pdfium.FPDF_ANNOT_HIGHLIGHT,
        pdfium.FPDF_ANNOT_UNDERLINE,
        pdfium.FPDF_ANNOT_SQUIGGLY,
        pdfium.FPDF_ANNOT_STRIKEOUT,
    )


def _text_below(text_page: PdfTextPage, annotation: object) -> str:
    """Return the text of the page that the annotation covers. Some programs repeat it as the annotation's text."""
    box = pdfium.FS_RECTF()
    if not pdfium.FPDFAnnot_GetRect(annotation, box):
        return ""
    return str(text_page.get_text_bounded(box.left, box.bottom, box.right, box.top))


def _field(form: object, widget: object) -> Iterator[Annotation]:
    """Yield the form field with its value, if it is filled in or checked."""
    value = one_line(_value(form, widget))
    if value:
        label = _string(lambda *to: pdfium.FPDFAnnot_GetFormFieldAlternateName(form, widget, *to)) or _string(
            lambda *to: pdfium.FPDFAnnot_GetFormFieldName(form, widget, *to)
        )
        yield Annotation(f"{label}: {value}" if label else value, shown=value, is_field=True)


def _value(form: object, widget: object) -> str:
    """Return the displayed value of the field. Empty for buttons, signatures and passwords."""
    match pdfium.FPDFAnnot_GetFormFieldType(form, widget):
        case pdfium.FPDF_FORMFIELD_CHECKBOX:
            return "[x]" if pdfium.FPDFAnnot_IsChecked(form, widget) else ""
        case pdfium.FPDF_FORMFIELD_RADIOBUTTON if pdfium.FPDFAnnot_IsChecked(form, widget):
            return _string(lambda *to: pdfium.FPDFAnnot_GetFormFieldExportValue(form, widget, *to))
        case pdfium.FPDF_FORMFIELD_COMBOBOX | pdfium.FPDF_FORMFIELD_LISTBOX:
            return ", ".join(_chosen(form, widget)) or _typed(form, widget)
        case pdfium.FPDF_FORMFIELD_TEXTFIELD:
            flags = pdfium.FPDFAnnot_GetFormFieldFlags(form, widget)
            return "" if flags & pdfium.FPDF_FORMFLAG_TEXT_PASSWORD else _typed(form, widget)
        case _:
            return ""


def _chosen(form: object, widget: object) -> Iterator[str]:
    for option in range(pdfium.FPDFAnnot_GetOptionCount(form, widget)):
        if pdfium.FPDFAnnot_IsOptionSelected(form, widget, option):
            yield _string(lambda *to, option=option: pdfium.FPDFAnnot_GetOptionLabel(form, widget, option, *to))


def _typed(form: object, widget: object) -> str:
    return _string(lambda *to: pdfium.FPDFAnnot_GetFormFieldValue(form, widget, *to))


def _entry(annotation: object, key: bytes) -> str:
    return _string(lambda *to: pdfium.FPDFAnnot_GetStringValue(annotation, key, *to))


def _string(get: Callable[..., int]) -> str:
    """Call a PDFium function that writes UTF-16 into a buffer. Return the string."""
    length = get(None, 0)
    buffer = ctypes.create_string_buffer(max(length, 2))
    get(ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), length)
    return buffer.raw[: length - 2].decode("utf-16-le", errors="replace").strip() if length > 2 else ""


def one_line(text: str) -> str:
    """Return the text with single blanks between its words."""
    return " ".join(text.split())
