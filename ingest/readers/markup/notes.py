"""Reads exported notes of Evernote (.enex): a heading per note, its fields and its page. Attached files are apart."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

from ingest.readers.calendar import iso_time
from ingest.readers.markup.html import write_page
from ingest.readers.shared.document_builder import DocumentBuilder

_BOX = re.compile(r"<en-todo\b(?P<attributes>[^>]*?)/?>(?:\s*</en-todo>)?")
_ENCRYPTED = re.compile(r"<en-crypt\b[^>]*>[^<]*(?:</en-crypt>)?")


def write_notes(root: Element, into: DocumentBuilder) -> None:
    """Add the notes of an export to the builder."""
    for note in root.iterfind("note"):
        into.heading(note.findtext("title", ""), level=1)
        fields = [field for field in (*note, *note.iterfind("note-attributes/*")) if not len(field)]
        lines = [
            f"{field.tag}: {iso_time((field.text or '').strip())}" for field in fields if (field.text or "").strip()
        ]
        into.prose("\n".join(line for line in lines if not line.startswith(("title: ", "content: "))))
        for task in note.iterfind("task"):
            into.prose(f"{'[x]' if task.findtext('taskStatus') == 'completed' else '[ ]'} {task.findtext('title', '')}")
        page, count = _ENCRYPTED.subn("", note.findtext("content", ""))
        if count:
            into.warn(f"{count} encrypted passages of the note {note.findtext('title', '')!r} were not read.")
        write_page(_BOX.sub(lambda mark: "[x] " if "true" in mark["attributes"] else "[ ] ", page), into)
