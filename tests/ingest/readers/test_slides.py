"""The text of PowerPoint files: shapes, notes, charts, footers, layouts and masters."""

from __future__ import annotations

from pathlib import Path

import pytest
from pptx import Presentation
from pptx.chart.data import BubbleChartData, CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE

from ingest.document import ParsedDocument
from ingest.parser import Parser, load_parser
from support.office import SLIDE, write_office


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


def blocks(document: ParsedDocument) -> list[tuple[str, str]]:
    return [(block.kind.value, document.text[block.start : block.end]) for block in document.blocks]


def _shape(text: str, placeholder: str = "") -> str:
    paragraphs = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in text.split("|"))
    return f"<p:sp><p:nvSpPr><p:nvPr>{placeholder}</p:nvPr></p:nvSpPr><p:txBody>{paragraphs}</p:txBody></p:sp>"


def _slides(path: Path, slides: list[str], related: dict[str, tuple[str, str]], parts: dict[str, str]) -> Path:
    listed = "".join(f'<p:sldId id="{256 + n}" r:id="s{n}"/>' for n in range(len(slides)))
    files = {"ppt/presentation.xml": f"<p:presentation {SLIDE}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>"}
    files |= {
        f"ppt/slides/slide{n}.xml": f"<p:sld {SLIDE}><p:cSld><p:spTree>{slide}</p:spTree></p:cSld></p:sld>"
        for n, slide in enumerate(slides)
    }
    relations = {
        "ppt/presentation.xml": {f"s{n}": ("slide", f"ppt/slides/slide{n}.xml") for n in range(len(slides))},
        "ppt/slides/slide0.xml": related,
    }
    return write_office(path, "ppt/presentation.xml", {**files, **parts}, relations)


def test_slides_are_pages_with_title_first_and_notes_last(parser: Parser, tmp_path: Path) -> None:
    notes = f"<p:notes {SLIDE}><p:cSld><p:spTree>{_shape('Speak slowly.')}</p:spTree></p:cSld></p:notes>"
    first = (
        _shape("Costs fell|Sales rose", '<p:ph idx="1"/>')
        + _shape("Results", '<p:ph type="title"/>')
        + "<p:pic><p:nvPicPr><p:cNvPr descr='Two pumps'/></p:nvPicPr></p:pic>"
        + _shape("12", '<p:ph type="sldNum"/>')
    )
    path = _slides(
        tmp_path / "a.pptx",
        [first, _shape("Outlook", '<p:ph type="ctrTitle"/>')],
        {"n": ("notesSlide", "ppt/notes.xml")},
        {"ppt/notes.xml": notes},
    )
    document = parser.parse(path)
    assert blocks(document) == [
        ("heading", "Results"),
        ("list", "- Costs fell\n- Sales rose"),
        ("prose", "Two pumps"),
        ("prose", "Notes: Speak slowly."),
        ("heading", "Outlook"),
    ]
    assert [document.text[page.start : page.end].split()[0] for page in document.pages] == ["Results", "Outlook"]


def _shared_part(kind: str, shapes: str, attributes: str = "") -> str:
    return f"<p:{kind} {SLIDE} {attributes}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:{kind}>"


def _with_layout(path: Path, slide: str, layout: str = "") -> Path:
    """Write three slides of one layout and one master."""
    master = _shape("Pier Estates") + _shape("Click to edit Master title", '<p:ph type="title"/>')
    prompt = _shape("Click to add text", '<p:ph idx="1"/>')
    parts = {
        "ppt/layout.xml": _shared_part("sldLayout", _shape("Confidential") + prompt, layout),
        "ppt/master.xml": _shared_part("sldMaster", master + _shape("Confidential")),
    }
    names = [f"ppt/slides/slide{n}.xml" for n in range(3)]
    files = {name: _shared_part("sld", _shape(f"Text {n}") + _FOOTER, slide) for n, name in enumerate(names)}
    listed = "".join(f'<p:sldId id="{256 + n}" r:id="s{n}"/>' for n in range(3))
    main = f"<p:presentation {SLIDE}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>"
    relations = {
        "ppt/presentation.xml": {f"s{n}": ("slide", name) for n, name in enumerate(names)},
        "ppt/layout.xml": {"m": ("slideMaster", "ppt/master.xml")},
        **{name: {"l": ("slideLayout", "ppt/layout.xml")} for name in names},
    }
    return write_office(path, "ppt/presentation.xml", {"ppt/presentation.xml": main, **files, **parts}, relations)


_FOOTER = (
    _shape("Board, May 2024", '<p:ph type="ftr"/>')
    + '<p:sp><p:nvSpPr><p:nvPr><p:ph type="dt"/></p:nvPr></p:nvSpPr><p:txBody><a:p>'
    '<a:fld type="datetime1"><a:t>5/1/2024</a:t></a:fld></a:p></p:txBody></p:sp>'
)


@pytest.mark.parametrize(
    ("slide", "layout", "shared"),
    [
        ("", "", ["Slide master: Confidential", "Slide master: Pier Estates"]),
        ("", 'showMasterSp="0"', ["Slide master: Confidential"]),
        ('showMasterSp="0"', "", []),
    ],
)
def test_text_of_footers_layouts_and_masters_is_read_once(
    parser: Parser, tmp_path: Path, slide: str, layout: str, shared: list[str]
) -> None:
    document = parser.parse(_with_layout(tmp_path / "a.pptx", slide, layout))
    expected = ["Text 0", "Footer: Board, May 2024", *shared, "Text 1", "Text 2"]
    assert document.text.split("\n\n") == expected
    assert [page.number for page in document.pages] == [1, 2, 3]
    assert "Board, May 2024" in document.text[document.pages[0].start : document.pages[0].end]


def test_a_chart_on_a_slide_is_the_table_of_its_data(parser: Parser, tmp_path: Path) -> None:
    def points(role: str, *values: str) -> str:
        written = "".join(f"<c:pt idx='{n}'><c:v>{value}</c:v></c:pt>" for n, value in enumerate(values))
        return f"<c:{role}>{written}</c:{role}>"

    series = points("tx", "Ducks") + points("cat", "2023", "2024") + points("val", "12", "15")
    chart = (
        f"<c:chartSpace {SLIDE}><c:chart><c:title><a:t>Counted</a:t></c:title>"
        f"<c:plotArea><c:barChart><c:ser>{series}</c:ser></c:barChart></c:plotArea></c:chart></c:chartSpace>"
    )
    frame = '<p:graphicFrame><a:graphic><c:chart r:id="c1"/></a:graphic></p:graphicFrame>'
    path = _slides(tmp_path / "a.pptx", [frame], {"c1": ("chart", "ppt/chart1.xml")}, {"ppt/chart1.xml": chart})
    assert blocks(parser.parse(path)) == [
        ("prose", "Bar chart: Counted"),
        ("table", "|  | Ducks |\n| --- | --- |\n| 2023 | 12 |\n| 2024 | 15 |"),
    ]


def test_formulas_keep_their_form_and_hidden_shapes_are_left_out(parser: Parser, tmp_path: Path) -> None:
    formula = (
        "<m:oMath><m:sSup><m:e><m:r><m:t>10</m:t></m:r></m:e><m:sup><m:r><m:t>6</m:t></m:r></m:sup></m:sSup></m:oMath>"
    )
    space = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    body = f"<p:txBody><a:p {space}><a:r><a:t>Load </a:t></a:r>{formula}</a:p></p:txBody>"
    shapes = "".join(f"<p:sp><p:nvSpPr><p:cNvPr {hidden}/></p:nvSpPr>{body}</p:sp>" for hidden in ("", 'hidden="1"'))
    assert parser.parse(_slides(tmp_path / "a.pptx", [shapes], {}, {})).text == "Load $10^{6}$"


def _bubbles() -> BubbleChartData:
    data = BubbleChartData()
    for name, points in (("A", [(1, 2, 30), (3, 4, 40)]), ("B", [(9, 8, 50)])):
        series = data.add_series(name)
        for point in points:
            series.add_data_point(*point)
    return data


def test_a_chart_of_points_keeps_the_places_and_sizes_of_each_series(parser: Parser, tmp_path: Path) -> None:
    slides = Presentation()
    shapes = slides.slides.add_slide(slides.slide_layouts[6]).shapes
    chart = shapes.add_chart(XL_CHART_TYPE.BUBBLE, 0, 0, 9, 9, _bubbles()).chart
    chart.value_axis.axis_title.text_frame.text = "in thousands"
    slides.save(str(tmp_path / "a.pptx"))
    assert parser.parse(tmp_path / "a.pptx").text == (
        "Bubble chart: (axes: in thousands)\n\n|  | A | B |\n| --- | --- | --- |\n"
        "| 1 | 2 (size 30) |  |\n| 9 |  | 8 (size 50) |\n| 3 | 4 (size 40) |  |"
    )


def test_a_chart_without_stored_labels_is_a_warning(parser: Parser, tmp_path: Path) -> None:
    data = CategoryChartData()
    data.categories = ["East", "West"]
    data.add_series("Share", [11, 22])
    slides = Presentation()
    shapes = slides.slides.add_slide(slides.slide_layouts[6]).shapes
    space = shapes.add_chart(XL_CHART_TYPE.PIE, 0, 0, 9, 9, data).chart._chartSpace
    for cache in space.xpath("//c:strCache"):
        cache.getparent().remove(cache)
    slides.save(str(tmp_path / "a.pptx"))
    document = parser.parse(tmp_path / "a.pptx")
    assert document.text.endswith("|  | Series 1 |\n| --- | --- |\n|  | 11 |\n|  | 22 |")
    assert document.warnings[0].startswith("A chart does not store all of its values and labels.")


def test_links_of_shapes_and_cells_have_their_addresses(parser: Parser, tmp_path: Path) -> None:
    slides = Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[6])
    box = slide.shapes.add_textbox(0, 0, 9, 9)
    box.text_frame.text = "Incident form"
    box.click_action.hyperlink.address = "https://example.org/form"
    run = slide.shapes.add_table(1, 1, 0, 99, 9, 9).table.cell(0, 0).text_frame.paragraphs[0].add_run()
    run.text, run.hyperlink.address = "manual", "https://example.org/m.pdf"
    slides.save(str(tmp_path / "a.pptx"))
    text = parser.parse(tmp_path / "a.pptx").text
    assert text.startswith("Incident form\n\n(https://example.org/form)\n\n")
    assert "| manual (https://example.org/m.pdf) |" in text
