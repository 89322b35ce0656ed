"""A quote is found if it stands in its passage, whatever copying did to its white space and typography."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multi_agent.grounding.quotes import _fold, fold, locate
from vectorstore.models import Chunk, TableHeader

OFFSET = 1000


def chunk(text: str, header: TableHeader | None = None) -> Chunk:
    return Chunk(
        id="c",
        document_id="d",
        document="/d.txt",
        name="d.txt",
        version="v",
        index=0,
        text=text,
        start=OFFSET,
        end=OFFSET + len(text),
        header=header,
    )


def found(quote: str, text: str) -> str | None:
    span = locate(quote, chunk(text))
    return text[span.start - OFFSET : span.end - OFFSET] if span else None


@pytest.mark.parametrize(
    ("quote", "text", "original"),
    [
        ("It works at -25 °C.", "Yes. It works at -25 °C. No more.", "It works at -25 °C."),
        ("two lines of text", "two lines\n   of\ttext", "two lines\n   of\ttext"),
        ('He said "no" - twice', "He said “no” – twice", "He said “no” – twice"),
        ("Zo\u00eb is \u00fcber 30", "Zoe\u0308 is u\u0308ber 30.", "Zoe\u0308 is u\u0308ber 30"),
        ("3\uc2dc", "\u1112\u116c 3\u1109\u1175", "3\u1109\u1175"),
        ("Done \u2714", "Done \u2714\ufe0f at 5", "Done \u2714\ufe0f"),
        ("the efficiency is final", "the ef\ufb01ciency is final", "the ef\ufb01ciency is final"),
        ("an understanding of it", "an under-\n  standing of it", "an under-\n  standing of it"),
        ("a well-known fact", "a well-\nknown fact", "a well-\nknown fact"),
        ("a well- known fact", "a well-\nknown fact", "a well-\nknown fact"),
        ("a co\u00adoperation", "a cooperation", "a cooperation"),
        ("−5 K", "about -5 K", "-5 K"),
        ("of 5-7 kg", "A pump of 5 – 7 kg", "of 5 – 7 kg"),
        ("of 5 – 7 kg", "A pump of 5-7 kg", "of 5-7 kg"),
        ("| 3 | Kipchoge | 2:02:42 |", "| 3 | Kipchoge | 2:02:42 |\n", "| 3 | Kipchoge | 2:02:42 |"),
        ("日本語", "これは日本語です", "日本語"),
        ("契約は五月に終わる。", "この契約は五月に\n終わる。", "契約は五月に\n終わる。"),
        ("甲方，\n乙方同意。", "甲方，乙方同意。", "甲方，乙方同意。"),
        ("x² grows", "here x² grows", "x² grows"),
        ("250 m2", "of 250 m²", "250 m²"),
        ("250 m²", "of 250 m^2", "250 m^2"),
        ("CO2", "tonnes of CO_2 a year", "CO_2"),
        ("10⁶ tonnes", "10^6 tonnes", "10^6 tonnes"),
        ("~~4,500~~ 5,200", "fee ~~4,500~~ 5,200 EUR", "~~4,500~~ 5,200"),
        ("5,200 EUR", "fee ~~4,500~~ 5,200 EUR", "5,200 EUR"),
    ],
)
def test_folding_finds_the_quote_in_the_original_text(quote: str, text: str, original: str) -> None:
    assert found(quote, text) == original


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("10 units", "2010 units"),
        ("-7 kg", "5 – 7 kg"),
        ("5-7 kg", "5 -7 kg"),
        ("106 tonnes", "10^6 tonnes"),
        ("106 tonnes", "10⁶ tonnes"),
        ("The plant emits 10", "The plant emits 10^6 tonnes"),
        ("6 tonnes", "10^6 tonnes"),
        ("4,500", "fee ~~4,500~~ 5,200 EUR"),
        ("supplier may terminate", "~~Clause 7: The supplier may terminate.~~"),
        ("the year 201", "the year 2010"),
        ("Mr Mu", "Mr Mu\u0308ller"),
        ("It Works", "it works"),
        ("12,5 million", "12.5 million"),
        ("1", "about ½ of it"),
        ("2 cups", "½ cups"),
        ("a.", "and so on: a…"),
        ("a first … last", "a first and second and last"),
        ("first last", "first and last"),
        ("猫A", "猫 A"),
        ("not at all there", "something else"),
        ("   ", "some text"),
        ("", "some text"),
    ],
)
def test_a_quote_not_in_the_passage_is_not_found(quote: str, text: str) -> None:
    assert locate(quote, chunk(text)) is None


def test_a_whole_word_match_after_a_partial_one_is_found() -> None:
    assert locate("10 units", chunk("2010 units, then 10 units")) == (OFFSET + 17, OFFSET + 25)


def test_a_quote_of_a_repeated_table_header_is_located_at_the_header() -> None:
    header = TableHeader(text="| Year | Sold |", start=10, end=25)
    assert locate("| Year | Sold |", chunk("| 2024 | 7 |", header)) == (10, 25)


@given(st.text(st.characters() | st.sampled_from("ab½²-\u2010\u00ad \n\t\u2028éﬁ…”–猫")))
def test_text_folds_the_same_with_and_without_its_origins(text: str) -> None:
    assert fold(text) == _fold(text, join_hyphenated=True).text.strip()


def test_words_are_joined_over_a_line_end_and_numbers_are_not() -> None:
    assert fold("mainte-\nnance") == "maintenance"
    assert fold("a 12-\nmonth term") == "a 12- month term"
