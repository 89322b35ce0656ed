"""The viewer: static files of this package."""

from pathlib import Path

from fastapi import FastAPI
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

from api.http.router import make_router

FOLDER = Path(__file__).parents[2] / "viewer"
_WIDGET_HEADERS = {"Cache-Control": "no-cache", "Cross-Origin-Resource-Policy": "cross-origin"}

router = make_router(include_in_schema=False)


@router.get("/")
def page() -> FileResponse:
    """Return the page, which reads its data from `/v1`."""
    return FileResponse(FOLDER / "index.html", headers={"Cache-Control": "no-cache"})


@router.get("/widget.js")
def widget() -> FileResponse:
    """Return the box for questions, which pages of other sites load."""
    return FileResponse(FOLDER / "widget.js", headers=_WIDGET_HEADERS)


def mount(app: FastAPI) -> None:
    """Serve the page's files under /viewer."""
    app.mount("/viewer", GZipMiddleware(StaticFiles(directory=FOLDER)))
