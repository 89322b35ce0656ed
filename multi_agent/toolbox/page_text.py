"""Extracts the text of an HTML page, which is the main part of a long page or all text of a short one.

Only this module imports trafilatura, lxml and kreuzberg. Blank lines separate paragraphs, list items and table rows, so
that a claim can quote each of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin

from multi_agent.errors import ToolError

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_SHORT = 250
"""Minimum characters of a long page. Below, trafilatura finds no main part, and scripts may load more text."""
_MOST_LINKS, _MOST_ATTRIBUTES = 40, 100
_UNSEEN = ("script", "style", "noscript", "template")
_INLINE = ("b", "strong", "i", "em", "u", "mark", "small", "span", "abbr", "cite", "time", "font")
_RULE = re.compile(r"[|\s:-]*")
"""The line below the header of a table."""
_ITEM = re.compile(r"\||[-*] |\d+\. ")


class PageText(NamedTuple):
    """The text of a page. ``date`` is the publication date in ISO format, if the page gives one."""

    title: str
    date: str
    text: str
    links: tuple[str, ...]
    needs_script: bool
    """Whether the HTML has little text and contains scripts that may load more."""


def read_html(html: str, url: str) -> PageText:
    """Return the text of a page, with its title, date and links. Raises ToolError if it cannot be parsed."""
    from lxml import etree
    from trafilatura.metadata import extract_metadata

    tree = _parse(html, url)
    for element in tree.iter("*"):
        if len(element.attrib) > _MOST_ATTRIBUTES:  # trafilatura's time grows with their square
            element.attrib.clear()
    has_scripts = tree.find(".//script") is not None
    about = extract_metadata(tree, default_url=url)
    links = tuple(dict.fromkeys(_links(tree, url)))[:_MOST_LINKS]
    etree.strip_elements(tree, *_UNSEEN, with_tail=False)
    etree.strip_tags(tree, *_INLINE)
    text = _main_text(tree, url)
    if len(text) < _SHORT:
        text = _whole_text(tree, url)
    title, date = (str(value or "").strip() for value in (about.title, about.date))
    return PageText(title, date, text, links, has_scripts and len(text) < _SHORT)


def _parse(html: str, url: str) -> HtmlElement:
    from lxml import etree
    from lxml.html import HTMLParser, document_fromstring

    try:
        return document_fromstring(html.encode(), parser=HTMLParser(encoding="utf-8", remove_comments=True))
    except (etree.LxmlError, ValueError) as error:
        raise ToolError(f"The text of {url} cannot be made out: {error}") from error


def _links(tree: HtmlElement, url: str) -> Iterator[str]:
    for element in tree.iter("a"):
        address = urljoin(url, (element.get("href") or "").strip()).partition("#")[0]
        if address.startswith(("http://", "https://")) and address != url:
            yield address


def _main_text(tree: HtmlElement, url: str) -> str:
    from trafilatura import bare_extraction

    found = bare_extraction(tree, url=url, include_tables=True, include_comments=True, favor_recall=True)
    return _blocks((getattr(found, "text", "") or "").splitlines())


def _whole_text(tree: HtmlElement, url: str) -> str:
    import kreuzberg
    from lxml import etree

    body = tree.find("body")
    if body is None:
        return ""
    etree.strip_tags(body, "a")
    try:
        extracted = kreuzberg.extract_bytes_sync(
            etree.tostring(body, encoding="utf-8", method="html"),
            "text/html",
            config=kreuzberg.ExtractionConfig(output_format="markdown"),
        )
    except kreuzberg.KreuzbergError as error:
        raise ToolError(f"The text of {url} cannot be made out: {error}") from error
    return _blocks(line for block in extracted.content.split("\n\n") for line in _lines(block))


def _lines(block: str) -> list[str]:
    """Return the rows or items of a block, or a paragraph as one line."""
    lines = block.splitlines()
    return lines if any(map(_ITEM.match, lines)) else [" ".join(lines).lstrip("#")]


def _blocks(lines: Iterable[str]) -> str:
    """Return the lines with content, separated by blank lines."""
    return "\n\n".join(line.strip() for line in lines if not _RULE.fullmatch(line))
