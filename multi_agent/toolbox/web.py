"""Fetching from the web for a model: http and https alone, nothing of this machine or its network, bounded in size.

A model can be talked into fetching an address by what it reads. So the address that is connected to is the one that
was checked, for every redirect anew: a name that resolves to a public address once and to a private one later gets
nowhere.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Any, NamedTuple

import httpx

from multi_agent.errors import ToolError
from multi_agent.toolbox.settings import ToolSettings

_REDIRECTS = 5
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_HEADERS = {"User-Agent": "Candor", "Accept-Encoding": "identity"}


class Fetched(NamedTuple):
    """What an address gave."""

    url: str
    """Where it came from in the end, after redirects."""
    media_type: str
    charset: str | None
    content: bytes


async def fetch(url: str, settings: ToolSettings, most: int, params: dict[str, Any] | None = None) -> Fetched:
    """At most so many bytes, of a page or file. Raises ToolError with why there are none."""
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
                return _fetched(response, await _read(response, most))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ToolError(f"{url} cannot be fetched: {str(error) or type(error).__name__}.") from error


async def _read(response: httpx.Response, most: int) -> bytes:
    content = bytearray()
    async for part in response.aiter_bytes():
        content += part
        if len(content) > most:
            raise ToolError(f"{response.url} has more than the {most} bytes that may be fetched.")
    return bytes(content)


def _fetched(response: httpx.Response, content: bytes) -> Fetched:
    media_type = response.headers.get("Content-Type", "application/octet-stream").partition(";")[0].strip().lower()
    return Fetched(str(response.url), media_type, response.charset_encoding, content)


class CheckedTransport(httpx.AsyncBaseTransport):
    """Resolves the host, checks every address of it, and connects to what was checked."""

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private
        # A connection is never used for a second request: it would be known by its address, whatever its name.
        self._inner = httpx.AsyncHTTPTransport(limits=httpx.Limits(max_keepalive_connections=0))

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
    """Whether the address is one of the internet; an IPv4 address in the clothes of an IPv6 one is judged as such."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        worn = ip.ipv4_mapped or ip.sixtofour
        if ip in _NAT64:
            worn = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        ip = worn or ip
    return ip.is_global and not ip.is_multicast


def _to(address: str, request: httpx.Request) -> httpx.Request:
    """The same request to the address; the name stays in its Host header, and is what a certificate has to be for."""
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )
