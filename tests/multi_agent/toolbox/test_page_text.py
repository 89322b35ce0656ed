"""Extracts the text and the links of a page, in linear time in the number of attributes."""

from __future__ import annotations

import time

from multi_agent.toolbox.web import read_html


def test_an_element_with_many_attributes_takes_no_minutes() -> None:
    read_html("<p>Warm up: the first call imports the libraries.</p>", "https://example.org")
    attributes = " ".join(f"a{number}=1" for number in range(20_000))
    started = time.thread_time()
    page = read_html(
        f"<p {attributes}>The Borea 12 is blue.</p><a href='/auster'>The Auster</a>", "https://example.org"
    )
    assert time.thread_time() - started < 30, "it took minutes"
    assert "The Borea 12 is blue." in page.text
    assert page.links == ("https://example.org/auster",)


def test_a_link_that_is_no_address_is_left_out() -> None:
    page = read_html("<p>Pumps</p><a href='http://[host]/'>x</a><a href='/b#c'>y</a>", "https://example.org")
    assert page.links == ("https://example.org/b",)
