"""A real HTTP server on a free port of localhost that serves the pages of a test.

with Web() as web:
    web.pages["/a"] = Page(b"<h1>Pumps</h1>")
    web.url("/a")
assert web.asked == ["/a"]
"""

from __future__ import annotations

from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.server_thread import ServerThread


@dataclass(frozen=True)
class Page:
    """A response."""

    body: bytes
    media_type: str = "text/html"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


def redirect(url: str) -> Page:
    """Return a redirect to another URL."""
    return Page(b"", status=302, headers={"Location": url})


class Web(ServerThread):
    """The server. ``asked`` lists the requested paths with their query strings, in order."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.asked: list[str] = []
        self.unchanged: list[str] = []  # paths of pages that were not sent again
        self.authorizations: list[str | None] = []
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                web.asked.append(self.path)
                web.authorizations.append(self.headers.get("Authorization"))
                page = web.pages.get(self.path.partition("?")[0], Page(b"", status=404))
                sent = (self.headers.get("If-None-Match"), self.headers.get("If-Modified-Since"))
                if {page.headers.get("ETag"), page.headers.get("Last-Modified")} & set(sent) - {None}:
                    web.unchanged.append(self.path)
                    page = Page(b"", status=304)
                self.send_response(page.status)
                for name, value in {"Content-Type": page.media_type, **page.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(page.body)))
                self.end_headers()
                self.wfile.write(page.body)

            def log_message(self, *_: Any) -> None:
                pass

        super().__init__(ThreadingHTTPServer(("127.0.0.1", 0), Handler))

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"
