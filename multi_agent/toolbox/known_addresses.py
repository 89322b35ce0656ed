"""Decides which URLs a run may fetch without an approval.

A text that a model reads can instruct the model to put data into a URL and fetch it. Therefore, a run fetches without
approval only URLs that the model cannot have invented. These are URLs in the person's questions, URLs in search results
and pages of this run, and URLs of the sites in ``tools.allowed_sites``. All others need an approval.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import httpx

from multi_agent.storage.tool_calls import ToolEntry

EVERY_SITE = "*"
WHY_ASKED = (
    "The model wrote this address itself: it is neither in the question, nor from a search or a page of this run. "
    "An address can carry what the model has read to the owner of the site."
)
_SCHEMES = ("http://", "https://")
_AROUND = str.maketrans(dict.fromkeys("<>\"'“”„‘’«»|", " "))
_BEFORE, _AFTER = "([{*_", ".,;:!?…)]}*_"

Address = tuple[str, bytes, str, int | None, bytes]


class KnownAddresses:
    """The URLs that one run may fetch without an approval."""

    def __init__(self, allowed_sites: Iterable[str] = ()) -> None:
        self._sites = tuple(site.lower().strip(".") for site in allowed_sites)
        self._said: set[Address] = set()

    def hear(self, texts: Iterable[str]) -> None:
        """Add the URLs in texts of the person."""
        self._said |= {address for text in texts for url in _urls_in(text) if (address := _address_of(url))}

    def cover(self, url: str, calls: Iterable[ToolEntry]) -> bool:
        """Return whether the run may fetch ``url``. ``calls`` are the calls that the run has made.

        Returns True for a text that is not a web URL, because it is never fetched.
        """
        address = _address_of(url)
        if address is None or address in self._said or self._is_allowed(address):
            return True
        results = (call.result for call in calls if call.result)
        return any(address == _address_of(given) for result in results for given in (*result.links, *result.sources))

    def _is_allowed(self, address: Address) -> bool:
        host = f".{address[2]}"
        return any(site == EVERY_SITE or host.endswith(f".{site}") for site in self._sites)


def _address_of(url: str) -> Address | None:
    """Return the normalized parts of ``url`` that a request sends, or None if it is not a web URL."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        return None
    return parsed.scheme, parsed.userinfo, parsed.host.lower(), parsed.port, parsed.raw_path


def _urls_in(text: str) -> Iterator[str]:
    """Yield the possible URLs in a text, which are words with a scheme or a dot, with and without final punctuation."""
    for word in text.translate(_AROUND).split():
        starts = [word.find(scheme) for scheme in _SCHEMES if scheme in word]
        written = word[min(starts) :] if starts else word.strip(_BEFORE + _AFTER)
        if not starts and "." not in written:
            continue
        schemes = ("",) if starts else _SCHEMES
        bare = len(written.rstrip(_AFTER))
        yield from (f"{scheme}{written[:end]}" for scheme in schemes for end in range(bare, len(written) + 1))
