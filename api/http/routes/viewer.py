"""The web page: files of this package, and nothing else."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, FastAPI
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

FOLDER = Path(__file__).parents[2] / "viewer"

router = APIRouter(include_in_schema=False)


@router.get("/")
def page() -> FileResponse:
    """The page itself; what it shows, it asks for under `/v1`."""
    return FileResponse(FOLDER / "index.html", headers={"Cache-Control": "no-cache"})


def mount(app: FastAPI) -> None:
    """Serve the files of the page."""
    app.mount("/viewer", StaticFiles(directory=FOLDER))
