"""Subtitles are read as sentences with times, and lists of references with all their fields."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ingest.parser import Parser, load_parser

CASES = Path(__file__).parents[1] / "cases"


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("57-subtitles/s1.srt", "(00:00:01) The agreed price of the pump is 900 euros and fifty cents."),
        ("57-subtitles/k09_talk.vtt", "(00:00:01) Anna Berg: The budget is 4.2 million.\n"
         "(00:00:04) Tom Falk: I disagree & object.\n(00:01:00) auto caption"),
        ("57-subtitles/k10_auto.vtt", "(00:00:00) the price of the pump is 900 euros and fifty"),
        ("49-ris-nbib/k14_refs.ris", "Boiling at 3 bar\n\nType: JOUR\nAuthor: Doe, Jane\nAuthor: Falk, Tom\n"
         "Year: 2020\nAbstract: We find 134 degrees.\n\nValves\n\nType: BOOK"),
        ("49-ris-nbib/ris1.ris", "Cooling report\n\nType: RPRT\nAuthor: Berg, Anna\nYear: 2024\n"
         "Abstract: The limit is 44 bar.\nDOI: 10.1000/77\nNote: Note: see annex"),
        ("49-ris-nbib/ris2.nbib", "Cooling at 44 bar\n\nPMID: 123\nAuthor: Berg A\nDate: 2024\n"
         "Abstract: The limit is 44 bar."),
    ],
)  # fmt: skip
def test_all_content_is_read(parser: Parser, file: str, text: str) -> None:
    document = parser.parse(CASES / file)
    assert (document.text, document.warnings) == (text, ())


@pytest.mark.parametrize(
    ("name", "source", "text"),
    [
        ("a.vtt", "WEBVTT - talk\n\n00:01.000 --> 00:04.000\n<v Anna Berg>The price is\n\n00:04.000 --> 00:06.000\n"
         "<v Anna Berg>900 &lt; <i>1000</i> euros.\n\n00:06.000 --> 00:08.000\n<v.loud Tom>Fine\n",
         "(00:01) Anna Berg: The price is 900 < 1000 euros.\n(00:06) Tom: Fine"),
        ("a.srt", "1\r\n00:00:01,000 --> 00:00:03,500\r\n{\\an8}<font color=red>One</font>\r\n\r\ntwo.\r\n2\r\n"
         "00:00:04,000 --> 00:00:05,000\r\n42\r\n", "(00:00:01) One two.\n(00:00:04) 42"),
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\nNo.\n\n2\n00:00:02,000 --> 00:00:03,000\nNo.\n",
         "(00:00:01) No.\n(00:00:02) No."),
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\nDr.\n\n2\n00:00:02,000 --> 00:00:03,000\nvan Berg pays.\n",
         "(00:00:01) Dr. van Berg pays."),
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\nI met Mr.\n\n"
         "2\n00:00:02,000 --> 00:00:03,000\nBerg. He pays z.B.\n\n"
         "3\n00:00:03,000 --> 00:00:04,000\n500 Euro.\n\n4\n00:01:04,000 --> 00:01:05,000\nNext.\n",
         "(00:00:01) I met Mr. Berg. He pays z.B. 500 Euro.\n(00:01:04) Next."),
        ("a.sub", "{1}{1}25.000\n{25}{50}The rent|is\n{51}{75}{y:i}900 euros.\n{250}{300}Second.\n",
         "(00:00:01) The rent is 900 euros.\n(00:00:10) Second."),
        ("a.ttml", '<tt xmlns="http://www.w3.org/ns/ttml"><body><div><p begin="00:00:01.000">The price<br/>is</p>'
         '<p begin="00:00:02.5"><span>900 euros.</span></p>'
         '<p><span begin="9s">Fine.</span></p><p>End.</p></div></body></tt>',
         "(00:00:01) The price is 900 euros.\n(00:00:09) Fine.\n(00:00:09) End."),
        ("a.dfxp", '<tt xmlns="http://www.w3.org/ns/ttml" xmlns:t="http://www.w3.org/ns/ttml#parameter" '
         't:tickRate="10000000"><body><p begin="125000000t">Late.</p></body></tt>', "(00:00:12) Late."),
        ("a.sub", "{1}{1}25.000\n{2500000}{2500050}Late.\n{2500100}{2500150}Later.\n",
         "(27:46:40) Late.\n(27:46:44) Later."),
        ("a.sub", "{1}{1}25.000\n{2500000}{2500050}No. 5 is Dr.\n{2500100}{2500150}late.\n",
         "(27:46:40) No. 5 is Dr. late."),
        ("a.bib", r"@book{k, author={Mar{\'\i}a and Garc\'{\i}a}, title={A \emph{new} valve, 10\textsuperscript{6} t, "
         r"5\,kg}, "
         r"note={``the'' \href{https://x.org/a}{page}, {\em soon}}}",
         "@book{k,\n  author = {María and García},\n  note = {“the” page (https://x.org/a), soon},\n"
         "  title = {A new valve, 10^6 t, 5 kg},\n}"),
        ("a.sbv", "0:00:00.599,0:00:04.160\nHi all,\nwelcome.\n\n0:00:05.160,0:00:06.770\nNext.\n",
         "(0:00:00) Hi all, welcome.\n(0:00:05) Next."),
        ("a.sbv", "0:00:00.599,0:00:04.160\nThe rent[br]is due.\n", "(0:00:00) The rent is due."),
        ("a.ass", "Dialogue: 0,0:00:01.00,0:00:03.00,Default,,0,0,0,,{\\an7\\p1}m 0 0 l 9 0{\\p0}\n"
         "Dialogue: 0,0:00:04.00,0:00:05.00,Default,,0,0,0,,{\\fsp2\\pos(1,2)}Said.\n", "(0:00:04) Said."),
        ("b.sbv", "0:00:00.599,0:00:04.160\nSee {disk \\p1} there.\n", "(0:00:00) See {disk \\p1} there."),
        ("a.vtt", "WEBVTT\n\n00:00:00.000 --> 00:00:02.000\n \nthe<00:00:00.500><c> price</c>\n\n"
         "00:00:02.000 --> 00:00:02.010\nthe price\n \n\n00:00:02.010 --> 00:00:04.000\nthe price\nof<c> pumps</c>\n",
         "(00:00:00) the price of pumps"),
        ("a.srt", "No times at all.\n", "No times at all."),
        ("a.nbib", "\nPMID- 1\nOWN - NLM\nTI  - Cooling at 44 bar and\n      more.\nAB  - X - y.\n      CO2 - the gas."
         "\nFAU - Berg, Anna\n\nPMID- 2\nTI  - Two\n",
         "Cooling at 44 bar and more.\n\nPMID: 1\nOWN: NLM\nAbstract: X - y. CO2 - the gas.\nAuthor: Berg, Anna"
         "\n\nTwo\n\nPMID: 2"),
        ("a.ris", "\ufeffTY  - JOUR\r\nT1  - One\r\nUR  - https://x.org/a-b\r\nC1  - own\r\nER  - \r\n",
         "One\n\nType: JOUR\nAddress: https://x.org/a-b\nC1: own"),
    ],
)  # fmt: skip
def test_variants_are_read(parser: Parser, tmp_path: Path, name: str, source: str, text: str) -> None:
    (tmp_path / name).write_text(source, encoding="utf-8", newline="")
    assert parser.parse(tmp_path / name).text == text


def test_cues_without_a_frame_rate_have_guessed_times(parser: Parser, tmp_path: Path) -> None:
    (tmp_path / "a.sub").write_text("{24}{50}Hall 3.\n")
    document = parser.parse(tmp_path / "a.sub")
    assert document.text == "(00:00:01) Hall 3."
    assert "does not name its frame rate" in document.warnings[0]
    source = '<tt xmlns="http://www.w3.org/ns/ttml" xmlns:t="http://www.w3.org/ns/ttml#parameter" t:frameRate="25fps">'
    (tmp_path / "a.dfxp").write_text(f'{source}<body><p begin="90f">Odd rate.</p></body></tt>')
    document = parser.parse(tmp_path / "a.dfxp")
    assert document.text == "(00:00:03) Odd rate."
    assert document.warnings == ("The frameRate '25fps' is not a number. Times were read with 30 per second.",)


def test_a_file_without_references_is_read_as_text(parser: Parser, tmp_path: Path) -> None:
    (tmp_path / "a.ris").write_text("Just text.\n\nMore.")
    document = parser.parse(tmp_path / "a.ris")
    assert (document.text, document.warnings) == (
        "Just text.\n\nMore.",
        ("The file has no reference in this format. It was read as text.",),
    )


def test_captions_without_sentences_are_cut(parser: Parser, tmp_path: Path) -> None:
    cues = [f"00:{minute:02}:00,000 --> 00:{minute:02}:09,000\n{'word ' * 20}{minute}\n" for minute in range(30)]
    (tmp_path / "a.srt").write_text("\n".join(cues))
    lines = parser.parse(tmp_path / "a.srt").text.split("\n")
    assert [line[:10] for line in lines[:2]] == ["(00:00:00)", "(00:05:00)"]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.srt", "00:00:01,000 --> 00:00:02,000\n" + "<v a" * 100_000),
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\nthe price\nword\n\n" * 30_000),
        ("a.vtt", " \n" * 100_000 + "x"),
        ("a.smi", "<SYNC " * 100_000 + "<SYNC Start=1>" + "<P " * 100_000 + "x"),
        ("a.ris", "TY  - JOUR\nAB  - x\n" + "y\n" * 300_000),
        ("a.vcf", "BEGIN:VCARD\nVERSION:2.1\nN:Berg;Anna\nEND:VCARD\n" * 60_000),
    ],
)
def test_reading_takes_linear_time(parser: Parser, tmp_path: Path, name: str, source: str) -> None:
    (tmp_path / name).write_text(source)
    started = time.process_time()
    assert parser.parse(tmp_path / name).text
    assert time.process_time() - started < 10


def test_subtitles_with_styles_are_read(parser: Parser, tmp_path: Path) -> None:
    head = "[Script Info]\nTitle: X\n\n[Events]\nFormat: Layer, Start, End, Style, Name, MarginL, Text"
    lines = [
        "Dialogue: 0,0:00:01.00,0:00:03.50,Default,Anna,0,0,0,,{\\i1}The price, of the pump\\Nis",
        "Dialogue: 0,0:00:03.60,0:00:06.00,Default,Anna,0,0,0,,900 euros.",
        "Comment: 0,0:00:03.60,0:00:06.00,Default,,0,0,0,,hidden",
        "Dialogue: 0,0:00:07.00,0:00:09.00,Default,,0,0,0,,Sold.",
        "Comment: 0,0:00:09.60,0:00:10.00,Default,,0,0,0,,hidden too",
    ]
    (tmp_path / "a.ass").write_text("\n".join([head, *lines]))
    text = parser.parse(tmp_path / "a.ass").text
    assert text == "(0:00:01) Anna: The price, of the pump is 900 euros.\n(0:00:07) Sold."


@pytest.mark.parametrize("name", ["a.smi", "a.sami"])
def test_subtitles_of_sami_are_read_by_language(parser: Parser, tmp_path: Path, name: str) -> None:
    head = (
        '<SAMI><HEAD><TITLE>T</TITLE><STYLE TYPE="text/css"><!-- P { margin: 8pt } .ENCC {Name: E;} --></STYLE></HEAD>'
    )
    cues = [
        "<BODY><SYNC Start=1000><P Class=ENCC>The price of the pump is<P Class=DECC>Der Preis ist",
        '<SYNC Start="3600"><P Class=ENCC>900 euros<br>&amp; fifty cents.<P Class=DECC>900 Euro.',
        "<SYNC Start=6000><P Class=ENCC>&nbsp;",
        "<SYNC Start=65000><P Class=ENCC><i>Sold.</i>\n</BODY></SAMI>",
    ]
    (tmp_path / name).write_text("\n".join([head, *cues]))
    document = parser.parse(tmp_path / name)
    assert document.warnings == ()
    assert document.text == (
        "(00:00:01) The price of the pump is 900 euros & fifty cents.\n(00:01:05) Sold.\n\n"
        "(00:00:01) Der Preis ist 900 Euro."
    )
