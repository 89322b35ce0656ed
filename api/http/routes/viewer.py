"""The viewer, and the documentation of the REST API in Swagger UI. Neither loads files from other hosts."""

from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

from api.http.middleware.host_origin import SAFE_HEADERS
from api.http.router import make_router

FOLDER = Path(__file__).parents[2] / "viewer"
_CONTENT = "Content-Security-Policy"
_DOCS_HEADERS = {_CONTENT: f"{SAFE_HEADERS[_CONTENT]}; img-src 'self' data:"}  # Swagger UI has icons as data URLs
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


@router.get("/docs")
def docs() -> FileResponse:
    """Return the page of Swagger UI."""
    return FileResponse(FOLDER / "docs" / "index.html", headers=_DOCS_HEADERS)


def mount(app: FastAPI) -> None:
    """Serve the page's files under /viewer, and those of Swagger UI, which fastapi-offline bundles."""
    app.mount("/docs/assets", StaticFiles(directory=Path(str(files("fastapi_offline"))) / "static"))
    app.mount("/viewer", GZipMiddleware(StaticFiles(directory=FOLDER)))
