"""A search ranks the mail that wrote a sentence above the replies that quote it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.chunks import SPEC, make_chunk, make_vectors
from vectorstore.edge.store import EdgeStore
from vectorstore.models import SearchMode
from vectorstore.quoted_mail import quotes
from vectorstore.retrieval import Retriever

PRICE = "The agreed price for the boiler is 1007 EUR, and we will pay it in two parts."
QUOTED = "> The agreed price for the boiler is 1007\n>> EUR, and we will pay it in two parts."
MAIL = "Subject: Boiler\nFrom: Ann <ann@a.example>\nTo: Bob\nDate: Monday\n\nThe price is 1007 EUR."
OTHERS = [f"The agreed date for window {n} is in spring." for n in range(12)]


def found(folder: Path, texts: list[str], query: str) -> list[str]:
    chunks = [make_chunk(text, document=f"/docs/{number:02}.eml") for number, text in enumerate(texts)]
    with EdgeStore(folder).create(SPEC) as collection:
        collection.upsert(chunks, make_vectors(len(chunks)))
        hits = Retriever(collection, None).search([query], 5, mode=SearchMode.WORDS)
    return [hit.chunk.text for hit in hits]


@pytest.mark.parametrize(
    "reply",
    [
        f"Thanks, received.\n\nOn 2 January, Ann wrote:\n{QUOTED}",
        f"Thanks, received.\n\n-----Original Message-----\nFrom: Ann\n\n{PRICE}",
        f"Thanks.\n> Well received.\n> > {PRICE}",
        f"Thanks, received.\n\nFrom: Ann <ann@a.example>\nSent: Monday\nTo: Bob\nSubject: Boiler\n\n{PRICE}",
        f"Thanks, received.\n\nVon: Ann\nGesendet: Montag, 2. Januar 2024 10:00\nAn: Bob\nBetreff: Boiler\n{PRICE}",
        f"Thanks, received.\n\n-----Message d'origine-----\nDe : Ann <ann@a.example>\nÀ : Bob\nObjet : Prix\n\n{PRICE}",
        f"Thanks.\n\n发件人：Ann <ann@a.example>\n发送时间：2024年1月2日 10:00\n收件人：Bob\n主题：锅炉\n\n{PRICE}",
        f"Thanks.\n\n--- 原始邮件 ---\n发件人: Ann <ann@a.example>\n收件人: Bob\n主题: 锅炉\n\n{PRICE}",
        f"Thanks.\n\nمن: Ann <ann@a.example>\nتم الإرسال: 2 يناير\nإلى: Bob\nالموضوع: مرجل\n\n{PRICE}",
        f"Thanks.\n\nOn 2 Jan 2024, at 10:00, Ann wrote:\n\n{PRICE}",
        f"Thanks.\n\n----- Forwarded message -----\nFrom: Ann\nSubject: Boiler\nTo: Bob\n\n{PRICE}",
        f"Thanks.\n\n____________\nFrom: Ann <ann@a.example>\nSent: Monday\nTo: Bob\nSubject: Boiler\n\n{PRICE}",
        f"Thanks.\n\n*From:* Ann <ann@a.example>\n*Sent:* Monday\n*To:* Bob\n*Subject:* Boiler\n\n{PRICE}",
        f"Thanks.\n\nOn 2 January, Ann <ann@a.example> wrote:\n\n{PRICE}",
        f"Thanks.\n\nA> {PRICE}",
        f"Thanks.\n\n| {PRICE}",
    ],
)
def test_the_writer_comes_before_all_replies(tmp_path: Path, reply: str) -> None:
    replies = [reply.replace("Thanks", f"Reply {n}") for n in range(20)]
    texts = found(tmp_path, [*replies, *OTHERS, f"From: Ann\n\n{PRICE}"], "agreed price for the boiler")
    assert texts[0].startswith("From: Ann")
    assert set(texts[1:]) <= set(OTHERS)


def test_a_quote_of_a_mail_that_is_missing_is_found(tmp_path: Path) -> None:
    reply = f"Thanks, received.\n\n{QUOTED}"
    assert found(tmp_path, [*OTHERS, reply], "agreed price for the boiler")[0] == reply


def test_what_a_reply_says_itself_counts(tmp_path: Path) -> None:
    reply = f"The price for the boiler is too high.\n\n> {PRICE}"
    assert found(tmp_path, [PRICE, reply, *OTHERS], "price for the boiler")[:2] in ([PRICE, reply], [reply, PRICE])


@pytest.mark.parametrize(
    "text", ["a > b", "| a |\n| b |", "x -> y", "- > no", "Original Message", MAIL, "In 2024, rates rose:\n5"]
)
def test_other_text_quotes_no_mail(text: str) -> None:
    assert not quotes(text)
