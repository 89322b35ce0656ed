"""The viewer: static files of this package."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

from api.http.router import make_router

FOLDER = Path(__file__).parents[2] / "viewer"

router = make_router(include_in_schema=False)


@router.get("/")
def page() -> FileResponse:
    """Return the page, which reads its data from `/v1`."""
    return FileResponse(FOLDER / "index.html", headers={"Cache-Control": "no-cache"})


def mount(app: FastAPI) -> None:
    """Serve the page's files under /viewer."""
    app.mount("/viewer", GZipMiddleware(StaticFiles(directory=FOLDER)))
