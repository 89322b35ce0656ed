"""Each feature of each format comes out, or is left out, as ``docs/formats.md`` says."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.containers.unpack import ContainerLimits, container_kind, expand
from ingest.parser import Parser, load_parser
from support.features import PAGE, Sample, samples, table_of, write_table

SAMPLES = samples()


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


def texts(parser: Parser, path: Path, folder: Path) -> Iterator[str]:
    """Yield the text of a file, and of the documents in an archive or mailbox."""
    kind = container_kind(path)
    if kind is None or kind.is_document:
        yield parser.parse(path).text
        return
    for member in expand(path, ContainerLimits(), folder):
        assert member.path is not None, member.reason
        yield parser.parse(member.path).text


@pytest.mark.parametrize("sample", SAMPLES, ids=[sample.file for sample in SAMPLES])
def test_the_features_of_a_format(parser: Parser, tmp_path: Path, sample: Sample) -> None:
    if sample.library == "Tesseract" and shutil.which("tesseract") is None:
        pytest.skip("Tesseract is not installed")
    text = "\n\n".join(texts(parser, sample.path(tmp_path), tmp_path))
    missing = {feature: passage for feature, passage in sample.read.items() if passage not in text}
    present = {feature for feature, passage in {**sample.left_out, **sample.lost}.items() if passage in text}
    assert (missing, present) == ({}, set()), text


@pytest.mark.parametrize("sample", SAMPLES, ids=[sample.file for sample in SAMPLES])
def test_the_library_is_the_one_of_the_reader(parser: Parser, tmp_path: Path, sample: Sample) -> None:
    path = sample.path(tmp_path)
    if (kind := container_kind(path)) and not kind.is_document:
        return
    reader = parser.parse(path).parser if sample.library != "Tesseract" else ""
    named = {"kreuzberg": "kreuzberg", "pandoc": "pypandoc"}
    assert [name for name in named if (name in sample.library) != (named[name] in reader)] == [], reader


def test_the_page_of_formats_has_the_features_that_the_samples_show() -> None:
    expected, found = write_table(), table_of(PAGE.read_text(encoding="utf-8"))
    assert found == expected, "run: cd tests && python -m support.features"
