"""Messages, mailboxes, calendars and address cards."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.containers.entries import ENTRIES, ContainerKind, container_kind
from ingest.errors import CorruptDocument
from ingest.parser import Parser, load_parser

MAILBOX = b"""From a@example.org Tue Mar  5 09:30:00 2024
From: Ada <a@example.org>
Subject: =?utf-8?q?Pr=C3=BCfung?=

From here on, the pump is quiet.
>From the plant, Ada

From b@example.org Tue Mar  5 09:31:00 2024
From: b@example.org
Subject: Re: a/b
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: base64

U2VjcmV0IGNvZGUgMTExLg==
"""


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


def _read(parser: Parser, folder: Path, message: str, name: str = "a.eml") -> tuple[str, tuple[str, ...]]:
    (folder / name).write_bytes(message.encode())
    document = parser.parse(folder / name)
    return document.text, document.warnings


def test_a_mailbox_holds_its_messages(parser: Parser, tmp_path: Path) -> None:
    (tmp_path / "all.mbox").write_bytes(MAILBOX)
    assert container_kind(tmp_path / "all.mbox") is ContainerKind.MAILBOX
    entries = {entry.name: entry.open().read() for entry in ENTRIES[ContainerKind.MAILBOX](tmp_path / "all.mbox", 1)}
    assert list(entries) == ["1 Prüfung.eml", "2 Re: a_b.eml"]
    texts = [_read(parser, tmp_path, content.decode())[0] for content in entries.values()]
    assert texts[0].endswith("From here on, the pump is quiet.\nFrom the plant, Ada")
    assert texts[1].endswith("Secret code 111.")


def test_a_text_that_begins_with_from_is_no_mailbox(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("From 10:30 on 5 March 2024 the pump is quiet.\nIt is.\n")
    assert container_kind(tmp_path / "a.txt") is None


def test_fields_are_decoded_and_are_properties(parser: Parser, tmp_path: Path) -> None:
    message = (
        "Subject: =?iso-2022-jp?b?GyRCN0BMcxsoQg==?= =?gb2312?b?vfC27g==?=\nFrom: J\u00f6rg <j@example.org>\n"
        "To: b@example.org,\n c@example.org\nDate: Tue, 5 Mar 2024 09:30:00 +0100\n\nHello.\n"
    )
    (tmp_path / "a.eml").write_bytes(message.encode())
    document = parser.parse(tmp_path / "a.eml")
    assert document.metadata["subject"] == "契約金额"
    assert document.text.startswith("Subject: 契約金额\nFrom: Jörg <j@example.org>\nTo: b@example.org, c@example.org\n")


def test_plain_text_wins_unless_it_lacks_words_of_the_page(parser: Parser, tmp_path: Path) -> None:
    def message(plain: str) -> str:
        return (
            "Subject: s\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=x\n\n"
            f"--x\nContent-Type: text/plain\n\n{plain}\n--x\nContent-Type: multipart/related; boundary=y\n\n"
            "--y\nContent-Type: text/html\n\n<p>The price is 88 EUR for <b>each</b> pump.</p>\n--y--\n--x--\n"
        )

    assert _read(parser, tmp_path, message("> quoted\nThe price is 88 EUR for each pump."))[0].endswith("each pump.")
    assert "> quoted" in _read(parser, tmp_path, message("> quoted\nThe price is 88 EUR for each pump."))[0]
    assert _read(parser, tmp_path, message("See the HTML part."))[0].endswith("The price is 88 EUR for each pump.")


def test_a_mail_quoted_by_html_is_marked(parser: Parser, tmp_path: Path) -> None:
    quoted = "<blockquote><p>The price is 7 EUR.</p><blockquote>What is the price?</blockquote></blockquote>"
    page = f"<p>Fine with us.</p><div>Bob wrote:</div>{quoted}<p>Regards</p>"
    text, _ = _read(parser, tmp_path, f"Subject: Re: Price\nContent-Type: text/html\n\n{page}")
    assert text.endswith("Fine with us.\n\nBob wrote:\n\n> The price is 7 EUR.\n>\n> > What is the price?\n\nRegards")


def test_flowed_lines_are_joined_and_encrypted_text_is_named(parser: Parser, tmp_path: Path) -> None:
    flowed = "Subject: s\nContent-Type: text/plain; format=flowed\n\nThe pump is \nquiet.\n-- \nAda\n"
    assert _read(parser, tmp_path, flowed)[0].endswith("The pump is quiet.\n--\nAda")
    unread = ("The text of the message is encrypted or sealed (S/MIME), and was not read.",)
    for kind in ("multipart/encrypted; boundary=x", "application/pkcs7-mime; name=smime.p7m"):
        encrypted = f"Subject: s\nContent-Type: {kind}\n\n--x\n\nx\n--x--\n"
        assert _read(parser, tmp_path, encrypted)[1] == unread


def test_a_forged_field_is_damage(parser: Parser, tmp_path: Path) -> None:
    with pytest.raises(CorruptDocument, match="Content-Type"):
        _read(parser, tmp_path, f"Subject: s\nContent-Type: text/plain; {'a=b; ' * 4000}\n\nHello.\n")


def test_address_cards_are_read_by_field(parser: Parser, tmp_path: Path) -> None:
    card = (
        "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Jörg Müller\r\nORG:ACME;Pumps\r\nTEL;TYPE=WORK,VOICE:+49 30 1234\r\n"
        "item1.EMAIL;TYPE=INTERNET:j@example.org\r\nADR;TYPE=HOME:;;Main St 5;Berlin;;10115;Germany\r\n"
        "BDAY:19700131\r\nNOTE:calls\\, al\r\n ways\r\nEND:VCARD\r\n"
        "BEGIN:VCARD\r\nFN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:Ad=C3=A9=\r\nle\r\nEND:VCARD\r\n"
        "BEGIN:VCARD\r\nFN;CHARSET=X-OWN;ENCODING=QUOTED-PRINTABLE:Zo=C3=AB\r\nEND:VCARD\r\n"
    )
    text, warnings = _read(parser, tmp_path, card, "a.vcf")
    assert warnings == ("A field in the unknown encoding 'X-OWN' was read as UTF-8.",)
    assert text == (
        "Name: Jörg Müller\nOrganization: ACME, Pumps\nTelephone (work, voice): +49 30 1234\nEmail: j@example.org\n"
        "Postal address (home): Main St 5, Berlin, 10115, Germany\nBirthday: 1970-01-31\n\nNote: calls, always\n\n"
        "Name: Adéle\n\nName: Zoë"
    )


def test_a_file_in_a_calendar_is_a_warning(parser: Parser, tmp_path: Path) -> None:
    lines = [
        "BEGIN:VCALENDAR",
        "BEGIN:VEVENT",
        "SUMMARY:Audit",
        "ATTACH;ENCODING=BASE64;VALUE=BINARY:QUJD",
        "END:VEVENT",
    ]
    text, warnings = _read(parser, tmp_path, "\n".join([*lines, "END:VCALENDAR"]), "a.ics")
    assert (text, warnings) == ("Summary: Audit", ("A file in an entry was not read.",))


@pytest.mark.parametrize(("deleted", "text"), [("", "a pr ice is 5"), ("; delsp=yes", "a price is 5")])
def test_flowed_lines_are_joined_as_they_say(parser: Parser, tmp_path: Path, deleted: str, text: str) -> None:
    message = f"From: a@example.org\nContent-Type: text/plain; format=flowed{deleted}\n\na pr \nice is 5\n"
    assert _read(parser, tmp_path, message)[0].endswith(text)


def test_times_of_a_calendar_name_their_zone(parser: Parser, tmp_path: Path) -> None:
    calendar = (
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Audit\nDTSTART;TZID=Europe/Berlin:20240312T090000\nDTEND:20240313\n"
        'ORGANIZER;CN="Ada; Lovelace":mailto:ada@example.org\nRRULE:FREQ=WEEKLY\nBEGIN:VALARM\nDESCRIPTION:Reminder\n'
        "END:VALARM\nEND:VEVENT\nBEGIN:VTODO\nSUMMARY:Pay\nDUE:20240401\nEND:VTODO\nEND:VCALENDAR\n"
    )
    assert _read(parser, tmp_path, calendar, "a.ics")[0] == (
        "Summary: Audit\nStart: 2024-03-12 09:00 Europe/Berlin\nEnd: 2024-03-13\n"
        "Organizer: Ada; Lovelace <ada@example.org>\nRepeats: FREQ=WEEKLY\n\nSummary: Pay\nDue: 2024-04-01"
    )
