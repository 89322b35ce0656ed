"""LaTeX, reStructuredText, Org, MediaWiki, Typst, RTF and AsciiDoc: their text, and warnings of what is not in it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ingest.document import ParsedDocument
from ingest.parser import Parser, load_parser

CASES = Path(__file__).parents[1] / "cases"


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


def read(parser: Parser, path: Path, source: str) -> ParsedDocument:
    path.write_text(source, encoding="utf-8")
    return parser.parse(path)


FILES = [
    (
        "44-tex/k03_main.tex",
        ["Study of pumps\n\nA. Author\n\nResult", "Halvorsen Ltd delivers 12 kg at x^2 = 5 for 30 % and 10^6 units",
         "[doe2020], see [tab:a]", "Prices\n\n| Part | 2024 | 2025 |", "| Bolt | 1.50 | 1.60 |\n| Sum | Sum | 9 |",
         "[1] Footnote text 77.", "Müller, Élan, naïve, ß, ø, “quoted” – dash.", "a < b & c"],
    ),
    ("44-tex/k03_part1.tex", ["Part one\n\nThe first part says the limit is 44 bar."]),
    ("44-tex/t2_plain.tex", ["The report says that the tariff is 0.31 EUR.\n\nIt holds until March 2027."]),
    (
        "44-tex/t3_macros.tex",
        ["Halvorsen Ltd in Norvik sells 12 kg. The price is 45 €. Mass: 12 kg, 3 bar, 12345.6.",
         "Straße, Müller, Öl, ça, Škoda, øre, å, Łódź, naïve."],
    ),
    (
        "44-tex/t4_table.tex",
        ["Prices\n\n| Part | 2024 | 2025 |", "| Nut | 0.80 | 0.90 |",
         "| Name | Role |\n| --- | --- |\n| Anna | Chair |",
         "1. Drain the tank.\n2. Close K9.", "E = mc^2"],
    ),
    ("44-tex/q1.tex", ["First line on the begin line. Second line.\n\nThird para."]),
    ("44-tex/q3.tex", ["| Part | Price |\n| --- | --- |\n| Bolt | 1.50 |\n\nAfter."]),
    (
        "45-rst-directives/r1_notes.rst",
        ["Warning\n\nNever exceed 3 bar.", "limit = 3", "Term: Definition: closed valve.", "Author: Anna Berg",
         "Text with code and link and Site (https://example.org).", "- first\n- second", "1. one\n2. two"],
    ),
    (
        "45-rst-directives/r2_tables.rst",
        ["| Part | Price |\n| --- | --- |\n| Seal | 4.50 |", "Stock\n\n| Part | Qty |", "| Bolt | 120 |\n| Nut | 80 |",
         "| A | B |\n| --- | --- |\n| 1 | 2 |", "Caption of the figure: pump P7.\n\nEnd."],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("file", "passages"), FILES, ids=[file for file, _ in FILES])
def test_the_text_says_what_the_file_says(parser: Parser, file: str, passages: list[str]) -> None:
    text = parser.parse(CASES / file).text
    assert [each for each in passages if each not in text] == []


def test_files_that_a_document_includes_are_named(parser: Parser) -> None:
    document = parser.parse(CASES / "44-tex/k03_main.tex")
    assert document.warnings == (
        "Files that it includes were not read: k03_part1.tex, sections/k03_part2.tex. Ingest them as well.",
    )
    assert (document.title, document.metadata["authors"]) == ("Study of pumps", "A. Author")


def tex(parser: Parser, path: Path, body: str, preamble: str = "") -> ParsedDocument:
    source = f"\\documentclass{{article}}\n{preamble}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
    return read(parser, path / "a.tex", source)


def test_tex_commands_of_other_files_keep_their_arguments(parser: Parser, tmp_path: Path) -> None:
    body = r"\noindent \ourfirm{} sells \product{Bolt \grade{A}} at \price{12}{EUR}, \foo[key]{x}. \vspace{1cm}"
    document = tex(parser, tmp_path, body)
    assert document.text == r"\ourfirm sells Bolt A at 12 EUR, x."
    assert document.warnings == (
        r"Commands that this file does not define were written with their arguments: \foo, \grade, \ourfirm, \price, "
        r"\product.",
    )


@pytest.mark.parametrize(
    ("columns", "row"),
    [
        ("{lS[table-format=3.2]r}", "A & B & C"),
        ("{@{}l*{2}{c}@{}}", "A & B & C"),
        (r"{>{\raggedright}p{3cm}YD{.}{.}{2}}", r"A & \makecell{B \\ x} & C"),
    ],
)
def test_tex_tables_have_columns_of_any_package(parser: Parser, tmp_path: Path, columns: str, row: str) -> None:
    body = (
        rf"\begin{{tabular}}{columns} {row} \\ \cmidrule(lr){{2-3}} 1 & \multicolumn{{2}}{{c}}{{2}} \\ \end{{tabular}}"
    )
    text = tex(parser, tmp_path, body).text.replace("B x", "B")
    assert text == "| A | B | C |\n| --- | --- | --- |\n| 1 | 2 | 2 |"


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (r"\ce{H2O}", "H_2O"),
        (r"$\ce{SO4^2-}$", "SO_4^(2-)"),
        (r"\ce{Na+}, \ce{OH-}", "Na^+, OH^-"),
        (r"\ce{CuSO4.5H2O}", "CuSO_4.5H_2O"),
        (r"\ce{CO2 + C <=> 2CO}", "CO_2 + C ⇌ 2CO"),
        (r"\ch{CH3-CH3}", "CH_3-CH_3"),
        (r"\ce{^{227}_{90}Th}", "^227_90Th"),
    ],
)
def test_tex_formulas_of_chemistry(parser: Parser, tmp_path: Path, formula: str, text: str) -> None:
    assert read(parser, tmp_path / "a.tex", rf"\begin{{document}}{formula}\end{{document}}").text == text


def test_tex_long_tables_have_one_head(parser: Parser, tmp_path: Path) -> None:
    body = r"""\begin{longtable}{lr}\caption{Parts}\\ Part & Price \\ \endfirsthead
    \multicolumn{2}{c}{continued}\\ Part & Price \\ \endhead \multicolumn{2}{r}{see next page}\\ \endfoot
    \endlastfoot 1 & 2 \\ \end{longtable}"""
    text = tex(parser, tmp_path, body).text
    assert text == "Parts\n\n| Part | Price |\n| --- | --- |\n| 1 | 2 |"


@pytest.mark.parametrize("content", [r"\includegraphics{a}", r"\input{rows}", "Text."])
def test_tex_tables_without_rows_keep_their_captions(parser: Parser, tmp_path: Path, content: str) -> None:
    body = rf"\begin{{table*}}\caption{{Results of 2024}}{content}\end{{table*}}"
    rows = r"\begin{table}\caption{Parts}\begin{tblr}{ll}A & B\\1 & 2\end{tblr}\end{table}"
    text = tex(parser, tmp_path, body + rows).text
    assert "Results of 2024" in text
    assert "Parts\n\n| A | B |\n| --- | --- |\n| 1 | 2 |" in text


def test_tex_letters_show_their_subject(parser: Parser, tmp_path: Path) -> None:
    body = r"\begin{letter}{Norvik}\opening{Hello,}Bye.\end{letter}"
    text = tex(parser, tmp_path, body, r"\setkomavar{subject}{End of lease 77}").text
    assert text.startswith("End of lease 77\n\nNorvik")


def test_tex_accents_of_dotless_letters_may_stand_in_groups(parser: Parser, tmp_path: Path) -> None:
    document = tex(parser, tmp_path, r"""Garc{\'\i}a, na{\"\i}ve, Mart\'{\i}nez, Lu\'\i s""")
    assert (document.text, document.warnings) == ("García, naïve, Martínez, Luís", ())


def test_tex_lists_keep_their_labels(parser: Parser, tmp_path: Path) -> None:
    body = (
        r"\begin{enumerate}[label=(\alph*), start=3]\item one\item[(x)] two\end{enumerate}"
        r"\begin{description}\item[Valve] closed\end{description}"
    )
    assert tex(parser, tmp_path, body).text == "c. one\nd. (x) two\n\nValve: closed"


def test_tex_slides_have_titles_and_formulas_have_numbers(parser: Parser, tmp_path: Path) -> None:
    body = (
        r"\begin{frame}{Costs}\begin{itemize}\item<1-> $1,000$ at $20^\circ$C \pause\end{itemize}\end{frame}"
        "\n\\input chapter1"
    )
    document = tex(parser, tmp_path, body)
    assert document.text == "Costs\n\n- 1,000 at 20°C"
    assert document.warnings == ("Files that it includes were not read: chapter1.tex. Ingest them as well.",)


def test_tex_says_what_it_does_not_read(parser: Parser, tmp_path: Path) -> None:
    drawing = tex(parser, tmp_path, r"Words. \begin{tikzpicture}\draw (0,0) node {P7};\end{tikzpicture}")
    assert (drawing.text, drawing.warnings) == ("Words.", ("Drawings in LaTeX were not read: tikzpicture.",))
    broken = tex(parser, tmp_path, r"The fee is 5 EUR. \begin{itemize}")
    assert "The fee is 5 EUR." in broken.text
    assert "It was read as plain text." in broken.warnings[0]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r"\noindent 2024 was {\em good}. \noindent {\bf Rent} is\quad 5 EUR.", "2024 was good. Rent is 5 EUR."),
        ("\\maketitle\n2025 is new.\\newpage 30 June, \\texteuro 7.", "2025 is new. 30 June, €7."),
        (r"\newcommand{\rent}{1,900 EUR}\noindent\rent{} \noindent [1] A. \pagebreak[4] -5", "1,900 EUR [1] A. -5"),
        (r"\vskip 5pt Text \hskip 1em more. \parskip=3pt Done.", "Text more. Done."),
        (r"\begin{tabular}{ll}\centering 5 & {\bf 6}\\ \small 7 & 8\end{tabular}", "| 5 | 6 | | --- | --- | | 7 | 8 |"),
    ],
)
def test_what_follows_a_tex_command_without_arguments_is_text(
    parser: Parser, tmp_path: Path, body: str, text: str
) -> None:
    document = tex(parser, tmp_path, body)
    assert (" ".join(document.text.split()), document.warnings) == (text, ())


def test_tex_algorithms_terms_and_letters_are_read(parser: Parser, tmp_path: Path) -> None:
    algorithm = (
        r"\begin{algorithm}\caption{Open it}\begin{algorithmic}[1]\If{hot}\State close K9\EndIf\end{algorithmic}"
    )
    preamble = r"\address{Hall 3\\Oslo}\newacronym{hvac}{HVAC}{heating and cooling}"
    document = tex(parser, tmp_path, rf"The \gls{{hvac}} \unknown runs.{algorithm}\end{{algorithm}}", preamble)
    assert document.text.split("\n\n") == [
        "Hall 3\nOslo", "The HVAC \\unknown runs.", "if hot:", "close K9", "end if", "Open it",
        "HVAC: heating and cooling",
    ]  # fmt: skip
    assert document.warnings == (
        "Commands that this file does not define were written with their arguments: \\unknown.",
    )


def test_tex_has_document_commands_german_shorthands_and_sizes_of_boxes(parser: Parser, tmp_path: Path) -> None:
    preamble = r"\NewDocumentCommand{\price}{O{EUR}m}{#2 #1}\usepackage[ngerman]{babel}"
    body = (
        r"""M"uller sagt "`ja"', Haus"-boot, \price{5} oder \price[USD]{6}. \verb|"o| \begin{multicols}{2}Left"""
        r"\end{multicols}\begin{column}{.5\textwidth}Right\end{column}\begin{wrapfigure}[3]{r}{5cm}\caption{Plan}"
        r"\end{wrapfigure} {\bf Bold}"
    )
    text = " ".join(tex(parser, tmp_path, body, preamble).text.split())
    assert text == 'Müller sagt „ja“, Hausboot, 5 EUR oder 6 USD. "o Left Right Plan Bold'


def test_tex_commands_may_have_options_at_their_end(parser: Parser, tmp_path: Path) -> None:
    preamble = (
        r"\NewDocumentCommand\price{m m O{EUR}}{#1 costs #2 #3.}"
        r"\NewDocumentCommand{\note}{O{Note} +m o}{#1: #2 #3}"
    )
    body = r"\price{Seal}{4} \price{Bolt}{5}[USD] \note{Close K9.} \note[Stop]{Wait}[at 3 bar] \prices"
    assert tex(parser, tmp_path, body, preamble).text == (
        "Seal costs 4 EUR. Bolt costs 5 USD. Note: Close K9. Stop: Wait at 3 bar \\prices"
    )


def test_tex_environments_of_other_files_keep_their_titles(parser: Parser, tmp_path: Path) -> None:
    source = (
        r"\begin{satz}[Euler, 1750]A.\end{satz} \begin{satz*}[von Gauß]B.\end{satz*} "
        r"\begin{kasten}[thick,tight]C.\end{kasten}"
        r"\begin{scheme}[htbp]D.\end{scheme} \begin{scheme}[0.5\Width]E.\end{scheme} \subimport{parts/}{costs}"
    )
    document = read(parser, tmp_path / "a.tex", source)
    assert document.text.split("\n\n") == ["Euler, 1750", "A.", "von Gauß", "B.", "C.", "D.", "E."]
    assert document.warnings == ("Files that it includes were not read: parts/costs.tex. Ingest them as well.",)


def test_tex_exams_have_points_parts_and_blanks(parser: Parser, tmp_path: Path) -> None:
    body = (
        r"\begin{questions}\question[10] At which pressure?\begin{parts}\part[4] Name it.\begin{subparts}\subpart "
        r"In bar.\end{subparts}\end{parts}\fillin[Norvik][2in] is the site of \fillin.\titledquestion{Pumps}[5] Why?"
        r"\bonusquestion More.\end{questions}"
    )
    document = tex(parser, tmp_path, body)
    assert document.text.split("\n\n") == [
        "(10 points) At which pressure?", "(4 points) Name it.", "In bar.", "Norvik is the site of ____.",
        "(5 points) Pumps Why?", "More.",
    ]  # fmt: skip
    assert document.warnings == ()


def test_tex_glossaries_name_their_terms(parser: Parser, tmp_path: Path) -> None:
    entries = (
        r"\newglossaryentry{norvik}{name={Norvik}, description={the site, with \textbf{two} boilers}}"
        r"\longnewglossaryentry{kpa}{name=kPa}{a unit of pressure}"
    )
    terms = ["Norvik: the site, with two boilers", "kPa: a unit of pressure"]
    document = tex(parser, tmp_path, r"At \gls{norvik} it is 3 \gls{kpa}.\printglossaries", entries)
    assert (document.text.split("\n\n"), document.warnings) == (["At Norvik it is 3 kPa.", *terms], ())
    (tmp_path / "b.tex").write_text(entries)
    assert parser.parse(tmp_path / "b.tex").text.split("\n\n") == terms


def test_tex_keeps_what_stands_above_the_text(parser: Parser, tmp_path: Path) -> None:
    body = r"\begin{abstract}It saves 7 percent.\end{abstract} Text."
    document = tex(parser, tmp_path, body, r"\author{Ann}\date{\today}")
    assert document.text == "Ann\n\nIt saves 7 percent.\n\nText."


def test_tex_keeps_the_title_page_and_other_files_that_it_writes(parser: Parser, tmp_path: Path) -> None:
    preamble = (
        r"\title{Pumps}\name{Ann}{Berg}\institute{Valve \textbf{Lab}, Oslo}\keywords{pumps}\geometry{margin=1in}"
        "\n\\begin{filecontents*}[overwrite]{refs.bib}\n@book{x, title={Inner}}\n\\end{filecontents*}"
        "\n\\begin{filecontents}{own.sty}\n\\def\\x{y}\n\\end{filecontents}"
    )
    document = tex(parser, tmp_path, "Text.", preamble)
    assert (
        document.text == "Pumps\n\nAnn Berg\n\nValve Lab, Oslo\n\npumps\n\nText.\n\nrefs.bib\n\n@book{x, title={Inner}}"
    )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r"A \ifnum\value{page}>3 long\else short\fi{} B", "A long short B"),
        (r"A \ifdim\textwidth>5cm wide\fi. B", "A wide . B"),
        (r"A \ifcase 2 zero\or one\else two\fi{} B", "A zero one two B"),
        (r"A \ifx\a\b \ifdraft draft\else final\fi\else other\fi{} B", "A final other B"),
        (r"A \ifthenelse{\equal{a}{b}}{then}{else} B", "A then else B"),
        (r"A \ifnum1>2 \(a \iff b\)\else c\fi. \ifdraft d\else e\fi{} B", "A a ⇔ b c . e B"),
    ],
)
def test_tex_conditions_leave_no_rubbish(parser: Parser, tmp_path: Path, body: str, text: str) -> None:
    document = tex(parser, tmp_path, body, r"\newif\ifdraft \draftfalse")
    assert (" ".join(document.text.split()), document.warnings) == (text, ())


def test_rst_directives_of_sphinx_keep_their_text(parser: Parser, tmp_path: Path) -> None:
    source = """
.. py:function:: start(pump)

   Starts it.

.. unknown:: arg

   Body.

.. code-block:: python
   :caption: Listing 1

   x = 1

.. csv-table:: Stock
   :file: stock.csv

.. literalinclude:: a.py

.. deprecated:: 3.1
   Use stop.

.. code-block:: rst

   :file: x

.. |day| date::

.. [1] A note without a mark.

On |day| see :func:`stop` and :doc:`Guide <guide>` [2]_.

.. [2] A note.
"""
    document = read(parser, tmp_path / "a.rst", source)
    for passage in ("start(pump)\n\nStarts it.", "arg\n\nBody.", "Listing 1\n\nx = 1", ":file: x",
                    "deprecated: 3.1 Use stop.", "[1] A note without a mark.",
                    "On |day| see stop and Guide[1].", "[1] A note."):  # fmt: skip
        assert passage in document.text
    assert document.warnings == ("Files that it includes were not read: stock.csv, a.py. Ingest them as well.",)


def test_rst_tables_of_values_have_any_delimiter(parser: Parser, tmp_path: Path) -> None:
    source = '.. csv-table:: Stock\n   :widths: 1, 2\n   :header: "Part"; "Qty"\n   :delim: ;\n\n   "Bolt, long"; 12\n'
    commas = source.replace("; ", ", ").replace("   :delim: ;\n", "")
    old = source.replace('"; "', '", "')  # older versions of Docutils divide each head at commas
    document = read(parser, tmp_path / "a.rst", source + commas + "\n" + old)
    table = "| Part | Qty |\n| --- | --- |\n| Bolt, long | 12 |"
    assert (document.text, document.warnings) == ("\n\n".join([f"Stock\n\n{table}"] * 3), ())


def test_org_keeps_deadlines_properties_and_what_it_does_not_export(parser: Parser, tmp_path: Path) -> None:
    source = (
        "* TODO Valve\nDEADLINE: <2026-05-12 Tue>\n:PROPERTIES:\n:Owner: Berg\n:END:\n+100+ 90 EUR\n- [X] done\n"
        "* COMMENT Draft\nWords.\n* Old :noexport:\nMore.\n"
    )
    text = read(parser, tmp_path / "a.org", source).text
    assert "TODO Valve\n\nowner: Berg\n\nDEADLINE: <2026-05-12 Tue>\n\n~~100~~ 90 EUR\n\n- [x] done" in text
    assert "COMMENT: Draft\n\nWords." in text
    assert text.endswith("\n\nMore.")


def test_mediawiki_keeps_templates_and_tables(parser: Parser, tmp_path: Path) -> None:
    table = "{|\n! Part !! Qty\n|-\n| Nut || 2\n|}"
    source = f"== Bolt ==\nIt has 10<sup>6</sup> uses.<ref>Berg 2026</ref> {{{{Price|1.50}}}}\n{table}"
    text = read(parser, tmp_path / "a.mediawiki", source).text
    assert text == (
        "Bolt\n\nIt has 10^6 uses.[1] {{Price|1.50}}\n\n| Part | Qty |\n| --- | --- |\n| Nut | 2 |\n\n[1] Berg 2026"
    )


def test_typst_runs_its_functions_or_is_read_simply(parser: Parser, tmp_path: Path) -> None:
    source = '#let price(x) = [#x EUR]\n= Offer\n#include "terms.typ"\nIt costs #price(5).\n'
    document = read(parser, tmp_path / "a.typ", source)
    assert document.text == "Offer\n\nIt costs 5 EUR."
    assert document.warnings == ("Files that it includes were not read: terms.typ. Ingest them as well.",)
    unknown = read(parser, tmp_path / "b.typ", "= Offer\nIt costs #price[5].\n")
    assert "It costs" in unknown.text
    assert "could not be read as Typst whole" in unknown.warnings[0]


def rtf(parser: Parser, path: Path, body: str) -> str:
    fonts = r"{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial;}{\f2\fcharset2 Symbol;}{\f3\fcharset128 Gothic;}}"
    return read(parser, path / "a.rtf", rf"{{\rtf1\ansi\ansicpg1252\deff0{fonts}{body}}}").text


RTF = [
    (r"10{\super 6} t of CO{\sub 2}, x{\up6 2}", "10^6 t of CO_2, x^2"),
    (r"{\strike 4,500 EUR} 5,200 EUR{\v hidden}{\deleted gone}", "~~4,500 EUR~~ 5,200 EUR"),
    (r"30\u8364?100 \u-10179?\u-8704? caf\'e9 {\uc2\u1055 ab}", "30€100 😀 café П"),
    (r"{\f1 \'cf\'f0\'e8\'e2\'e5\'f2} {\b\f2\'a3} 5 {\f3\'83\'5c\'83A}", "Привет ≤ 5 ソア"),
    (r'{\field{\*\fldinst SYMBOL 163 \\f "Symbol" \\s 12}{\fldrslt\f2}} 7', "≤ 7"),
    (r"{\field{\*\fldinst SYMBOL 254 \\f Wingdings \\s 12}{\fldrslt {\f1 x}}} yes", "☑ yes"),
    (r"{\field{\*\fldinst{ FORMCHECKBOX }{{\*\formfield{\fftype1\ffres25{\*\ffname C}\ffdefres1}}}}{\fldrslt }} pets",
     "[x] pets"),
    (r"{\field{\*\fldinst{ FORMCHECKBOX }{{\*\formfield{\fftype1\ffres0\ffdefres1}}}}{\fldrslt }} dogs", "[ ] dogs"),
    (r"{\stylesheet{\*\cs16\super Anchor;}}5{\super\chftn{\*\footnote\chftn\pard\plain  A note.}} million",
     "5[1] million\n\n[1] A note."),
    (r"5{\super\chftn}{\footnote\chftn  A note.} million", "5[1] million\n\n[1] A note."),
    (r"Sum{\*\annotation Too high?}\par", "Sum[1]\n\n[1] Comment: Too high?"),
    (r"\trowd\cellx1\cellx2\intbl Part\cell Price\cell\row\trowd\cellx1\cellx2\intbl Bolt\cell 1.50\cell\row\pard",
     "| Part | Price |\n| --- | --- |\n| Bolt | 1.50 |"),
    (r"\pard Do:\par{\listtext\pard\plain 3.\tab}\pard\ls1 Drain\par{\listtext 4.\tab}Close\par"
     r"\pard{\listtext\f2\'b7\tab}\ls2 Stop\par\pard End\par", "Do:\n3. Drain\n4. Close\n- Stop\n\nEnd"),
    (r"{\header Page head\par}\pard Text\sect More{\pict 00ff00ff}\par", "Page head\n\nText\n\nMore"),
    (r"{\info{\title Document1}}\pard Text\par", "Text"),
    (r"a\bin-7 b", "ab"),
    (r"\uc-3 \u8364 abc", "€abc"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "text"), RTF)
def test_rtf_keeps_form_and_characters(parser: Parser, tmp_path: Path, body: str, text: str) -> None:
    assert rtf(parser, tmp_path, body) == text


def test_asciidoc_fills_in_attributes_and_names_other_files(parser: Parser, tmp_path: Path) -> None:
    source = r"""= Guide to {product}
:product: Pump P7
:long: one \
two

{Product} has {long}, {unknown} and \{product}.

include::terms.adoc[]

|===
|Name |{product}
|===

----
{product}
----
:!product:
It is {product}.
"""
    document = read(parser, tmp_path / "a.adoc", source)
    assert document.text == (
        "Guide to Pump P7\n\nPump P7 has one two, {unknown} and {product}.\n\n| Name | Pump P7 |\n| --- | --- |\n\n"
        "{product}\n\nIt is {product}."
    )
    assert document.warnings == ("Files that it includes were not read: terms.adoc. Ingest them as well.",)


def test_asciidoc_has_the_author_and_the_revision_as_attributes(parser: Parser, tmp_path: Path) -> None:
    head = "= Manual\nAnna Berg <a@example.org>\nv2.1, 2024-05-03: Draft"
    listing = '[source,yaml,subs="+attributes"]\n----\nby: {author}\n----\n\n----\nby: {author}\n----'
    source = f"{head}\n\nVersion {{revnumber}} of {{revdate}} by {{author}}, {{email}}.\n\n{listing}\n"
    assert read(parser, tmp_path / "a.adoc", source).text.endswith(
        "Version 2.1 of 2024-05-03 by Anna Berg, a@example.org.\n\nby: Anna Berg\n\nby: {author}"
    )


def test_asciidoc_follows_conditions_and_names_what_it_leaves_out(parser: Parser, tmp_path: Path) -> None:
    source = (
        "= T\n:draft:\n:part: chap\n\nifdef::draft[]\nDraft.\nifdef::final[]\nNested.\nendif::[]\nendif::[]\n\n"
        "ifdef::final[]\nFinal.\ninclude::final.adoc[]\nendif::[]\nifndef::final[Not final.]\n\n"
        'ifeval::["{a}" == "b"]\nComputed.\nendif::[]\n\n'
        "|===\n|A |B\nifdef::final[]\n|x |1\nendif::[]\n|y |2\n|===\n\ninclude::{part}1.adoc[]\n"
    )
    document = read(parser, tmp_path / "a.adoc", source)
    assert document.text == "T\n\nDraft.\n\nNot final.\n\nComputed.\n\n| A | B |\n| --- | --- |\n| y | 2 |"
    assert document.warnings == (
        "Text for other editions was left out: it depends on final.",
        "Files that it includes were not read: chap1.adoc. Ingest them as well.",
    )


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ('[%header,format=csv]\n|===\nK,V\na,"1, 2"\n|===\n', "| K | V |\n| --- | --- |\n| a | 1, 2 |"),
        (",===\nK,V\na,1\n,===\n", "| K | V |\n| --- | --- |\n| a | 1 |"),
        (". one\n.. two\n\n____\nSaid.\n____\n\n'''\n\nEnd.", "1. one\n  1. two\n\nSaid.\n\nEnd."),
        (
            ". one\n+\nimage::a.png[Plan]\n\n. two\n+\n----\nx\n----\n. three\ngoes on\n\nText.\n\n. new\n",
            "1. one\n\nPlan\n\n2. two\n\nx\n\n3. three goes on\n\nText.\n\n1. new",
        ),
        (". one\n+\n--\nmore\n--\n. two\n", "1. one more\n2. two"),
        ("Press kbd:[Ctrl+C], +++<u>x</u>+++, pass:[*y*].", "Press Ctrl+C, <u>x</u>, y."),
    ],
)
def test_asciidoc_has_values_breaks_and_macros(parser: Parser, tmp_path: Path, source: str, text: str) -> None:
    assert read(parser, tmp_path / "a.adoc", source).text == text


def test_values_of_attributes_do_not_grow_without_end(parser: Parser, tmp_path: Path) -> None:
    lines = [f":a{number}: " + f"{{a{number - 1}}}" * 10 for number in range(1, 12)]
    document = read(parser, tmp_path / "a.adoc", "\n".join([":a0: lol", *lines, "", "{a11}"]))
    assert len(document.text) < 1000


def test_the_summary_of_details_is_no_part_of_them(parser: Parser, tmp_path: Path) -> None:
    inline = read(parser, tmp_path / "a.md", "Fees. <details><summary>What?</summary>The fee is 5 EUR.</details>")
    assert inline.text == "Fees.\n\nWhat?\n\nThe fee is 5 EUR."
    source = "<p>Fees</p><details><summary>What is it?</summary>The fee is 5 EUR.</details><ol type='a'><li>x</ol>"
    document = read(parser, tmp_path / "a.html", source)
    assert document.text == "Fees\n\nWhat is it?\n\nThe fee is 5 EUR.\n\na. x"


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.tex", "\\def\\a{\\a\\a}\\begin{document}\\a\\end{document}"),
        ("d.tex", "\\usepackage[german]{babel}\\begin{document}" + "\\begin{verbatim}\\verb|" * 5_000),
        ("b.tex", "\\begin{longtable}{l}" + "\\endfirsthead " * 20_000),
        ("a.rtf", "{\\rtf1 It was" + "{\\b x" * 20_000),
    ],
)
def test_hostile_sources_are_read_simply(parser: Parser, tmp_path: Path, name: str, source: str) -> None:
    document = read(parser, tmp_path / name, source)
    assert document.text
    assert document.warnings


def test_long_lists_and_many_notes_of_asciidoc_take_linear_time(parser: Parser, tmp_path: Path) -> None:
    started = time.process_time()
    text = read(parser, tmp_path / "a.adoc", "\n".join(f". step footnote:[N{at}]" for at in range(20_000))).text
    assert "20000. step [20000]\n\n[1] N0\n\n[2] N1" in text
    assert time.process_time() - started < 2.5


def test_wide_cells_of_many_rows_do_not_add_up(parser: Parser, tmp_path: Path) -> None:
    source = f"<table>{'<tr><td colspan=4096 rowspan=0>a</tr>' * 50}</table>"
    assert len(read(parser, tmp_path / "a.html", source).text) < 50 * 4 * 4_200
    assert "b" in read(parser, tmp_path / "a.adoc", f"|===\n|a {'9' * 5_000}+|b\n|===\n").text
