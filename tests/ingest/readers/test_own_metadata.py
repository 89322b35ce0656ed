"""Front matter and tags of notes, and the properties of Office and PDF files."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from ingest.document import DATE, FactSource
from ingest.facts.facts import find_facts
from ingest.parser import Parser, load_parser
from support.files import write_docx, write_pdf
from support.office import write_open

NOTE = """---
title: "Orion kick-off"
tags: [Meeting, project/Orion]
date: 2024-03-05
aliases:
  - Start of Orion
budget: 12500.50
time: 12:30
draft: no
owner: {name: Ann}
---
# Agenda #planning

Met [[People/Bob|Bob]], see ![[plan.png]] and #follow-up. #Line-tag too.
Not: #1, issue #42, C#sharp, a#b, \\#escaped, https://example.org/a#frag, [link](https://example.org/#part), `#code`.

```sh
#comment
```

    #indented
"""
CUSTOM = (
    '<Properties xmlns="http://schemas.openxmlformats.org/officeDocument/2006/custom-properties" '
    'xmlns:vt="http://schemas.openxmlformats.org/officeDocument/2006/docPropsVTypes">'
    '<property name="Project"><vt:lpwstr>Orion</vt:lpwstr></property>'
    '<property name="Copies"><vt:i4>3</vt:i4></property></Properties>'
)
META = (
    '<office:document-meta xmlns:office="o" xmlns:meta="m" xmlns:dc="d"><office:meta><dc:title>Plan</dc:title>'
    "<meta:keyword>pump</meta:keyword><meta:keyword>water</meta:keyword>"
    '<meta:user-defined meta:name="Project">Orion</meta:user-defined></office:meta></office:document-meta>'
)


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


def test_a_note_has_the_fields_of_its_front_matter_and_tags(parser: Parser, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text(NOTE, encoding="utf-8")
    note = parser.parse(tmp_path / "note.md")
    assert note.title == "Orion kick-off"
    assert note.fields == {
        "tags": ("follow-up", "line-tag", "meeting", "planning", "project/orion"), "date": "2024-03-05",
        "aliases": ("Start of Orion",), "budget": 12500.5, "time": "12:30", "draft": "no",
    }  # fmt: skip
    assert "Met [[People/Bob|Bob]], see ![[plan.png]] and #follow-up." in note.text
    date = find_facts(note)[DATE]
    assert (date.value, date.quote, date.source) == ("2024-03-05", "date: 2024-03-05", FactSource.PROPERTY)


def test_a_text_has_the_fields_of_its_front_matter(parser: Parser, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("---\nproject: Orion\n---\nThe pump. #none\n", encoding="utf-8")
    assert parser.parse(tmp_path / "a.txt").fields == {"project": "Orion"}
    (tmp_path / "b.txt").write_text("---\nA line between two rules\n---\nThe pump.\n", encoding="utf-8")
    assert parser.parse(tmp_path / "b.txt").fields == {}


@pytest.mark.parametrize("front", ["a: [1", "a: &x {b: *x}", f"a: {'[' * 5000}"])
def test_a_front_matter_that_is_no_yaml_leaves_the_note(parser: Parser, tmp_path: Path, front: str) -> None:
    (tmp_path / "note.md").write_text(f"---\n{front}\n---\nThe pump.\n", encoding="utf-8")
    note = parser.parse(tmp_path / "note.md")
    assert note.text.endswith("The pump.")
    assert note.fields == {}


def test_word_properties_are_metadata(parser: Parser, tmp_path: Path) -> None:
    import docx

    path = write_docx(tmp_path / "a.docx", ["The pump works."])
    document = docx.Document(str(path))
    document.core_properties.keywords, document.core_properties.category = "pump; water", "manual"
    document.save(str(path))
    with zipfile.ZipFile(path, "a") as package:
        package.writestr("docProps/custom.xml", CUSTOM)
    parsed = parser.parse(path)
    assert parsed.fields == {"project": "Orion", "copies": 3}
    assert (parsed.metadata["keywords"], parsed.metadata["category"]) == ("pump; water", "manual")


def test_opendocument_properties_are_metadata(parser: Parser, tmp_path: Path) -> None:
    path = write_open(tmp_path / "a.odt", "text", "<text:p>The pump works.</text:p>")
    with zipfile.ZipFile(path, "a") as package:
        package.writestr("meta.xml", META)
    parsed = parser.parse(path)
    assert (parsed.fields, parsed.metadata["keywords"]) == ({"project": "Orion"}, "pump, water")


def test_the_days_of_a_pdf_are_fields(parser: Parser, tmp_path: Path) -> None:
    parsed = parser.parse(write_pdf(tmp_path / "a.pdf", parts=["The pump works."]))
    assert set(parsed.fields) == {"created_at"}
    assert len(str(parsed.fields["created_at"])) == len("2024-01-31")
