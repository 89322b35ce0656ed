"""What web pages hide, raise, strike out and link to."""

from __future__ import annotations

import pytest

from ingest.readers.markup.html import write_page
from ingest.readers.markup.markdown import write_markdown
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.form import is_useful_link, linked, lowered, note_mark, raised, struck


def _text(body: str, head: str = "") -> str:
    into = DocumentBuilder()
    write_page(f"<html><head>{head}</head><body>{body}</body></html>", into)
    return into.text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('<p>10<span style="vertical-align: super">6</span> t</p>', "10^6 t"),
        ('<p>5<sup><a href="#fn1">1</a></sup> million<a href="#fn2"><sup>2</sup></a></p>', "5[1] million[2]"),
        ('<p>Text<sup class="reference"><a href="#cite">[3]</a></sup>.</p>', "Text[3]."),
        ("<p>the 21<sup>st</sup> century, x<sup>n + 1</sup>, Brand<sup>TM</sup></p>",
         "the 21st century, x^(n + 1), BrandTM"),
        ('<p style="text-decoration: line-through">Old fee</p>', "~~Old fee~~"),
        ("<del><p>One.</p><p>Two.</p></del>", "~~One.~~\n\n~~Two.~~"),
        ("<p><math><msup><mn>10</mn><mn>6</mn></msup></math> t</p>", "10^6 t"),
        ("<p>x<math><mfrac><mn>1</mn><mi>n</mi></mfrac></math></p>", "x1/n"),
        ("<p><ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby>の本社</p>", "東京の本社"),
        ("<p><math><munderover><mo>∑</mo><mi>i</mi><mi>n</mi></munderover><mroot><mn>8</mn><mn>3</mn></mroot></math></p>",
         "∑_i^n ^3√(8)"),
        ("<dl><dt>Load</dt><dd>5 t</dd><dt>Speed</dt><dd><p>Slow</p></dd></dl>", "Load: 5 t\nSpeed\n\nSlow"),
        ("<article>Text only</article>", "Text only"),
        ("<dialog open>Shown</dialog><dialog>Closed</dialog>", "Shown"),
        ("<p>Load <svg aria-hidden='true'><text>x</text></svg><svg><title>Icon</title></svg>is fine.</p>",
         "Load is fine."),
        ("<svg><desc>Plan</desc><defs><text>x</text></defs><g><text>Gate <tspan>A</tspan></text></g></svg><p>End.</p>",
         "Plan\n\nGate A\n\nEnd."),
        ("<object data='a.svg'><p>The tank holds 40 l.</p></object>", "The tank holds 40 l."),
    ],
)  # fmt: skip
def test_form_is_kept(body: str, text: str) -> None:
    assert _text(body) == text


@pytest.mark.parametrize(
    "style",
    [
        ".a { display: none }",
        "p.a, .b {visibility:hidden}",
        "#x{display:none !important}",
        "@media screen{} .a{display:none}",
        "@media only screen {.a{display:none}} .c{}",
        "div > .a{visibility:hidden}",
        "section .a{display:none}",
        "section > div p[lang='en']{display:none}",
        "[lang]{display:none}",
        ".a{display:none!important} p.a{display:block}",
        "P.a{display:none}",
        "@media screen{@media (max-width:9em){.c{display:none}} .a{display:none}} .d{}",
        "section >" + " " * 40_000 + "div .a{display:none}",
        ".a{display:none} .a{display:block} .a{display:none}",
        "section div .a{visibility:hidden} section{visibility:visible}",
        ".a{opacity:0}",
        ".a{opacity: 0.0 !important}",
        ".a{max-height:0px;overflow:hidden}",
        ".a{overflow:hidden;height:0}",
        "p:not(.c){display:none}",
        "div > :not(.b, #y){visibility:hidden}",
        ".a{position:absolute;left:-9999px}",
        ".a{position:fixed!important;top:-100em}",
        ".a{text-indent:-9999px}",
        ".a{clip:rect(0, 0, 0, 0);position:absolute}",
        ".a{position:absolute;clip-path:inset(50%)}",
        ".a{color:#FFF}",
        "div{background:#eeeeee} .a{color:#eee} .a{color:#eeeeee}",
    ],
)
def test_simple_rules_of_the_page_hide_text(style: str) -> None:
    body = '<section><div><p class="a" id="x" lang="en">Hidden</p></div></section><p class="c">Shown</p>'
    assert _text(body, f"<style>{style}</style>") == "Shown"


@pytest.mark.parametrize(
    "style",
    [
        "@media print { .a { display: none } }",
        ".a .b { display: none }",
        ".b > .a { display: none }",
        "body{display:none}",
        ".a{display:none} p.a{display:block}",
        ".a{display:none} .a{display:block}",
        "@media screen{@media (max-width:600px){.b{top:1em} .a{display:none}}}",
        "@media print{@media screen{.a{display:none}}}",
        ".b{.a{display:none}}",
        "div > > .a{display:none}",
        ".a{opacity:0.5}",
        ".a{opacity:0;transition:opacity .3s}",
        ".a{opacity:0;animation:show 1s forwards}",
        ".a{max-height:0}",
        ".a{height:0.5em;overflow:hidden}",
        ".a:not(p){display:none}",
        ".a:not(.b .c){display:none}",
        ".a:not(:first-child){display:none}",
        "body:not(.js) .a{display:none}",
        ".a{left:-9999px}",
        ".a{position:absolute;clip:rect(0,40px,20px,0)}",
        ".a{position:relative;left:-20px;text-indent:-2em}",
        ".a{position:absolute;left:-9999px;transition:left .3s}",
        "body{background:#333} .a{color:#fff}",
        "body{background:url(x.png)} .a{color:#fff}",
        "body{background-image:linear-gradient(#000,#333)} .a{color:#fff}",
        "body{background:#fff} body::before{background:#000} .a{color:#fff}",
        "@media (min-width:9em){body{background:#000}} .a{color:#fff}",
        ".a{color:#fff;position:absolute;top:0}",
        ".a{color:#fff;text-shadow:0 0 2px #000}",
    ],
)
def test_other_rules_do_not(style: str) -> None:
    assert _text('<p class="a">Shown</p>', f"<style>{style}</style>") == "Shown"


@pytest.mark.parametrize(
    ("body", "style", "text"),
    [
        ("<div class=row>x<div class=col>A</div> <div class=col>B</div> y</div>",
         "body .row{font-size:0} .row .col{font-size:16px}", "A\n\nB"),
        ("<p class=a>x <b class=c>A</b></p>", ".a{visibility:hidden} .a .c{visibility:visible}", "A"),
        ("<table><tr><td style='font-size:0px'><div style='font-size:13px'>A</div></td><td>B</td></tr></table>", "",
         "| A | B |\n| --- | --- |"),
        ("<div style='font-size:0'>x<p style='font-size:1em'>y <b style='font:13px Arial'>A</b></p></div>", "", "A"),
        ("<div style='font-size:0;visibility:hidden'><p style='font-size:13px'>x</p></div><p>A</p>", "", "A"),
        ("<div style='display:none'><p style='display:block'>x</p></div><p>A</p>", "", "A"),
    ],
)  # fmt: skip
def test_text_that_a_style_shows_again_is_kept(body: str, style: str, text: str) -> None:
    assert _text(body, f"<style>{style}</style>") == text


def test_white_text_is_read_if_what_is_behind_it_is_not_known() -> None:
    body = '<p style="color:#fff">Shown</p>'
    assert _text(body, "<link rel=stylesheet href=a.css>") == "Shown"
    assert _text(f"<table bgcolor=black><tr><td>{body}</table>") == "Shown"
    assert _text(f"{body}<p>After</p>") == "After"


def test_many_nested_elements_and_rules_are_read() -> None:
    style = ".zzz div div div div p{display:none}" + "".join(f".m{n} p{{font-size:{n}px}}" for n in range(300))
    body = "<div>" * 100 + "<p>Shown</p>" + "</div>" * 100 + "<i>a</i>" * 1000
    assert _text(body, f"<style>{style} div>div div>p{{display:none}}</style>") == "a" * 1000
    assert _text(body, f"<style>{style}</style>") == f"Shown\n\n{'a' * 1000}"


@pytest.mark.parametrize(
    ("style", "text"),
    [
        ("mso-text-raise:0", "102"),
        ("mso-text-raise:0.5pt", "10^2"),
        ("mso-text-raise:-0pt", "102"),
        ("mso-text-raise:-3pt", "10_2"),
        ("top:-.5em;position:relative", "10^2"),
        ("position:relative;top:0em", "102"),
    ],
)
def test_text_is_raised_by_its_style(style: str, text: str) -> None:
    assert _text(f'<p>10<span style="{style}">2</span></p>') == text


def test_much_hidden_text_is_a_warning() -> None:
    into = DocumentBuilder()
    write_page("<p>One two</p><p hidden>three four five</p>", into)
    warning = "3 words that the page hides were left out."
    assert into.build(parser="x", mime_type="").warnings == (warning,)
    write_page("<p>Long</p>" * 1_000, into)
    write_page("<p>One two</p><p hidden>three four five</p>", into)  # a later chapter of the same book
    assert into.build(parser="x", mime_type="").warnings == (warning, warning)


@pytest.mark.parametrize(
    ("address", "host", "expected"),
    [
        ("https://example.org/form", "", True),
        ("https://www.example.org/other", "example.org", False),
        ("forms/F-22.pdf", "example.org", True),
        ("/wiki/Pump", "", False),
        ("page.html", "", False),
        ("mailto:a@example.org", "", True),
        ("#", "", False),
        ("#install", "", False),
        ("javascript:void(0)", "", False),
        ("http://[broken", "", False),
    ],
)
def test_addresses_that_a_reader_can_use_are_kept(address: str, host: str, expected: bool) -> None:
    assert is_useful_link(address, host) is expected


def test_pages_of_the_same_site_are_not_written() -> None:
    head = '<link rel="canonical" href="https://example.org/a">'
    assert _text('<p><a href="https://example.org/b">b</a>, <a href="https://other.org/c">c</a></p>', head) == (
        "b, c (https://other.org/c)"
    )


def test_the_convention() -> None:
    assert (raised("6"), raised(" 6 "), raised("-3"), raised("n + 1"), raised("th"), raised("[1]"), raised("")) == (
        "^6", " ^6 ", "^-3", "^(n + 1)", "th", "[1]", "",
    )  # fmt: skip
    assert (lowered("2"), note_mark("1"), struck("a\n\nb ")) == ("_2", "[1]", "~~a~~\n\n~~b~~ ")
    assert linked("example.org/a", "https://example.org/a/") == "example.org/a"
    assert linked("here ", "https://example.org/a") == "here (https://example.org/a) "


def test_links_inside_the_document_have_no_address() -> None:
    into = DocumentBuilder()
    write_markdown('See [the set-up](#install) and <a href="#use">its use</a>.', into)
    assert into.text == "See the set-up and its use."
    assert _text('<p>See <a href="#install">the set-up</a>.</p>') == "See the set-up."


def test_addresses_of_files_begin_at_the_base_of_the_page() -> None:
    body = '<p><a href="form.pdf">Form</a>, <a href="/b.zip">pack</a>, <a href="#x">below</a>, <a href="y">page</a></p>'
    shown = "Form (https://a.example/d/form.pdf), pack (https://a.example/b.zip), below, page"
    assert _text(body, '<base href="https://a.example/d/">') == shown
    assert _text(body, '<base href="http://[x/">') == _text(body) == "Form (form.pdf), pack (/b.zip), below, page"
