"""Text files without a declared encoding, in the encodings that people have."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.decoding import decode, decode_declared
from ingest.errors import UnsupportedFormat

SENTENCES = [
    ("cp1252", "Die Prüfung für Jörg Müller: 5 € Gebühr."),
    ("cp1252", "Señor Núñez pagó 100 €."),
    ("cp1252", "El año próximo"),
    ("cp1252", "L’été à Noël coûte 5 €"),
    ("latin-1", "Große Straße 5"),
    ("latin-1", "São Paulo: ação"),
    ("cp1250", "Příliš žluťoučký kůň"),
    ("cp1250", "Szerződés: 1500 Ft, fizetendő."),
    ("iso8859-2", "Příliš žluťoučký kůň"),
    ("iso8859-15", "Sopimus päättyy 3. toukokuuta. Hinta on 40 €/kk."),
    ("koi8-r", "Цена 500 рублей"),
    ("cp1251", "Договор действует до 1 марта 2025 года."),
    ("euc_jp", "契約は2024年4月1日に発効する。"),
    ("shift_jis", "価格は５００円です"),
    ("iso2022_jp", "契約は2024年4月1日に発効する。"),
    ("gb18030", "合同金额为三百五十万元。"),
    ("big5", "合約金額為三百五十萬元。"),
    ("euc_kr", "계약은 2027년에 만료됩니다."),
    ("cp1253", "Η σύμβαση λήγει το 2027."),
    ("cp1255", "החוזה מסתיים בשנת 2027."),
    ("cp1256", "ينتهي العقد في عام 2027."),
    ("cp874", "สัญญาสิ้นสุดในปี 2570"),
    ("cp1254", "Sözleşme 2027 yılında sona erer."),
    ("cp1257", "Līgums beidzas 2027. gadā."),
]


def _decoded(data: bytes) -> tuple[str, list[str]]:
    warnings: list[str] = []
    return decode(data, Path("a.txt"), warnings.append), warnings


@pytest.mark.parametrize(("encoding", "sentence"), SENTENCES)
def test_a_sentence_is_read_in_its_encoding(encoding: str, sentence: str) -> None:
    text, warnings = _decoded(sentence.encode(encoding))
    assert text == sentence
    assert len(warnings) == (not encoding.startswith("iso2022"))


def test_a_file_that_is_cut_off_stays_utf8() -> None:
    text, warnings = _decoded("Müller, Köln, Łódź: 10 €".encode()[:-1])
    assert text == "Müller, Köln, Łódź: 10 \ufffd"
    assert warnings == ["1 invalid byte was replaced by \ufffd. The file is damaged UTF-8."]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_byte_order_mark_is_a_guess(encoding: str) -> None:
    text, warnings = _decoded("Name;Ort\nMüller;Köln\n".encode(encoding))
    assert text == "Name;Ort\nMüller;Köln\n"
    assert warnings[0].startswith(f"Read as {encoding}. This encoding is a guess")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["Rück\xadgabe 5 €\n", "Nr 5\u3000一\n", "一般契約書の期限は四月一日である。\n"])
def test_utf16_with_zeros_at_both_places_is_text(encoding: str, text: str) -> None:
    assert _decoded(text.encode(encoding))[0] == text


def test_a_few_zero_bytes_are_left_out() -> None:
    text, warnings = _decoded(b"pump started\n" * 9 + b"\0\0" + "Größe 5\n".encode())
    assert text.endswith("started\nGröße 5\n")
    assert warnings == ["2 invalid bytes were left out. The file is damaged UTF-8."]


@pytest.mark.parametrize("data", [b"\x01\0" * 40, b"ab\0\0cd" * 9, b"a\0" * 9 + b"\0\xd8"])
def test_bytes_with_many_zeros_are_not_text(data: bytes) -> None:
    with pytest.raises(UnsupportedFormat):
        _decoded(data)


def test_random_bytes_are_not_text() -> None:
    with pytest.raises(UnsupportedFormat):
        _decoded(bytes(range(1, 256)) * 2)


@pytest.mark.parametrize(
    ("label", "encoding"),
    [
        ("gb2312", "gb18030"),
        ("x-gbk", "gb18030"),
        ("x-sjis", "cp932"),
        ("KS_C_5601-1987", "cp949"),
        ('"Shift_JIS"', "cp932"),
    ],
)
def test_declared_encodings_stand_for_their_supersets(label: str, encoding: str) -> None:
    sentence = {"gb18030": "金额：镕", "cp949": "계약똠", "cp932": "価格①"}[encoding]
    assert decode_declared(sentence.encode(encoding), label, lambda _: None) == sentence


@pytest.mark.parametrize("label", ["", "no-such-charset", "utf-8\0"])
def test_an_unknown_declared_encoding_is_ignored(label: str) -> None:
    assert decode_declared(b"text", label, lambda _: None) is None
