"""Serves below a path of a proxy, such as /candor, whether or not the proxy removes the path from requests."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class RootPath:
    """ASGI middleware that removes the path from requests and adds it to addresses of redirects and of next pages."""

    def __init__(self, app: ASGIApp, root: str) -> None:
        self._app, self._root = app, root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        if scope["path"] == self._root and scope["type"] == "http":  # relative addresses of the page need the slash
            await RedirectResponse(f"{self._root}/")(scope, receive, send)
            return
        host = Headers(scope=scope).get("host", "")

        async def send_below(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                url = urlsplit(headers.get("location", ""))
                if url.path.startswith("/") and url.netloc in ("", host):
                    headers["location"] = url._replace(scheme="", netloc="", path=self._root + url.path).geturl()
                if (link := headers.get("link", "")).startswith("</"):
                    headers["link"] = f"<{self._root}{link[1:]}"
            await send(message)

        if scope["path"].startswith(f"{self._root}/"):
            path = scope["path"].removeprefix(self._root)
            scope = {**scope, "path": path, "raw_path": scope.get("raw_path", b"").removeprefix(self._root.encode())}
        await self._app(scope, receive, send_below)
