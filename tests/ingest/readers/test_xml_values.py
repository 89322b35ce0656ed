"""XML that has its text in attributes: records, mind maps, outlines, diagrams, and the notes of Evernote."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path
from urllib.parse import quote

import pytest

from ingest.containers.unpack import ContainerLimits, expand
from ingest.document import ParsedDocument
from ingest.parser import Parser, load_parser

CASES = Path(__file__).parents[1] / "cases"


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


def read(parser: Parser, path: Path, source: str) -> ParsedDocument:
    path.write_text(source, encoding="utf-8")
    return parser.parse(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a1_attr.xml", "year: 2024\n\norder\n\n| id | customer | total | due |\n| --- | --- | --- | --- |\n"
         "| A-17 | Norvik | 4,250 EUR | 2024-05-03 |\n| A-18 | Holm | 990 EUR | 2024-06-01 |"),
        ("a2_mixed.xml", "name: Norvik\n\npump\n\n| id | pressure | pump |\n| --- | --- | --- |\n"
         "| P-7 | 3 bar | Main pump |\n| P-8 | 5 bar | Spare pump |"),
        ("a3_mind.mm", "- Boiler plan\n  - Pressure 2.8 bar\n    - Valve K9 open"),
        ("a4_list.opml", "Plan of works\n\n- Drain 40 litres\n  Note: close K9 first\n"
         "- Feed (https://example.org/f.xml)"),
        ("a5_drawio.drawio", "Flow\n\nStop at 3 bar\n\nOpen valve K9"),
    ],
)  # fmt: skip
def test_values_of_attributes_are_text(parser: Parser, name: str, text: str) -> None:
    document = parser.parse(CASES / "47-xml-attributes" / name)
    assert (document.text, document.warnings) == (text, ())


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<r><price currency='EUR'>4.20</price><limit max='3' unit='bar'/><step>Heat to <b>180</b> °C.</step></r>",
         "price: 4.20 (currency: EUR)\nlimit.max: 3\nlimit.unit: bar\nstep: Heat to 180 °C."),
        ("<o:r xmlns:o='u' xmlns:p='v'><o:item p:id='A-17' o:unit='bar'><p:name>Pump</p:name></o:item></o:r>",
         "item.id: A-17\nitem.unit: bar\nitem.name: Pump"),
        ("<feed xmlns='http://www.w3.org/2005/Atom'><title type='html'>Rent &amp;amp; &lt;b>more&lt;/b></title>"
         "<link href='https://example.org/1'/><link rel='self' href='x'/></feed>",
         "Rent & more\n\nlink: https://example.org/1"),
        ("<s xmlns:x='u' xml:id='7' xml:lang='de'><string name='app'>Hello</string><string name='b'>x</string></s>",
         "string\n\n| name | string |\n| --- | --- |\n| app | Hello |\n| b | x |"),
        ("<posts><row Id='1' Body='&lt;p&gt;At 3 bar.&lt;/p&gt;'/><row Id='2' Body='No.'/></posts>",
         "row\n\n| Id | Body |\n| --- | --- |\n| 1 | At 3 bar. |\n| 2 | No. |"),
        ("<book id='b'><chapter id='c'><title>One</title><para role='x'>At <em>3</em> bar.</para></chapter></book>",
         "One\n\nAt 3 bar."),
        ("<patent><abstract><paragraph id='P-1' lvl='0'><number>[1]</number> At 3 bar.</paragraph></abstract></patent>",
         "[1] At 3 bar."),
        ("<visit site='Norvik'><finding id='F-12' due='May'><p>The valve of a boiler leaks.</p></finding></visit>",
         "site: Norvik\n\nid: F-12, due: May\n\nThe valve of a boiler leaks."),
        ("<log><entry level='error'><note at='9:00'>Stop</note><para>The pump stopped.</para></entry></log>",
         "level: error\n\nnote: Stop (at: 9:00)\n\nThe pump stopped."),
        ("<visit xmlns='urn:x' due='May'><p>The valve of boiler two leaks.</p></visit>",
         "The valve of boiler two leaks."),
        ("<!DOCTYPE plist><plist version='1.0'><dict><key>On</key><true/><key>Max</key><real>4</real></dict></plist>",
         "key: On\ntrue: true\nkey: Max\nreal: 4"),
        ("<if><true><cost>5</cost></true></if>", "cost: 5"),
        ("<rss version='2.0'><item><guid isPermaLink='false'>g</guid></item></rss>", "guid: g"),
    ],
)  # fmt: skip
def test_attributes_of_data_but_not_of_prose_are_text(parser: Parser, tmp_path: Path, source: str, text: str) -> None:
    assert read(parser, tmp_path / "a.xml", f"<?xml version='1.0'?>{source}").text == text


PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PATH = "docs/reference/2024/Annual-Report-Final-Version/Section12/Part3/more"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (f"<a><b c='d'>{'QXR0YWNoZWQ1' * 60}</b><e>Paid on 5 May.</e></a>", "b: [...] (c: d)\ne: Paid on 5 May."),
        ("<a><file encoding='base64'>QUJD</file><p>At 3 bar.</p></a>", "file: [...]\n\nAt 3 bar."),
        (f"<a><photo>{PICTURE}</photo><name>Anna</name></a>", "photo: [...]\nname: Anna"),
        (f"<a><n pic='data:image/png;base64,{PICTURE}' no='7'/></a>", "n.pic: [...]\nn.no: 7"),
        (f"<a><desc>&lt;img src='data:image/png;base64,{PICTURE}'> 9 m deep</desc></a>", "9 m deep"),
    ],
)
def test_encoded_files_are_left_out(parser: Parser, tmp_path: Path, source: str, text: str) -> None:
    document = read(parser, tmp_path / "a.xml", f"<?xml version='1.0'?>{source}")
    assert document.text == text
    assert ["base64" in each for each in document.warnings] == ([True] if "[...]" in text else [])


def test_a_long_path_is_no_encoded_file(parser: Parser, tmp_path: Path) -> None:
    document = read(parser, tmp_path / "a.xml", f"<?xml version='1.0'?><a><file>{PATH}</file><c>x</c></a>")
    assert document.text == f"file: {PATH}\nc: x"


def test_a_mind_map_has_its_notes_fields_and_links(parser: Parser, tmp_path: Path) -> None:
    source = """<map version="1"><node TEXT="Plan" ID="ID_1"><richcontent TYPE="NOTE"><html><body><p>At 3 bar</p></body>
    </html></richcontent><node ID="ID_2"><richcontent TYPE="NODE"><html><body><p>Rich <b>node</b></p></body></html>
    </richcontent><attribute NAME="Owner" VALUE="Berg"/><node TEXT="Form" LINK="https://x.org/a"/></node></node></map>"""
    text = read(parser, tmp_path / "a.mm", source).text
    assert text == "- Plan\n  At 3 bar\n  - Rich node\n    Owner: Berg\n    - Form (https://x.org/a)"


def test_an_outline_has_its_head_and_fields(parser: Parser, tmp_path: Path) -> None:
    source = """<opml version="1.0"><head><title>Works</title><ownerName>Berg</ownerName><windowTop>61</windowTop>
    </head><body>
    <outline text="A &amp; B"><outline text="Drain" status="done" due="2024-05-01"/></outline></body></opml>"""
    document = read(parser, tmp_path / "a.opml", source)
    assert document.text == "Works\n\nownername: Berg\n\n- A & B\n  - Drain\n    status: done\n    due: 2024-05-01"
    assert document.title == "Works"


def test_a_compressed_diagram_is_read_and_a_damaged_page_is_named(parser: Parser, tmp_path: Path) -> None:
    page = (
        "<mxGraphModel><root><mxCell value='Stop at&lt;br&gt;3 bar'/>"
        "<UserObject label='Pump' owner='Berg' id='9'><mxCell/></UserObject></root></mxGraphModel>"
    )
    packer = zlib.compressobj(wbits=-15)
    packed = base64.b64encode(packer.compress(quote(page).encode()) + packer.flush()).decode()
    source = f"<mxfile><diagram name='One'>{packed}</diagram><diagram name='Two'>bad!</diagram></mxfile>"
    document = read(parser, tmp_path / "a.drawio", source)
    assert document.text == "One\n\nStop at\n3 bar\n\nPump\nowner: Berg\n\nTwo"
    assert "The page 'Two' of the diagram is damaged" in document.warnings[0]


def test_xml_without_text_is_read_as_text(parser: Parser, tmp_path: Path) -> None:
    document = read(parser, tmp_path / "a.xml", "<?xml version='1.0'?><empty/>")
    assert document.text == "<?xml version='1.0'?><empty/>"
    assert "finds no text" in document.warnings[0]


# Evernote

NOTES = """<?xml version="1.0"?><en-export><note><title>../a/b: Visit</title><created>20240305T090000Z</created>
<tag>boiler</tag><content><![CDATA[<en-note><en-todo/>open<p>secret <en-crypt hint="x">AAAA</en-crypt></p></en-note>]]>
</content><task><title>Order seals</title><taskStatus>completed</taskStatus></task><task><title>Call Tom</title></task>
<note-attributes><author>Anna</author></note-attributes>
<resource><data encoding="base64">QUJD\n</data><mime>image/png</mime></resource>
<resource><data encoding="base64">QUJE</data><mime>image/png</mime></resource></note></en-export>"""


def members(path: Path, folder: Path) -> list[tuple[str, bytes | str]]:
    found = expand(path, ContainerLimits(), folder)
    return [(member.name, member.path.read_bytes() if member.path else member.reason) for member in found]


def test_notes_have_headings_fields_and_pages(parser: Parser) -> None:
    document = parser.parse(CASES / "50-enex-base64" / "k15_notes.enex")
    assert document.text == (
        "Boiler visit\n\ncreated: 2024-03-05 09:00 UTC\ntag: boiler\n\nPressure was 2.8 bar.\n\n[x] oil checked\n\n"
        "| Part | Qty |\n| --- | --- |\n| Seal | 4 |\n\nSecond note\n\nThe key is under mat 6."
    )
    assert document.warnings == ()


def test_encrypted_passages_of_notes_are_named(parser: Parser, tmp_path: Path) -> None:
    document = read(parser, tmp_path / "a.enex", NOTES)
    assert document.text == (
        "../a/b: Visit\n\ncreated: 2024-03-05 09:00 UTC\ntag: boiler\nauthor: Anna\n\n[x] Order seals\n\n"
        "[ ] Call Tom\n\n[ ] open\n\nsecret"
    )
    assert document.warnings == ("1 encrypted passages of the note '../a/b: Visit' were not read.",)


def test_files_attached_to_notes_are_documents_of_their_own(tmp_path: Path) -> None:
    case = CASES / "50-enex-base64" / "k15_notes.enex"
    assert members(case, tmp_path) == [("Boiler visit/log.txt", b"Attached log: alarm 17")]
    (tmp_path / "a.enex").write_text(NOTES)
    assert members(tmp_path / "a.enex", tmp_path) == [
        ("__a_b: Visit/attachment.png", b"ABC"),
        ("__a_b: Visit/attachment 2.png", b"ABD"),
    ]


def test_a_damaged_export_is_read_without_encoded_files(parser: Parser, tmp_path: Path) -> None:
    path = tmp_path / "a.enex"
    document = read(parser, path, NOTES.replace("</note></en-export>", ""))
    assert "QUJD" not in document.text
    assert "not well-formed" in document.warnings[0]
    assert "damaged" in str(members(path, tmp_path)[-1][1])
