"""The routers of the modules below ``api/http/routes``."""

from typing import Any

from fastapi import APIRouter, Depends

from api.http.text_validation import require_json_header, require_valid_text


def make_router(**options: Any) -> APIRouter:
    """Return a router that checks every request for invalid text. ``options`` are those of ``APIRouter``.

    The checks belong to the router, not to the application: FastAPI builds each route again for an application that
    has dependencies of its own.
    """
    return APIRouter(dependencies=[Depends(require_json_header), Depends(require_valid_text)], **options)
