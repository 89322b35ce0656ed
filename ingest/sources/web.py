"""Web pages: one page or file, a site by its sitemap or its links, or what a feed (RSS, Atom) links to."""

from __future__ import annotations

import asyncio
import gzip
import mimetypes
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from io import BytesIO
from itertools import chain
from typing import NamedTuple
from urllib.parse import urldefrag, urljoin, urlsplit
from urllib.robotparser import RobotFileParser

from lxml import etree
from lxml.html import HTMLParser, document_fromstring
from pydantic import Field

from base.models import FrozenModel
from base.web import Fetched, WebError, fetch, joined
from ingest.errors import SourceFailed
from ingest.source import Item, Known, file_name

_AGENT = "Candor"
_TIMEOUT_S, _LONGEST_S = 60.0, 600.0  # for each step of a connection, and for a whole page
_LONGEST_DELAY_S = 10.0  # that a robots.txt may ask for between two pages
_GONE = (404, 410)
_HTML = ("text/html", "application/xhtml+xml")
_FEEDS, _SITEMAPS = ("rss", "feed", "RDF"), ("urlset", "sitemapindex")
_XML = (b"rss", b"feed", b"rdf:RDF", b"urlset", b"sitemapindex")
_SITEMAP_BYTES = 50_000_000  # of an unpacked sitemap, by its standard
_SUFFIXES = {"text/html": ".html", "application/xhtml+xml": ".html", "text/plain": ".txt", "text/markdown": ".md"}


class WebOptions(FrozenModel):
    """How much of a site to read."""

    depth: int = Field(default=2, ge=0, le=20, description="links to follow from the address; 0 reads only its page")
    limit: int = Field(default=500, ge=1, le=100_000, description="maximum number of pages")
    robots: bool = Field(default=True, description="obey the site's robots.txt")


class _Page(NamedTuple):
    """A page to read, and how many links lead to it."""

    address: str
    depth: int


class WebSource:
    """Reads from one address on. ``max_bytes`` limits each page."""

    def __init__(self, address: str, options: WebOptions, *, max_bytes: int, allow_private: bool) -> None:
        self._address, self._options = urldefrag(address).url, options
        self._fetch = partial(
            fetch, max_bytes=max_bytes, timeout_s=_TIMEOUT_S, allow_private=allow_private,
            setting="ingest.allow_private_addresses",
        )  # fmt: skip

    def items(self, known: Mapping[str, Known]) -> Iterator[Item]:
        """Yield the pages. Of known pages, only changed ones are transferred."""
        robots, start = self._robots(), self._read(self._address, known)
        root = _root(start.content) if self._options.depth else ""
        if root in _FEEDS:
            yield from self._entries(start.content, known, robots)
            return
        if root in _SITEMAPS:
            listed = _locations(start.content, self._sitemap)
            within = urljoin(start.url, "/")
        else:
            yield _item(start, self._address)
            sitemaps = (robots.site_maps() or []) if self._options.depth else []
            named = (each for sitemap in sitemaps for each in _locations(self._sitemap(sitemap), self._sitemap))
            listed = chain(_links(start), named) if self._options.depth else iter(())
            within = urljoin(start.url, ".")
        pages, seen = deque(_Page(joined("", address), 1) for address in listed), {self._address, start.url}
        has_failed = False
        for item in self._crawl(pages, known, robots, seen, within):
            has_failed |= bool(item.error)
            yield item
        if has_failed:  # nobody knows what a page that cannot be read links to
            yield from (Item("", address, is_unchanged=True) for address in known if address not in seen)

    def _read(self, address: str, known: Mapping[str, Known]) -> Fetched:
        """Fetch a page without which the source cannot be read. Raises SourceFailed."""
        try:
            return self._get(address, known)
        except WebError as error:
            raise SourceFailed(str(error)) from error

    def _sitemap(self, address: str) -> bytes:
        return self._read(address, {}).content

    def _get(self, address: str, known: Mapping[str, Known]) -> Fetched:
        """Fetch a page, or return the stored one if it is unchanged. Raises WebError."""
        stored = known.get(address)
        try:
            known_version = stored.version if stored else ""
            page = asyncio.run(asyncio.wait_for(self._fetch(address, known=known_version), _LONGEST_S))
        except TimeoutError as error:
            raise WebError(f"{address} was not complete after {_LONGEST_S:.0f} seconds.") from error
        if not (stored and page.is_unchanged):
            return page
        media_type = mimetypes.guess_type(stored.path.name)[0] or ""
        return page._replace(content=stored.path.read_bytes(), media_type=media_type)

    def _robots(self) -> RobotFileParser:
        """Return the rules of the site, which allow everything if it has none or they are not obeyed."""
        robots = RobotFileParser()
        robots.parse([])
        if self._options.robots and self._options.depth:
            try:
                text = self._get(urljoin(self._address, "/robots.txt"), {}).content
                robots.parse(text.decode("utf-8", errors="replace").splitlines())
            except WebError as error:
                if not 400 <= error.status < 500:  # without an answer, nobody knows what is allowed
                    raise SourceFailed(f"{error} Without its robots.txt, the site is not read.") from error
        return robots

    def _entries(self, feed: bytes, known: Mapping[str, Known], robots: RobotFileParser) -> Iterator[Item]:
        """Yield the pages of a feed, and known ones that it no longer lists: a feed has only the latest."""
        import feedparser

        links = (joined(self._address, entry.get("link", "")) for entry in feedparser.parse(feed).entries)
        pages = deque(_Page(link, self._options.depth) for link in links if link)
        listed = {page.address for page in pages}
        yield from self._crawl(pages, known, robots, {self._address}, "")
        yield from (Item("", address, is_unchanged=True) for address in known if address not in listed)

    def _crawl(
        self, pages: deque[_Page], known: Mapping[str, Known], robots: RobotFileParser, seen: set[str], within: str
    ) -> Iterator[Item]:
        """Yield the pages below the address ``within`` that are not ``seen``, and those that they link to."""
        delay, left = min(float(robots.crawl_delay(_AGENT) or 0), _LONGEST_DELAY_S), self._options.limit - 1
        while pages:
            page = pages.popleft()
            if page.address in seen or not page.address.startswith(within):
                continue
            seen.add(page.address)
            if not robots.can_fetch(_AGENT, page.address):
                yield Item("", page.address, skipped="the robots.txt of the site forbids to read it")
                continue
            if not left:
                yield Item("", page.address, skipped=f"it is beyond the limit of {self._options.limit} pages")
                continue
            left -= 1
            time.sleep(delay)
            try:
                found = self._get(page.address, known)
            except WebError as error:
                is_gone = error.status in _GONE
                yield Item("", page.address, skipped=str(error) if is_gone else "", error="" if is_gone else str(error))
                continue
            if found.url == page.address or (found.url not in seen and found.url.startswith(within)):
                seen.add(found.url)  # otherwise it leads out of the site, or to a page that is read for itself
                yield _item(found, page.address)
                if page.depth < self._options.depth:
                    pages.extend(_Page(link, page.depth + 1) for link in _links(found))


def _item(page: Fetched, address: str) -> Item:
    if page.is_unchanged:
        return Item("", address, is_unchanged=True)
    return Item(page_name(address, page.media_type), address, page.version, page.content)


def page_name(address: str, media_type: str) -> str:
    """Return the name of the file of a page: its host and path, with the suffix of its type."""
    parts = urlsplit(address)
    folders, _, last = parts.path.strip("/").rpartition("/")
    last = last if parts.path.rstrip("/") == parts.path else f"{last}/index".lstrip("/")
    guessed = mimetypes.guess_type(last)[0]
    suffix = "" if guessed == media_type else _SUFFIXES.get(media_type, mimetypes.guess_extension(media_type) or "")
    names = [each for each in (parts.netloc, *folders.split("/"), *(last or "index").split("/")) if each]
    query = f"_{parts.query}" if parts.query else ""
    return "/".join([*map(file_name, names[:-1]), file_name(names[-1] + query, suffix)])


def _root(content: bytes) -> str:
    """Return the name of the root element of an XML file, or an empty string."""
    is_xml = content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"<?xml", *(b"<%b" % tag for tag in _XML)))
    root = _xml(content) if is_xml else None
    return "" if root is None else str(etree.QName(root).localname)


def _xml(content: bytes) -> etree._Element | None:
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True)
    return etree.fromstring(content, parser) if content.strip() else None


def _locations(sitemap: bytes, read: Callable[[str], bytes] | None) -> Iterator[str]:
    """Yield the pages of a sitemap. If it lists other sitemaps, ``read`` returns them."""
    if sitemap.startswith(b"\x1f\x8b"):
        try:
            with gzip.open(BytesIO(sitemap)) as unpacked:
                sitemap = unpacked.read(_SITEMAP_BYTES)
        except (OSError, EOFError, zlib.error) as error:
            raise SourceFailed(f"A packed sitemap is damaged: {error}.") from error
    root = _xml(sitemap)
    for location in () if root is None else root.iter("{*}loc"):
        address, parent = (location.text or "").strip(), location.getparent()
        if read and parent is not None and etree.QName(parent).localname == "sitemap":
            yield from _locations(read(address), None)
        elif address:
            yield address


def _links(page: Fetched) -> Iterator[str]:
    """Yield the addresses of the links of a page."""
    if page.media_type not in _HTML or not page.content.strip():
        return
    try:
        root = document_fromstring(page.content, parser=HTMLParser(recover=True))
    except etree.ParserError:  # it has no element
        return
    for link in root.iter("a"):
        address = joined(page.url, link.get("href") or "")
        if address.startswith(("http://", "https://")):
            yield address
