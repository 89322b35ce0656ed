"""The words that people type are found, whatever form the text has: each mark stands in one of 400 passages."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.chunks import make_chunk
from vectorstore.edge.store import EdgeStore
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import CollectionSpec, SearchMode
from vectorstore.retrieval import Retriever
from vectorstore.text.forms import forms

MARKS = Path(__file__).with_name("data") / "marks.tsv"
DOCS = Path(__file__).parents[3] / "docs"
PASSAGES = 400


def marks() -> list[tuple[str, list[str]]]:
    lines = MARKS.read_text(encoding="utf-8").splitlines()[1:]
    pairs = (line.split("\t") for line in lines)
    return [(mark, queries.split(" | ")) for mark, queries in pairs]


@pytest.fixture(scope="module")
def retriever(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[Retriever]:
    rng = random.Random(1)
    text = " ".join(page.read_text(encoding="utf-8") for page in sorted(DOCS.glob("*.md")))
    words = re.findall(r"\b[a-z]+\b", text)
    texts = [" ".join(rng.choices(words, k=40)) for _ in range(PASSAGES)]
    for number, (mark, _) in enumerate(marks()):
        texts[8 * number] += f" The mark here is {mark} as agreed."
    chunks = [make_chunk(each, document=f"/docs/{number}.txt") for number, each in enumerate(texts)]
    spec = CollectionSpec(name="marks", embedding_model=embedder.model, dimension=embedder.dimension, chunking="c")
    with EdgeStore(tmp_path_factory.mktemp("marks")).create(spec) as collection:
        collection.upsert(chunks, embedder.embed_passages(texts))
        yield Retriever(collection, embedder)


@pytest.mark.parametrize("mode", [SearchMode.WORDS, SearchMode.HYBRID])
def test_at_least_95_of_100_marks_are_first(retriever: Retriever, mode: SearchMode) -> None:
    asked = [(mark, query) for mark, queries in marks() for query in queries]
    missed = [
        (mark, query)
        for mark, query in asked
        if f" {mark} " not in "".join(hit.chunk.text for hit in retriever.search([query], 1, mode=mode))
    ]
    assert len(missed) <= 0.05 * len(asked), missed


@pytest.mark.parametrize(
    ("text", "language", "form"),
    [
        ("C++", "en", "cplusplus"),
        ("(AT&T),", "en", "atandt"),
        ("U.S.S.R.", "en", "ussr"),
        ("fooBar", "en", "foo"),
        ("1,234", "en", "1234"),
        ("12,499.00", "en", "12499"),
        ("Hawai‘i", "en", "hawaii"),
        ("12499.00 EUR", "en", "12499euro"),
        ("12 499,50", "fr", "12499d5"),
        ("47dB(A)", "en", "47db"),
        ("47 dB", "en", "47db"),
        ("1.234", "de", "1234"),
        ("1.234", "en", "1d234"),
        ("1.234.567,89", "de", "1234567d89"),
        ("1 234 567", "fr", "1234567"),
        ("3/4", "en", "3s4"),
        ("Grüße", "de", "grusse"),
        ("Grüße", "de", "gruesse"),
        ("x²", "en", "xpow2"),
        ("x²", "en", "x2"),
        ("10⁶", "en", "10pow6"),
        ("12. März 2021", "de", "20210312"),
        ("March 12th, 2021", "en", "20210312"),
        ("12 de marzo de 2021", "es", "20210312"),
        ("25/12/2021", "en", "20211225"),
        ("Dec 2021", "en", "202112"),
        ("1er janvier 2015", "fr", "20150101"),
        ("24.12.98", "de", "19981224"),
        ("2021年3月12日", "zh", "20210312"),
        ("3.5 mm", "en", "3d5mm"),
        ("10 km/h", "en", "10kmh"),
        ("1500 Euro", "de", "1500euro"),
        ("USD 500", "en", "500dollar"),
        ("1 234 567,5", "fr", "1234567d5"),
        ("(212) 664-7665", "en", "2126647665"),
        ("$ 1,200.50", "en", "1200d50dollars"),
        ("GB29 NWBK 6016 1331 9268 19", "en", "gb29nwbk60161331926819"),
        ("+44 (0)20 7946 0958", "en", "02079460958"),
        ("DIN 4711", "de", "din4711"),
        ("+1 212 555 0142", "en", "2125550142"),
        ("Zoë’s", "en", "zoe"),
        ("1920 x 1080", "en", "1920x1080"),
        ("30 × 40 × 50 cm", "de", "30x40x50"),
        ("infor-\nmation", "en", "information"),
        ("(infor\u2010\nmation),", "en", "information"),
        ("long-\nterm", "en", "longterm"),
        ("state-of-\nthe-art", "en", "stateoftheart"),
        ("COVID-\n19", "en", "covid19"),
        ("2019-\n2020", "en", "2019m2020"),
        ("Über-\nsicht", "de", "übersicht"),
        ("Über-\nsicht", "de", "ubersicht"),
        ("об-\nщество", "ru", "общество"),
        ("White River", "en", "qzxnamewhiteriver"),
        ("the old New York\nTimes building", "en", "qzxnameyorktimes"),
        ("Élodie Müller", "fr", "qzxnameelodiemuller"),
    ],
)
def test_a_word_has_the_form(text: str, language: str, form: str) -> None:
    assert form in forms(f"Before {text} after.", language)


@pytest.mark.parametrize(
    "text", ["A plain sentence, with words.", "don't", "it's", "end.", "(in brackets)", "2021", "–", "River. White"]
)
def test_plain_words_have_no_further_forms(text: str) -> None:
    assert forms(text, "en") == []


BROKEN = {
    "infor-\nmation": ["information", "Information", '"the information here"'],
    "long-\nterm": ["long-term", "longterm", "term", '"the long-term here"'],
    "Über-\nsicht": ["Übersicht", "übersicht"],
    "Verkehrs-\nmittel-\nwahl": ["Verkehrsmittelwahl"],
}


def test_words_that_a_line_end_breaks_are_found_whole(tmp_path: Path, embedder: Embedder) -> None:
    texts = [f"Prices of plants and water. Read the {word} here.\nIt ends in May." for word in BROKEN]
    chunks = [make_chunk(each, document=f"/docs/{number}.txt") for number, each in enumerate(texts)]
    spec = CollectionSpec(name="broken", embedding_model=embedder.model, dimension=embedder.dimension, chunking="c")
    with EdgeStore(tmp_path).create(spec) as collection:
        collection.upsert(chunks, embedder.embed_passages(texts))
        retriever = Retriever(collection, embedder)
        for text, queries in zip(texts, BROKEN.values(), strict=True):
            found = {query: retriever.search([query], 1, mode=SearchMode.WORDS) for query in queries}
            assert {query: [hit.chunk.text for hit in hits] for query, hits in found.items()} == {
                query: [text] for query in queries
            }


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("10⁶", "106"),
        ("3/4", "34"),
        ("1.234", "1234"),
        ("31.02.2021", "20210231"),
        ("2.10", "2d1"),
        ("2024.10", "2024d1"),
    ],
)
def test_different_numbers_share_no_form(text: str, other: str) -> None:
    assert other not in forms(text, "en")
