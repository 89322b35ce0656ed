"""XML documents are read as XML, whatever MIME type their name suggests."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.parser import load_parser

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
FILES = {
    "news.rss": (
        "<rss version='2.0'><channel><title>Harbour news</title><item><title>Tide</title>"
        "<description>&lt;p&gt;High at &lt;b&gt;noon&lt;/b&gt;.&lt;/p&gt;</description></item></channel></rss>",
        "Harbour news\n\nTide\n\nHigh at noon.",
    ),
    "news.atom": (
        "<feed xmlns='http://www.w3.org/2005/Atom'><title>Harbour news</title><entry><title>Tide</title>"
        "<content type='html'><![CDATA[<p>High at noon.</p>]]></content></entry></feed>",
        "Harbour news\n\nTide\n\nHigh at noon.",
    ),
    "places.kml": (
        "<kml xmlns='http://www.opengis.net/kml/2.2'><Placemark><name>Pier 4</name>"
        "<description>Fuel</description></Placemark></kml>",
        "name: Pier 4\ndescription: Fuel",
    ),
    "tour.gpx": (
        "<gpx><wpt lat='1' lon='2'><name>Pier 4</name></wpt></gpx>",
        "wpt.lat: 1\nwpt.lon: 2\nwpt.name: Pier 4",
    ),
    "plan.svg": (
        "<svg xmlns='http://www.w3.org/2000/svg'><title>Plan</title><style>a{}</style><text>Pier 4</text></svg>",
        "Plan\n\ntext: Pier 4",
    ),
    "page.xhtml": (
        "<html xmlns='http://www.w3.org/1999/xhtml'><head><title>T</title></head><body><p>Pier 4</p></body></html>",
        "Pier 4",
    ),
    "terms.rdf": ("<rdf:RDF xmlns:rdf='u'><rdf:label>Pier 4</rdf:label></rdf:RDF>", "label: Pier 4"),
    "words.xlf": ("<xliff><unit><source>Pier</source><target>Kai</target></unit></xliff>", "source: Pier\ntarget: Kai"),
    "edition.tei": ("<TEI><text><p>At the pier.</p></text></TEI>", "At the pier."),
    "song.musicxml": ("<score><work-title>Pier 4</work-title></score>", "work-title: Pier 4"),
    "sum.mml": ("<math><mi>x</mi></math>", "x"),
    "model.dae": ("<COLLADA><author>Ada</author></COLLADA>", "author: Ada"),
    "data.unknown": ("<data><pier>4</pier></data>", "pier: 4"),
    "data": ("<data><pier>4</pier></data>", "pier: 4"),
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("name", FILES)
def test_xml_is_read_as_xml(tmp_path: Path, name: str, encoding: str) -> None:
    source, text = FILES[name]
    path = tmp_path / name
    path.write_bytes((_HEAD.replace("UTF-8", encoding.upper()) + source).encode(encoding))
    document = load_parser("default").parse(path)
    assert (document.text, document.warnings) == (text, ())


def test_xml_without_a_declaration_is_read_as_xml(tmp_path: Path) -> None:
    path = tmp_path / "places.kml"
    path.write_text("<!-- exported -->\n<kml><name>Pier 4</name></kml>")
    assert load_parser("default").parse(path).text == "name: Pier 4"


def test_entities_of_other_types_are_not_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("the secret")
    path = tmp_path / "places.kml"
    path.write_text(
        f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file://{tmp_path}/secret.txt">]><kml><p>x: &x;</p></kml>'
    )
    assert "the secret" not in load_parser("default").parse(path).text


def test_a_workbook_of_excel_2003_is_a_table(tmp_path: Path) -> None:
    source = """<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?>
    <Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"
      xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet"><Worksheet ss:Name="Prices"><Table>
      <Row><Cell ss:MergeAcross="1"><Data ss:Type="String">Pump</Data></Cell><Cell><Data>EUR</Data></Cell></Row>
      <Row><Cell><Data>Borea</Data></Cell><Cell ss:Index="3"><Data ss:Type="Number">9900</Data></Cell></Row>
    </Table></Worksheet></Workbook>"""
    (tmp_path / "a.xls").write_text(source)
    text = load_parser("default").parse(tmp_path / "a.xls").text
    assert text == "Prices\n\n| Pump | Pump | EUR |\n| --- | --- | --- |\n| Borea |  | 9900 |"


def test_styles_of_excel_2003_inherit_from_styles_that_follow(tmp_path: Path) -> None:
    styles = """<Style ss:ID="c" ss:Parent="b"/><Style ss:ID="b" ss:Parent="a"/><Style ss:ID="x" ss:Parent="x"/>
      <Style ss:ID="a" ss:Parent="c"><NumberFormat ss:Format="0%"/></Style>"""
    (tmp_path / "a.xls").write_text(
        f"""<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?>
        <Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"
        xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet"><Styles>{styles}</Styles>
        <Worksheet ss:Name="A"><Table><Row><Cell ss:StyleID="c"><Data ss:Type="Number">0.25</Data></Cell></Row>
        </Table></Worksheet></Workbook>"""
    )
    assert "| 25% |" in load_parser("default").parse(tmp_path / "a.xls").text
