"""Fonts with a character map of another script, or of other letters of the same script, have no usable map."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from ingest.errors import EmptyDocument
from ingest.parser import load_parser
from ingest.reader import OcrMode, ParserOptions
from ingest.readers.pdf.legibility import is_legible
from ingest.readers.pdf.words import Word
from support.raw_pdf import text_at, write_plain_pdf

TERMS = [
    "The tenant pays the deposit of three months before the keys are handed over.",
    "Damage that goes beyond normal wear and tear is repaired at the cost of the tenant.",
    "The landlord gives back the deposit within four weeks, less what is still owed.",
    "Pets need the written consent of the landlord, which may be withdrawn later.",
]


def _words(text: str) -> list[Word]:
    return [Word(word, 0, 1, 0, 1) for word in text.split()]


@pytest.mark.parametrize(
    ("text", "is_text"),
    [
        ("Äîãîâîð èñòåêàåò ïåðâîãî ìàðòà, øòðàô ñîñòàâëÿåò", False),
        ("Η σύμβαση λήγει την πρώτη Μαρτίου και η ποινή είναι πέντε τοις εκατό " * 4, True),
        ("Τηε ωαρραντψ λαστσ τηιρτψ μοντησ φρομ δελιςερψ οφ τηε γοοδσ " * 4, False),
        (codecs.encode(" ".join(TERMS), "rot13"), False),
        *(("".join(chr(ord(each) + shift) for each in " ".join(TERMS)), False) for shift in (0x370, 0x400, 0x4E00)),
        ("Договор действует до первого марта, оплата производится ежемесячно не позднее пятого числа. " * 3, True),
        ("合同自二〇二五年五月三日起生效，租金每月三千二百元，于月底前支付，期限为两年，可以延长一年。" * 4, True),
        ("договор истекает первого марта, штраф составляет пять процентов от суммы", True),
        ("http https html xhtml xmlns mkdir " + " ".join(TERMS), True),
        ("krk vlk prst smrt čtvrt hrst brzda chrt; zeď stojí dlouho u řeky, která teče pod mostem přes město", True),
        ("Größe Übergröße créée déjà naïve Łódź, α = 0.3 und β = 5", True),
    ],
)
def test_letters_of_another_script_are_recognised(text: str, is_text: bool) -> None:
    assert is_legible(_words(text)) is is_text


@pytest.mark.parametrize("ocr", [OcrMode.NEVER, OcrMode.AUTO])
def test_a_map_that_swaps_letters_is_not_quoted(tmp_path: Path, ocr: OcrMode) -> None:
    swapped = "3 beginbfrange <20> <60> <0020> <61> <6d> <006e> <6e> <7a> <0061> endbfrange"
    cmap = f"begincmap 1 begincodespacerange <00> <ff> endcodespacerange {swapped} endcmap"
    drawn = "".join(text_at(72, 700 - 20 * row, line) for row, line in enumerate(TERMS))
    stream = f"<</Length {len(cmap)}>>stream\n{cmap}\nendstream"
    write_plain_pdf(tmp_path / "a.pdf", drawn, font="/ToUnicode 4 0 R", objects=[stream])
    write_plain_pdf(tmp_path / "b.pdf", drawn)
    assert load_parser("default", ParserOptions(ocr=OcrMode.NEVER)).parse(tmp_path / "b.pdf").warnings == ()
    if ocr is OcrMode.NEVER:
        with pytest.raises(EmptyDocument, match="no usable character map"):
            load_parser("default", ParserOptions(ocr=ocr)).parse(tmp_path / "a.pdf")
    else:
        assert "repaired at the cost of the tenant" in load_parser("default").parse(tmp_path / "a.pdf").text


def test_a_page_of_many_objects_and_few_words_is_no_scan(tmp_path: Path) -> None:
    write_plain_pdf(tmp_path / "a.pdf", text_at(72, 700, "Map of the harbour") + "0 0 m 9 9 l S " * 201)
    parsed = load_parser("default", ParserOptions(ocr=OcrMode.NEVER)).parse(tmp_path / "a.pdf")
    assert (parsed.text, parsed.warnings) == ("Map of the harbour", ())
