"""Words are found in every form in which Unicode, and the marks of the readers, can write them."""

from __future__ import annotations

import unicodedata

import pytest

from vectorstore.text.bm25 import Bm25Encoder

DECOMPOSED = unicodedata.normalize("NFD", "Müller")
SAME = [
    ("Die Donau\u00addampf\u00adschiff\u00adfahrt", "Donaudampfschifffahrt", "de"),
    ("the \ufb01nal plan", "final", "en"),
    ("an o\ufb03cer", "officer", "en"),
    ("契約番号はＡＢ－７７１２、金額は", "AB-7712", "ja"),
    ("金額は１２３４５円です", "12345", "ja"),
    ("QZ\u200b-9917", "QZ-9917", "en"),
    ("سال ۲۰۲۴", "2024", "fa"),
    ("वर्ष २०२४", "2024", "hi"),
    ("50 ㎡", "m²", "ja"),
    ("20 ℃", "20 °C", "en"),
    ("㈱山田", "株", "ja"),
    (f"bei {DECOMPOSED}", "Müller", "de"),
    ("bei Müller", DECOMPOSED, "de"),
    ("İstanbul", "istanbul", "tr"),
    ("ёлка", "елка", "ru"),
    ("שָׁלוֹם", "שלום", "he"),
    ("کتاب", "كتاب", "fa"),
    ("علي", "علی", "fa"),
    ("10^6 tonnes", "10⁶", "en"),
    ("10⁶ tonnes", "10^6", "en"),
    ("CO_2", "CO2", "en"),
    ("CO_2", "CO₂", "en"),
    ("CO₂", "CO_2", "en"),
    ("250 m^2", "m²", "en"),
    ("250 m^2", "m2", "en"),
    ("~~4,500~~ EUR", "4500", "en"),
    ("500[1] million", "500", "en"),
]


def _share_terms(text: str, query: str, language: str) -> bool:
    encoder = Bm25Encoder()
    asked = encoder.query(encoder.words(query, {language: 1}))
    return bool(set(encoder.passage(text, language).indices) & set(asked.indices))


@pytest.mark.parametrize(("text", "query", "language"), SAME)
def test_a_word_is_found_in_another_form(text: str, query: str, language: str) -> None:
    assert _share_terms(text, query, language)


@pytest.mark.parametrize(("text", "query"), [("10^6", "106"), ("5^1 million", "51"), ("500[1] million", "5001")])
def test_marks_of_form_make_no_other_number(text: str, query: str) -> None:
    assert not _share_terms(text, query, "en")
