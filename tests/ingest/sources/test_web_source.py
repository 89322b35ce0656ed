"""Reads pages, sites, sitemaps and feeds of a real server."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest.errors import SourceFailed
from ingest.source import Item, Known
from ingest.sources.web import WebOptions, WebSource, page_name
from support.web import Page, Web, redirect

Items = dict[str, Item]


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as started:
        yield started


@pytest.fixture
def read(web: Web, tmp_path: Path) -> Callable[..., Items]:
    """Return a function that reads a source as a sync does, and returns the items by path."""
    known: dict[str, Known] = {}

    def sync(path: str, **options: Any) -> Items:
        source = WebSource(web.url(path), WebOptions(**options), max_bytes=100_000, allow_private=True)
        items = list(source.items(known))
        for item in items:
            if item.name:
                file = tmp_path / item.name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(item.content)
                known[item.address] = Known(file, item.version)
        assert len({item.address for item in items}) == len(items), "each once"
        return {item.address.removeprefix(web.url("")): item for item in items}

    return sync


def page(*links: str, text: str = "Pumps", etag: str = "") -> Page:
    anchors = "".join(f"<a href='{link}'>x</a>" for link in links)
    return Page(f"<html><body>{text}{anchors}</body></html>".encode(), headers={"ETag": f'"{etag}"'} if etag else {})


def test_a_site_is_read_by_its_links_within_depth_and_folder(web: Web, read: Callable[..., Items]) -> None:
    web.pages["/docs/"] = page("a.html", "b.html#part", "/other/", "https://elsewhere.example/", "mailto:x@y.z")
    web.pages["/docs/a.html"] = page("deep/c", "../docs/")
    web.pages["/docs/b.html"] = page()
    web.pages["/docs/deep/c"] = page("d")
    assert [*read("/docs/")] == ["/docs/", "/docs/a.html", "/docs/b.html", "/docs/deep/c"]
    assert "/docs/deep/d" not in web.asked
    names = [item.name.partition("/")[2] for item in read("/docs/", depth=1).values()]
    assert names == ["docs/index.html", "docs/a.html", "docs/b.html"]
    assert [*read("/docs/", depth=0)] == ["/docs/"]


def test_a_site_of_300_pages_is_read_up_to_its_limit(web: Web, read: Callable[..., Items]) -> None:
    web.pages["/"] = page(*(f"/{number}" for number in range(300)))
    web.pages |= {f"/{number}": page(text=f"Page {number}") for number in range(300)}
    assert sum(bool(item.content) for item in read("/").values()) == 301
    found = read("/", limit=10)
    assert sum(bool(item.content) for item in found.values()) == 10
    assert {item.skipped for item in found.values()} == {"", "it is beyond the limit of 10 pages"}


def test_only_changed_pages_are_transferred(web: Web, read: Callable[..., Items]) -> None:
    web.pages["/"] = page("/a", "/b", etag="1")
    web.pages["/a"] = page("/c", etag="1")
    web.pages["/b"] = Page(b"<p>b</p>", headers={"Last-Modified": "Mon, 01 Jun 2026 10:00:00 GMT"})
    web.pages["/c"] = page()
    read("/")
    web.pages["/c"] = page(text="Changed")
    again = read("/")
    assert web.unchanged == ["/", "/a", "/b"]
    assert [path for path, item in again.items() if item.is_unchanged] == ["/", "/a", "/b"]
    assert b"Changed" in again["/c"].content, "the links of unchanged pages are followed"


def test_a_page_that_is_gone_is_skipped_and_one_that_fails_is_an_error(web: Web, read: Callable[..., Items]) -> None:
    web.pages["/"] = page("/gone", "/broken", "/large")
    web.pages["/broken"] = Page(b"", status=503)
    web.pages["/large"] = Page(b"x" * 200_000)
    found = read("/")
    assert "404" in found["/gone"].skipped
    assert "503" in found["/broken"].error
    assert "100000 bytes" in found["/large"].error


def test_pages_behind_a_page_that_fails_are_kept(web: Web, read: Callable[..., Items]) -> None:
    web.pages["/"] = page("/hub", "/b")
    web.pages["/hub"] = page("/c")
    web.pages["/b"] = web.pages["/c"] = page(etag="1")
    read("/")
    web.pages["/hub"] = Page(b"", status=503)
    found = read("/")
    assert found["/hub"].error
    assert found["/c"].is_unchanged
    web.pages["/hub"] = page()
    assert "/c" not in read("/")


def test_links_that_are_no_addresses_and_pages_without_elements_are_passed_over(
    web: Web, read: Callable[..., Items]
) -> None:
    web.pages["/"] = page("http://[site]/", "", "/empty", "/b")
    web.pages["/empty"] = Page(b"<!-- nothing -->")
    web.pages["/b"] = page()
    assert [*read("/")] == ["/", "/empty", "/b"]


def test_a_damaged_sitemap_is_an_error(web: Web, read: Callable[..., Items]) -> None:
    web.pages["/robots.txt"] = Page(f"Sitemap: {web.url('/pages.xml.gz')}".encode(), "text/plain")
    web.pages["/pages.xml.gz"] = Page(gzip.compress(sitemap(web.url("/a")))[:30], "application/gzip")
    web.pages["/"] = page()
    with pytest.raises(SourceFailed, match="sitemap is damaged"):
        read("/")


@pytest.mark.parametrize("robots", [True, False])
def test_robots_txt_is_obeyed_unless_told_otherwise(web: Web, read: Callable[..., Items], robots: bool) -> None:
    web.pages["/robots.txt"] = Page(b"User-agent: *\nDisallow: /private", "text/plain")
    web.pages["/"] = page("/private/a", "/open")
    web.pages["/private/a"] = web.pages["/open"] = page()
    found = read("/", robots=robots)
    assert ("/private/a" in web.asked) is not robots
    assert bool(found["/private/a"].skipped) is robots
    assert found["/open"].content


def test_a_site_whose_robots_txt_cannot_be_read_is_not_read(web: Web, read: Callable[..., Items]) -> None:
    web.pages["/robots.txt"] = Page(b"", status=503)
    with pytest.raises(SourceFailed, match=r"robots\.txt"):
        read("/")


def sitemap(*addresses: str, index: bool = False) -> bytes:
    root, each = ("sitemapindex", "sitemap") if index else ("urlset", "url")
    entries = "".join(f"<{each}><loc>{address}</loc></{each}>" for address in addresses)
    return (
        f"<?xml version='1.0'?><{root} xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{entries}</{root}>".encode()
    )


def test_sitemaps_are_read_also_packed_and_nested(web: Web, read: Callable[..., Items]) -> None:
    web.pages["/index.xml"] = Page(sitemap(web.url("/pages.xml.gz"), index=True), "application/xml")
    listed = sitemap(web.url("/a"), web.url("/docs/b"), "https://elsewhere.example/c")
    web.pages["/pages.xml.gz"] = Page(gzip.compress(listed), "application/gzip")
    web.pages["/a"] = web.pages["/docs/b"] = page()
    assert [*read("/index.xml")] == ["/a", "/docs/b"]
    web.pages["/robots.txt"] = Page(f"Sitemap: {web.url('/index.xml')}".encode(), "text/plain")
    web.pages["/docs/"] = page()
    assert [*read("/docs/")] == ["/docs/", "/docs/b"], "the sitemap that robots.txt names, within the folder"


@pytest.mark.parametrize("form", ["rss", "atom"])
def test_a_feed_gives_the_pages_of_its_entries_and_keeps_old_ones(
    web: Web, read: Callable[..., Items], form: str
) -> None:
    def feed(*paths: str) -> Page:
        if form == "rss":
            entries = "".join(f"<item><title>x</title><link>{web.url(path)}</link></item>" for path in paths)
            entries += "<item><title>x</title><link>http://a%5Bb/</link></item>"
            return Page(f"<rss version='2.0'><channel>{entries}</channel></rss>".encode(), "application/rss+xml")
        entries = "".join(f"<entry><id>{path}</id><link href='{web.url(path)}'/></entry>" for path in paths)
        text = f"<?xml version='1.0'?><feed xmlns='http://www.w3.org/2005/Atom'>{entries}</feed>"
        return Page(text.encode(), "application/atom+xml")

    web.pages |= {path: page("/about") for path in ("/1", "/2", "/3")}
    web.pages["/feed"] = feed("/1", "/2")
    assert [path for path, item in read("/feed").items() if item.content] == ["/1", "/2"], "links are not followed"
    web.pages["/feed"] = feed("/3", "/2")
    assert {path: item.is_unchanged for path, item in read("/feed").items()} == {"/3": False, "/2": False, "/1": True}


def test_redirects_are_followed_within_the_site_and_pages_read_once(web: Web, read: Callable[..., Items]) -> None:
    web.pages["/docs/"] = page("old", "new", "login")
    web.pages["/docs/old"] = redirect("/docs/new")
    web.pages["/docs/login"] = redirect("/login")
    web.pages["/docs/new"] = web.pages["/login"] = page()
    assert [*read("/docs/")] == ["/docs/", "/docs/old"]


def test_internal_addresses_are_refused(web: Web) -> None:
    web.pages["/"] = page()
    source = WebSource(web.url("/"), WebOptions(depth=0), max_bytes=1000, allow_private=False)
    with pytest.raises(SourceFailed, match=r"private network \(`ingest.allow_private_addresses`\)"):
        list(source.items({}))
    assert web.asked == []


@pytest.mark.parametrize(
    ("address", "media_type", "name"),
    [
        ("https://x.org", "text/html", "x.org/index.html"),
        ("https://x.org/a/", "text/html", "x.org/a/index.html"),
        ("https://x.org/a.html", "text/html", "x.org/a.html"),
        ("https://x.org/paper", "application/pdf", "x.org/paper.pdf"),
        ("https://x.org/a.php?id=1&b=/c", "text/html", "x.org/a.php_id=1&b=_c.html"),
        ("https://x.org:8080/../.git", "text/plain", "x.org_8080/_/git.txt"),
    ],
)
def test_the_name_of_a_page_is_made_from_its_address(address: str, media_type: str, name: str) -> None:
    assert page_name(address, media_type) == name
