"""Passages of web pages and tool results: ids, spans and unreadable characters."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from multi_agent.prompts.show_passages import number_units
from multi_agent.values.sources import page_passages, readable, tool_passage
from vectorstore.models import ToolOutput, WebPage

READ_AT = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)
URL = "https://forum.example/t/1"


def test_a_short_page_is_one_passage_with_its_origin() -> None:
    [chunk] = page_passages(URL, READ_AT, "Pumps\n in winter", "The X2 starts at -20 °C.\nIt weighs 3 kg.")
    assert chunk.origin == WebPage(url=URL, read_at=READ_AT)
    assert (chunk.name, chunk.title) == (URL, "Pumps in winter")
    assert [unit.text for unit in number_units([chunk])] == ["The X2 starts at -20 °C.", "It weighs 3 kg."]


def test_a_long_page_is_cut_at_paragraph_ends_with_exact_spans() -> None:
    text = "\n\n".join(f"Paragraph {number}. " + "word " * 100 + "end." for number in range(12))
    chunks = page_passages(URL, READ_AT, "", text)
    assert len(chunks) > 2
    assert all(text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    assert all(chunk.text.startswith("Paragraph") and chunk.text.endswith("end.") for chunk in chunks)
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    assert len({chunk.document_id for chunk in chunks}) == 1


@pytest.mark.parametrize("text", ["One long sentence. " * 400, "x" * 9000])
def test_a_paragraph_longer_than_a_passage_is_cut_without_loss(text: str) -> None:
    chunks = page_passages(URL, READ_AT, "", text)
    assert len(chunks) > 3
    assert all(text[chunk.start : chunk.end] == chunk.text and len(chunk.text) <= 2000 for chunk in chunks)
    assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(text.split())


def test_ids_depend_on_the_address_and_on_the_content() -> None:
    def id_of(url: str, text: str) -> str:
        return page_passages(url, READ_AT, "", text)[0].document_id

    assert id_of(URL, "One.") == id_of(URL, "One.")
    assert len({id_of(URL, "One."), id_of(URL, "Two."), id_of(f"{URL}0", "One.")}) == 3


def test_a_blank_page_has_no_passages() -> None:
    assert page_passages(URL, READ_AT, "", " \n\n ") == ()


def test_a_result_of_a_tool_is_one_passage_with_its_call() -> None:
    chunk = tool_passage("calculator", {"expression": "2340 * 0.17"}, "397.8")
    assert chunk.origin == ToolOutput(tool="calculator", arguments={"expression": "2340 * 0.17"})
    assert (chunk.name, chunk.text, chunk.start, chunk.end) == ("calculator", "397.8", 0, 5)
    other = tool_passage("calculator", {"expression": "1170 * 0.34"}, "397.8")
    assert other.id != chunk.id
    assert other.document_id != chunk.document_id


def test_a_blank_result_is_refused() -> None:
    with pytest.raises(ValueError, match="'ls' returned nothing"):
        tool_passage("ls", {}, " \n")


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("a\r\nb\rc", "a\nb\nc"),
        ("\x1b[31mred\x1b[0m", " [31mred [0m"),
        ("nul\x00 bell\x07 csi\x9b2J", "nul  bell  csi 2J"),
        ("to\u202egpj.exe", "to gpj.exe"),
        ("hi\U000e0041\U000e0042", "hi  "),
        ("half \ud800 pair", "half   pair"),
    ],
)
def test_characters_that_act_or_hide_are_replaced(raw: str, clean: str) -> None:
    assert readable(raw) == clean
