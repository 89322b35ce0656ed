"""Outlook messages are read in the form that has their whole text, with the right people, dates and characters."""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from pathlib import Path

import pytest
from compressed_rtf import compress

from ingest.containers.unpack import ContainerLimits, expand
from ingest.parser import Parser, load_parser
from ingest.readers.rtf import encapsulated_html
from support.compound import Tree, write_compound

CASES = Path(__file__).parents[1] / "cases"
PLAIN, RTF, DATA, CLASS, SUBJECT = 0x1000, 0x1009, 0x3701, 0x001A, 0x0037


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


def text(**properties: str) -> dict[str, bytes]:
    """Return text properties, given as ``x0037``."""
    return {f"__substg1.0_{key[1:]}001F": value.encode("utf-16-le") for key, value in properties.items()}


def fixed(header: int, **numbers: int) -> dict[str, bytes]:
    """Return properties of fixed size after a header of this size."""
    entries = (struct.pack("<HHIQ", 3, int(key[1:], 16), 6, value) for key, value in numbers.items())
    return {"__properties_version1.0": bytes(header) + b"".join(entries)}


def ticks(*date: int) -> int:
    """Return a time as Outlook stores it."""
    return int((datetime(*date, tzinfo=UTC) - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds()) * 10**7  # type: ignore[arg-type]


def recipient(name: str, address: str, kind: int) -> Tree:
    return {**fixed(8, x0C15=kind), **text(x3001=name, x39FE=address)}


READ = [
    ("34-msg-rtf-body/specmsg.msg", ["hello world"]),
    ("34-msg-rtf-body/m01_rtf_only.msg",
     ["The gearbox of unit 7 is due on 14 March 2027.", "4,250 EUR, agreed with Müller.",
      "| Part | Qty |\n| --- | --- |\n| Bearing | 12 |\n\nRegards"]),
    ("34-msg-rtf-body/m02_rtf_mela.msg", ["agreed with Müller.", "| Bearing | 12 |\n\nRegards"]),
    ("34-msg-rtf-body/m03_rtf_fromhtml.msg",
     ["The lease of hall 3 ends on 30 June 2028.\n\n| Rent | 1,900 EUR |", "\n\nContact: Jörg"]),
    ("34-msg-rtf-body/m22_rtf_hebrew.msg", ["Сумма 500 € — ok"]),
    ("34-msg-rtf-body/m24_empty_body_rtf.msg", ["The deposit is 600 EUR."]),
    ("35-msg-html-body/m04_html_only.msg",
     ["The inspection fee is 380 EUR.",
      "| Item | Qty | Price |\n| --- | --- | --- |\n| Pump | 5 | 10 |\n| Valve | 1 | 27 |",
      "line one\nline two", "Grüße, Żółć"]),
    ("35-msg-html-body/m05_html_cp1251.msg", ["Subject: Счёт", "Договор действует до 31 марта 2026 года."]),
    ("35-msg-html-body/m06_html_and_stub.msg", ["| Pump | 5 | 10 |"]),
    ("36-msg-code-pages/m14_cp874.msg", ["Subject: สัญญาสิ้นสุด\n", "สัญญาสิ้นสุดวันที่ 5"]),
    ("36-msg-code-pages/m15_cp1251_nodecl.msg", ["Срок оплаты — 45 дней, сумма 1 250 руб."]),
    ("36-msg-code-pages/m17_gbk_tagged_utf8_only.msg", ["合同金额为五万二千元。"]),
    ("37-msg-nested/m18_nested.msg",
     ['From: "Sender One" <sender@example.org>\nTo: "Reader One" <reader@example.org>\nDate: 2024-03-05T09:00']),
]  # fmt: skip


@pytest.mark.parametrize(("file", "passages"), READ, ids=[file for file, _ in READ])
def test_a_message_is_read_whole(parser: Parser, file: str, passages: list[str]) -> None:
    document = parser.parse(CASES / file)
    assert [passage for passage in passages if passage not in document.text] == []
    assert bool(document.warnings) == ("nodecl" in file or "tagged" in file)  # their encoding is a guess


NESTED = [
    ("36-msg-code-pages/m20_nested8bit.msg",
     {"Вложение.txt": ["Сумма 777 рублей"], "Внутреннее.eml": ["Внутреннее письмо: сумма 990."]}),
    ("37-msg-nested/m18_nested.msg",
     {"Inner: delivery terms.eml": ["Date: 2024-03-05", "To: \"Reader One\"", "Delivery takes 21 days"],
      "Inner: delivery terms.eml/inner_note.txt": ["The inner note says the code is K-77."],
      "prices.csv": ["| Bolt | 1.50 |"]}),
    ("37-msg-nested/m19_nested_rtf.msg", {"RTF inner.eml": ["The inner RTF says 88 pallets."]}),
]  # fmt: skip


@pytest.mark.parametrize(("file", "expected"), NESTED, ids=[file for file, _ in NESTED])
def test_what_is_attached_becomes_documents(
    parser: Parser, tmp_path: Path, file: str, expected: dict[str, list[str]]
) -> None:
    found = {
        each.name: parser.parse(each.path).text
        for each in expand(CASES / file, ContainerLimits(), tmp_path)
        if each.path
    }
    assert found.keys() == expected.keys()
    assert [words for name in found for words in expected[name] if words not in found[name]] == []


def test_kinds_of_recipients_and_senders_for_others_are_told_apart(parser: Parser, tmp_path: Path) -> None:
    people = [
        recipient("Ann", "ann@x.org", 1),
        recipient("Ben", "/O=EXCHANGE/CN=BEN", 2),
        recipient("Cy", "cy@x.org", 3),
    ]
    path = write_compound(tmp_path / "a.msg", {
        **fixed(32, x0039=ticks(2025, 4, 1, 8, 30)),
        **text(x0037="Offer", x0C1A="Desk", x0C1F="desk@x.org", x0042="Boss", x0065="boss@x.org", x1000="We accept."),
        **{f"__recip_version1.0_#{number:08X}": each for number, each in enumerate(people)},
    })  # fmt: skip
    document = parser.parse(path)
    assert document.text == (
        'Subject: Offer\nFrom: "Desk" <desk@x.org> on behalf of "Boss" <boss@x.org>\nTo: "Ann" <ann@x.org>\nCc: Ben\n'
        'Bcc: "Cy" <cy@x.org>\nDate: 2025-04-01T08:30:00+00:00\n\nWe accept.'
    )
    assert document.metadata["created_at"] == "2025-04-01T08:30:00+00:00"


def test_a_message_to_many_is_read(parser: Parser, tmp_path: Path) -> None:
    people = {
        f"__recip_version1.0_#{number:08X}": recipient(f"P{number}", f"{number}@x.org", 1) for number in range(33)
    }
    path = write_compound(tmp_path / "a.msg", {**fixed(32), **text(x1000="To all."), **people})
    assert parser.parse(path).text.count("@x.org") == 33  # the storage of number 30 is called …0000001E


@pytest.mark.parametrize(
    ("code_page", "words"), [(932, "契約は2024年4月1日"), (28592, "Zażółć gęślą"), (20866, "Сумма"), (65001, "Žluť")]
)
def test_old_texts_are_in_the_code_page_of_the_message(
    parser: Parser, tmp_path: Path, code_page: int, words: str
) -> None:
    encoding = {28592: "iso8859-2", 20866: "koi8-r", 65001: "utf-8"}.get(code_page, f"cp{code_page}")
    body = {f"__substg1.0_{key}001E": words.encode(encoding) for key in ("0037", "1000")}
    document = parser.parse(write_compound(tmp_path / "a.msg", {**fixed(32, x3FFD=code_page), **body}))
    assert document.text == f"Subject: {words}\n\n{words}"


def test_utf_8_of_a_page_counts_more_than_its_declaration(parser: Parser, tmp_path: Path) -> None:
    for charset, words in (("utf-8", "Łódź, 5 €"), ("cp1252", "Müller")):  # of two that declare cp1252
        page = f"<meta charset='windows-1252'><p>{words}</p>".encode(charset)
        tree: Tree = {**fixed(32, x3FDE=65001), "__substg1.0_10130102": page}
        assert parser.parse(write_compound(tmp_path / "a.msg", tree)).text == words


def test_damaged_rich_text_is_named_and_the_plain_text_is_read(parser: Parser, tmp_path: Path) -> None:
    packed = bytearray(compress(b"{\\rtf1 The rent is 5 EUR, payable monthly in advance.}"))
    packed[20] ^= 0xFF
    tree: Tree = {**fixed(32), **text(x0037="Rent", x1000="The rent is 5 EUR."), "__substg1.0_10090102": bytes(packed)}
    document = parser.parse(write_compound(tmp_path / "a.msg", tree))
    assert "The rent is 5 EUR." in document.text
    assert "The formatted text of the message was not read: it is damaged" in " ".join(document.warnings)


def test_an_attachment_that_is_only_a_link_is_named(parser: Parser, tmp_path: Path) -> None:
    tree: Tree = {**fixed(32), **text(x1000="See file."), "__attach_version1.0_#00000000": text(x3707="plan.docx")}
    assert "The attachment plan.docx was not read" in parser.parse(write_compound(tmp_path / "a.msg", tree)).warnings[0]


def test_an_appointment_has_its_place_and_times(parser: Parser, tmp_path: Path) -> None:
    names = struct.pack("<IHH", 0x8208, 6, 0) + struct.pack("<IHH", 0x820D, 6, 1)
    tree: Tree = {
        **fixed(32, x8001=ticks(2026, 1, 2, 9)),
        **text(x001A="IPM.Appointment", x0037="Budget", x1000="Bring lists.", x8000="Room 7"),
        "__nameid_version1.0": {"__substg1.0_00030102": names},
    }
    found = parser.parse(write_compound(tmp_path / "a.msg", tree)).text
    assert found == "Subject: Budget\n\nLocation: Room 7\nStart: 2026-01-02 09:00 UTC\n\nBring lists."


def test_tasks_and_contacts_have_their_fields(parser: Parser, tmp_path: Path) -> None:
    names = struct.pack("<IHH", 0x8105, 6, 0) + struct.pack("<IHH", 0x8083, 6, 1)
    named: Tree = {"__nameid_version1.0": {"__substg1.0_00030102": names}}
    task = {**named, **fixed(32, x8000=ticks(2026, 5, 2, 9)), **text(x001A="IPM.Task", x0037="Valve", x1000="Open it.")}
    found = parser.parse(write_compound(tmp_path / "a.msg", task)).text
    assert found == "Subject: Valve\n\nDue: 2026-05-02 09:00 UTC\n\nOpen it."
    person = text(x001A="IPM.Contact", x0037="Anna", x3001="Anna Berg", x3A16="Norvik", x3A08="+47 5", x8001="a@x.org")
    found = parser.parse(write_compound(tmp_path / "b.msg", {**named, **fixed(32), **person})).text
    assert found.endswith("Name: Anna Berg\nOrganization: Norvik\nTelephone: +47 5\nEmail: a@x.org")


def test_the_text_of_a_signed_message_is_in_its_attachment(parser: Parser, tmp_path: Path) -> None:
    signed = (
        b"Content-Type: multipart/signed; boundary=b\n\n--b\nContent-Type: text/plain\n\nThe fee is 7 EUR.\n--b--\n"
    )
    tree: Tree = {
        **fixed(32), **text(x001A="IPM.Note.SMIME.MultipartSigned", x0037="Fee"),
        "__attach_version1.0_#00000000": {**text(x3707="smime.p7m"), "__substg1.0_37010102": signed},
    }  # fmt: skip
    assert "The fee is 7 EUR." in parser.parse(write_compound(tmp_path / "a.msg", tree)).text
    encrypted: Tree = {**tree, "__attach_version1.0_#00000000": {"__substg1.0_37010102": b"0\x82\x01"}}
    assert "encrypted" in " ".join(parser.parse(write_compound(tmp_path / "b.msg", encrypted)).warnings)


def test_html_in_rich_text_keeps_its_characters() -> None:
    rtf = (
        rb"{\rtf1\ansi\ansicpg1252\fromhtml1 {\fonttbl{\f0 Arial;}{\f1\fcharset204 Arial;}{\f2\fcharset128 MS;}}"
        rb"{\*\generator Riched}{\*\htmltag <p title=\{a\}>}\htmlrtf {\htmlrtf0 {\f1 \'c4\'e0} \u8364?5\uc0\u9733"
        rb"\htmlrtf }\htmlrtf0 {\*\htmltag &nbsp;}{\f2 \'8c_\'96\'f1}{\uc1\u-10179?\u-8704?}\line"
        rb"{\*\mhtmltag <p>}{\*\htmltag </p>}{\pntext 1.}caf\'e9}"
    )
    assert encapsulated_html(rtf) == "<p title={a}>Да €5★&nbsp;契約😀\n</p>café"
    assert encapsulated_html(rb"{\rtf1 plain}") == ""


def test_deep_nesting_and_open_groups_are_read_in_linear_time() -> None:
    assert encapsulated_html(b"{\\rtf1\\fromhtml1 " + b"{" * 200_000 + b"x" + b"}" * 300_000 + b"\\u").endswith("x")


def test_messages_in_messages_are_unpacked_down_to_the_limit(tmp_path: Path) -> None:
    tree: Tree = {**fixed(24), **text(x0037="Innermost", x1000="Deep.")}
    for level in range(5):
        attached: Tree = {**text(x3001=f"M{level}"), "__substg1.0_3701000D": tree}
        tree = {**fixed(24 if level < 4 else 32), **text(x0037="x"), "__attach_version1.0_#00000000": attached}
    names = [each.name for each in expand(write_compound(tmp_path / "a.msg", tree), ContainerLimits(), tmp_path)]
    assert names[:3] == ["M4.eml", "M4.eml/M3.eml", "M4.eml/M3.eml/M2.eml"]


@pytest.mark.parametrize(
    ("number", "encoding"), [(10007, "mac_cyrillic"), (1251, "cp1251"), (20866, "koi8-r"), (20949, "cp949")]
)
def test_code_pages_of_other_systems_are_known(parser: Parser, tmp_path: Path, number: int, encoding: str) -> None:
    words = {"0037": "Счёт", "1000": "Счёт на 5 руб."}
    texts = {f"__substg1.0_{key}001E": value.encode(encoding) for key, value in words.items()}
    document = parser.parse(write_compound(tmp_path / "a.msg", {**fixed(32, x3FFD=number), **texts}))
    assert (document.text, document.warnings) == ("Subject: Счёт\n\nСчёт на 5 руб.", ())
