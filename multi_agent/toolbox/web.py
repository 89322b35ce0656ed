"""Fetches web pages and files for a model over http and https, only from public addresses and with a limited size.

Text that a model reads can trick it into fetching any address. Therefore, the connection uses exactly the IP address
that was checked, also after each redirect. This blocks host names that first resolve to a public address and later to a
private one (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from functools import cache
from typing import Any, NamedTuple

import httpx

from multi_agent.errors import ToolError
from multi_agent.settings.tools import ToolSettings

_REDIRECTS = 5
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_PRIVATE = (ipaddress.ip_network("fec0::/10"), ipaddress.ip_network("64:ff9b:1::/48"))
"""Site-local addresses (RFC 3879) and NAT64 for local use (RFC 8215), which ``ipaddress`` counts as global."""
_HEADERS = {"User-Agent": "Candor", "Accept-Encoding": "identity"}


class Fetched(NamedTuple):
    """The response to a fetch."""

    url: str
    """The final URL, after redirects."""
    media_type: str
    charset: str | None
    content: bytes


async def fetch(url: str, settings: ToolSettings, max_bytes: int, params: dict[str, Any] | None = None) -> Fetched:
    """Return a page or file of at most ``max_bytes`` bytes. Raises ToolError with the reason if it cannot."""
    async with httpx.AsyncClient(
        transport=CheckedTransport(allow_private=settings.allow_private_addresses),
        follow_redirects=True,
        max_redirects=_REDIRECTS,
        headers=_HEADERS,
        timeout=settings.timeout_s,
    ) as client:
        try:
            async with client.stream("GET", url, params=params) as response:
                if response.is_error:
                    raise ToolError(f"{url} answers {response.status_code} {response.reason_phrase}.")
                _require_plain(response)
                return _fetched(response, await _read(response, max_bytes))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ToolError(f"{url} cannot be fetched: {str(error) or type(error).__name__}.") from error


@cache
def _tls_context() -> ssl.SSLContext:
    """Return the context of all fetches. Loading the certificate authorities takes 24 ms."""
    return httpx.create_ssl_context()


def _require_plain(response: httpx.Response) -> None:
    """Raise ToolError for a compressed response. It was not requested, and a small one can become gigabytes."""
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise ToolError(f"{response.url} is not read: it is compressed ({encoding}), and Candor requested plain text.")


async def _read(response: httpx.Response, max_bytes: int) -> bytes:
    content = bytearray()
    async for part in response.aiter_raw():
        content += part
        if len(content) > max_bytes:
            raise ToolError(f"{response.url} has more than the {max_bytes} bytes that may be fetched.")
    return bytes(content)


def _fetched(response: httpx.Response, content: bytes) -> Fetched:
    media_type = response.headers.get("Content-Type", "application/octet-stream").partition(";")[0].strip().lower()
    return Fetched(str(response.url), media_type, response.charset_encoding, content)


class CheckedTransport(httpx.AsyncBaseTransport):
    """Resolves the host, checks all its addresses, and connects to one of the checked addresses."""

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private
        # No keep-alive, because the pool would reuse a connection by its IP address regardless of the host name.
        self._inner = httpx.AsyncHTTPTransport(_tls_context(), limits=httpx.Limits(max_keepalive_connections=0))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.scheme not in ("http", "https"):
            raise ToolError(f"{request.url} is not fetched: only http and https are.")
        addresses = await self._addresses(request.url)
        for address in addresses[:-1]:
            try:
                return await self._inner.handle_async_request(_to(address, request))
            except httpx.ConnectError:
                continue
        return await self._inner.handle_async_request(_to(addresses[-1], request))

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _addresses(self, url: httpx.URL) -> list[str]:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(url.host, url.port or 0, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise ToolError(f"The host of {url} is not known: {error}.") from error
        addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
        if not self._allow_private and not all(map(is_public, addresses)):
            raise ToolError(
                f"{url} is not fetched: it leads to this machine or to a private network "
                "(`tools.allow_private_addresses`)."
            )
        return addresses


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
