"""Fetches web pages and files over http and https, by default only from public addresses and with a limited size.

A text, a page or a person can name any address. Therefore, the connection uses exactly the IP address that was checked,
also after each redirect. This blocks host names that first resolve to a public address and later to a
private one (DNS rebinding).
"""

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import httpx

from base.errors import Explained

_REDIRECTS = 5
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_PRIVATE = (ipaddress.ip_network("fec0::/10"), ipaddress.ip_network("64:ff9b:1::/48"))
"""Site-local addresses (RFC 3879) and NAT64 for local use (RFC 8215), which ``ipaddress`` counts as global."""
_HEADERS = {"User-Agent": "Candor", "Accept-Encoding": "identity"}


class WebError(Explained):
    """An address cannot be fetched, or must not be. ``status`` is the HTTP status of the answer, 0 without one."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Fetched(NamedTuple):
    """The response to a fetch."""

    url: str
    """The final URL, after redirects."""
    media_type: str
    charset: str | None
    content: bytes
    version: str = ""
    """What the server gives to notice changes: its ETag, otherwise the time of the last change."""
    is_unchanged: bool = False
    """Whether the server answered 304 (not modified). ``content`` is empty then."""


async def fetch(
    url: str,
    *,
    max_bytes: int,
    timeout_s: float,
    allow_private: bool,
    setting: str,
    params: Mapping[str, Any] | None = None,
    known: str = "",
) -> Fetched:
    """Return a page or file of at most ``max_bytes`` bytes. Raises WebError with the reason if it cannot.

    ``timeout_s`` limits each step of the connection. ``setting`` is the name of the setting behind ``allow_private``,
    for the message. ``known`` is the version that the caller has.
    """
    async with httpx.AsyncClient(
        transport=CheckedTransport(allow_private=allow_private, setting=setting),
        follow_redirects=True,
        max_redirects=_REDIRECTS,
        headers=_HEADERS | _conditions(known),
        timeout=timeout_s,
    ) as client:
        try:
            async with client.stream("GET", url, params=params) as response:
                if response.status_code == httpx.codes.NOT_MODIFIED and known:
                    return Fetched(str(response.url), "", None, b"", known, is_unchanged=True)
                if response.is_error:
                    raise WebError(
                        f"{url} answers {response.status_code} {response.reason_phrase}.", response.status_code
                    )
                _require_plain(response)
                return _fetched(response, await _read(response, max_bytes))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise WebError(f"{url} cannot be fetched: {str(error) or type(error).__name__}.") from error


def _conditions(known: str) -> dict[str, str]:
    """Return the headers that ask for the page only if it has changed."""
    if not known:
        return {}
    return {"If-None-Match": known} if known.endswith('"') else {"If-Modified-Since": known}


@cache
def _tls_context() -> ssl.SSLContext:
    """Return the context of all fetches. Loading the certificate authorities takes 24 ms."""
    return httpx.create_ssl_context()


def _require_plain(response: httpx.Response) -> None:
    """Raise WebError for a compressed response. It was not requested, and a small one can become gigabytes."""
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise WebError(f"{response.url} is not read: it is compressed ({encoding}), and Candor requested plain text.")


async def _read(response: httpx.Response, max_bytes: int) -> bytes:
    content = bytearray()
    async for part in response.aiter_raw():
        content += part
        if len(content) > max_bytes:
            raise WebError(f"{response.url} has more than the {max_bytes} bytes that may be fetched.")
    return bytes(content)


def _fetched(response: httpx.Response, content: bytes) -> Fetched:
    media_type = response.headers.get("Content-Type", "application/octet-stream").partition(";")[0].strip().lower()
    version = response.headers.get("ETag") or response.headers.get("Last-Modified", "")
    return Fetched(str(response.url), media_type, response.charset_encoding, content, version)


class CheckedTransport(httpx.AsyncBaseTransport):
    """Resolves the host, checks all its addresses, and connects to one of the checked addresses."""

    def __init__(self, *, allow_private: bool, setting: str) -> None:
        self._allow_private, self._setting = allow_private, setting
        # No keep-alive, because the pool would reuse a connection by its IP address regardless of the host name.
        self._inner = httpx.AsyncHTTPTransport(_tls_context(), limits=httpx.Limits(max_keepalive_connections=0))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.scheme not in ("http", "https"):
            raise WebError(f"{request.url} is not fetched: only http and https are.")
        addresses = await checked_addresses(request.url, allow_private=self._allow_private, setting=self._setting)
        for address in addresses[:-1]:
            try:
                return await self._inner.handle_async_request(_to(address, request))
            except httpx.ConnectError:
                continue
        return await self._inner.handle_async_request(_to(addresses[-1], request))

    async def aclose(self) -> None:
        await self._inner.aclose()


async def checked_addresses(url: httpx.URL, *, allow_private: bool, setting: str) -> list[str]:
    """Return the IP addresses of a host. Raises WebError if one of them is not public and ``setting`` is off."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(url.host, url.port or 0, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise WebError(f"The host of {url} is not known: {error}.") from error
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    if not allow_private and not all(map(is_public, addresses)):
        raise WebError(f"{url} is not fetched: it leads to this machine or to a private network (`{setting}`).")
    return addresses


def joined(base: str, link: str) -> str:
    """Resolve a link against the address of its page. Return it without its fragment.

    Returns an empty string for an empty link and for an invalid address, such as `http://[x/`.
    """
    try:
        address = urldefrag(urljoin(base, link.strip())).url if link.strip() else ""
        urlsplit(unquote(address))  # as the parser of robots.txt does
    except ValueError:
        return ""
    return address


def is_public(address: str) -> bool:
    """Return whether the address is public. An IPv4 address embedded in an IPv6 address is checked as IPv4."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        embedded = ip.ipv4_mapped or ip.sixtofour
        if ip in _NAT64:
            embedded = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        ip = embedded or ip
    return ip.is_global and not ip.is_multicast and not any(ip in network for network in _PRIVATE)


def _to(address: str, request: httpx.Request) -> httpx.Request:
    """Return the same request to the address. Host header and TLS certificate check keep the host name."""
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )
