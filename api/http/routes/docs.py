"""The documentation of the REST API in Swagger UI, without files from other hosts."""

from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

from api.http.middleware.host_origin import SAFE_HEADERS
from api.http.router import make_router
from api.http.routes.viewer import FOLDER

PATH = "/docs"
_CONTENT = "Content-Security-Policy"
_HEADERS = {_CONTENT: f"{SAFE_HEADERS[_CONTENT]}; img-src 'self' data:"}  # Swagger UI has icons as data URLs

router = make_router(include_in_schema=False)


@router.get(PATH)
def docs() -> FileResponse:
    """Return the page of Swagger UI."""
    return FileResponse(FOLDER / "docs" / "index.html", headers=_HEADERS)


def mount(app: FastAPI) -> None:
    """Serve the files of Swagger UI, which fastapi-offline bundles."""
    app.mount(f"{PATH}/assets", StaticFiles(directory=Path(str(files("fastapi_offline"))) / "static"))
