"""Local web pages: a SearXNG endpoint, a page that needs JavaScript, a forum and a PDF.

with Web() as web:
    publish(web, tmp_path)
"""

from __future__ import annotations

import json
from pathlib import Path

from support.files import write_pdf
from support.web import Page, Web

WEIGHT = "The Borea 12 weighs 120 kg."
OPINION = "Mine froze at -20 last winter."
NOISE = "The Borea 12 makes 38 decibels."
_APP = b"<html><head><title>Borea</title></head><body><div id=app></div><script src=/app.js></script></body></html>"


def publish(web: Web, folder: Path) -> None:
    """Add the pages to ``web``. Writes a temporary file to ``folder``."""
    web.pages["/app"] = Page(_APP)
    web.pages["/app.js"] = Page(b"fetch('/data.json').then(r => r.json()).then(d => { app.textContent = d.text })",
                                "text/javascript")  # fmt: skip
    web.pages["/data.json"] = Page(json.dumps({"text": WEIGHT}).encode(), "application/json")
    web.pages["/thread"] = Page(f"<title>Borea in winter</title><p>anna: {OPINION}</p><p>bert: Not mine.</p>".encode())
    pdf = write_pdf(folder / "noise.pdf", parts=["A report.", ("page",), NOISE])
    web.pages["/noise.pdf"] = Page(pdf.read_bytes(), "application/pdf")
    found = [{"url": web.url(path), "title": path, "content": "About pumps."} for path in ("/app", "/thread")]
    web.pages["/search"] = Page(json.dumps({"results": found}).encode(), "application/json")
