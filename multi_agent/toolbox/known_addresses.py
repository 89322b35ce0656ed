"""Decides which URLs a run may fetch without an approval.

A text that a model reads can instruct the model to put data into a URL and fetch it. Therefore, a run fetches without
approval only URLs that the model cannot have invented. These are URLs in the person's questions, URLs in search results
and pages of this run, and URLs of the sites in ``tools.allowed_sites``. All others need an approval.

A page can offer a link for each letter, so that the choice of links carries a text away. Therefore, the links of pages
need an approval once the run has read documents, and a site may offer only ``NEW_PER_SITE`` addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import httpx

from multi_agent.storage.tool_calls import ToolEntry
from multi_agent.values.events import Event
from multi_agent.values.evidence_events import Searched

EVERY_SITE = "*"
NEW_PER_SITE = 10
"""Addresses of one site that a run fetches without approval because a search or a page gave them."""
WHY_ASKED = (
    "The model wrote this address itself, or it is a link of a page after documents were read, or one of more than "
    f"{NEW_PER_SITE} of its site. An address can carry what the model has read to the owner of the site."
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
        self._documents_read = False

    async def listen(self, event: Event) -> None:
        """Notice that a step has read documents. Subscribe this to the run's bus."""
        self._documents_read |= bool(event.step and isinstance(event.body, Searched) and event.body.chunks_found)

    def hear(self, texts: Iterable[str]) -> None:
        """Add the URLs in texts of the person."""
        self._said |= {address for text in texts for url in _urls_in(text) if (address := _address_of(url))}

    def cover(self, url: str, calls: Sequence[ToolEntry]) -> bool:
        """Return whether the run may fetch ``url``. ``calls`` are the calls that the run has made.

        Returns True for a text that is not a web URL, because it is never fetched.
        """
        address = _address_of(url)
        if address is None or address in self._said or self._is_allowed(address):
            return True
        return address in self._given(calls) and len(_fetched(calls, address) | {address}) <= NEW_PER_SITE

    def _given(self, calls: Iterable[ToolEntry]) -> set[Address | None]:
        """Return the addresses from searches and pages of this run."""
        results = [("url" in call.arguments, call.result) for call in calls if call.result]
        read = self._documents_read or any(each.origin is None for _, result in results for each in result.passages)
        return {
            _address_of(url)
            for is_page, result in results
            for url in (*result.sources, *(() if is_page and read else result.links))
        }

    def _is_allowed(self, address: Address) -> bool:
        host = f".{address[2]}"
        return any(site == EVERY_SITE or host.endswith(f".{site}") for site in self._sites)


def _fetched(calls: Iterable[ToolEntry], like: Address) -> set[Address]:
    """Return the fetched addresses of the same site. All hosts of a domain are one site."""
    fetched = {_address_of(str(call.arguments["url"])) for call in calls if "url" in call.arguments}
    return {each for each in fetched if each and each[2].split(".")[-2:] == like[2].split(".")[-2:]}


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
