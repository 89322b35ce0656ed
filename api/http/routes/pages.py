"""The files of documents as they are stored, and their pages as pictures with a quote marked."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path, PurePosixPath
from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi import Path as InPath
from fastapi.responses import FileResponse
from pydantic import Field
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from api.auth.permissions import Caller, Right
from api.errors import RangeNotThere
from api.http.deps import CollectionQuery, CurrentCaller, Served, Service
from api.http.errors import problem_of, problem_response, problems
from api.http.routes.documents import DocumentId
from api.services.documents import find_document
from api.services.originals import original
from ingest.errors import PageNotShown
from ingest.ledger.records import DocumentRecord
from ingest.pages.renderer import make_page_request
from ingest.pages.request import PageBox, RenderedPage
from vectorstore.models import FrozenModel

router = APIRouter(prefix="/v1/documents", tags=["documents"])

UNTRUSTED = {"Content-Security-Policy": "sandbox", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
"""For what others have written: a browser is to run none of it, whatever it says it is."""

_NO_SUCH_BYTES = (400, 416)  # how Starlette answers a Range header, in a form of its own
_SHOWN_TYPES = ("application/pdf", "image/")

PageNumber = Annotated[int, InPath(ge=1, description="Counted from 1.", examples=[1])]
Start = Annotated[int, Query(ge=0, description="Where the part to be marked begins in the parsed text.")]
End = Annotated[int, Query(ge=0, description="Where it ends; nothing is marked unless it is over `start`.")]


class PageInfo(FrozenModel):
    """A page, and where on it a part of the parsed text stands."""

    width: float = Field(description="in points, or in pixels of an image")
    height: float
    located: bool = Field(description="whether it is sure where the part stands; if not, nothing is marked")
    boxes: tuple[PageBox, ...] = Field(description="left, top, right, bottom of its lines, in fractions of the page")


@router.get(
    "/{document}/original",
    responses={
        200: {"content": {"application/octet-stream": {}}, "description": "The bytes, with their media type."},
        206: {"content": {"application/octet-stream": {}}, "description": "The part that a Range header asks for."},
        **problems(404, 410, 416, 422, 503),
    },
    response_class=Response,
)
def original_file(
    service: Served, caller: CurrentCaller, document: DocumentId, collection: CollectionQuery = None
) -> Response:
    """The file that a document was read from, to be saved; it is never shown in place.

    What lies in an archive or a message is taken out of it once more. A file that has gone or changed since it was
    read is a problem (410); its parsed text is still there.
    """
    found = _found(service, caller, document, collection)
    with ExitStack() as stack:
        path = stack.enter_context(original(service.candor, found))
        return _Lent(
            path, stack.pop_all(), headers=UNTRUSTED, filename=PurePosixPath(found.name).name,
            media_type=found.mime_type or "application/octet-stream",
        )  # fmt: skip


@router.get(
    "/{document}/pages/{page}.png",
    responses={
        200: {
            "content": {"image/png": {}},
            "description": "The page; the header `X-Located` says `true` if the part is marked, else `false`.",
        },
        **problems(404, 410, 422, 503),
    },
    response_class=Response,
)
async def page_image(
    service: Served,
    caller: CurrentCaller,
    document: DocumentId,
    page: PageNumber,
    start: Start = 0,
    end: End = 0,
    scale: Annotated[float, Query(gt=0, le=4, description="Pixels per point; large pages get fewer.")] = 2.0,
    collection: CollectionQuery = None,
) -> Response:
    """A page of a PDF, or an image, as a picture, with a part of the parsed text marked.

    Where it is not sure where that part stands on the page, nothing is marked, and the header `X-Located` says so.
    """
    drawn, picture = await _drawn(service, caller, document, collection, page, start, end, scale)
    headers = {**UNTRUSTED, "X-Located": str(drawn.located).lower()}
    return Response(picture, media_type="image/png", headers=headers)


@router.get("/{document}/pages/{page}", responses=problems(404, 410, 422, 503))
async def page(
    service: Served,
    caller: CurrentCaller,
    document: DocumentId,
    page: PageNumber,
    start: Start = 0,
    end: End = 0,
    collection: CollectionQuery = None,
) -> PageInfo:
    """How large a page is, and where on it a part of the parsed text stands."""
    drawn, _ = await _drawn(service, caller, document, collection, page, start, end, 0.0)
    return PageInfo(width=drawn.width, height=drawn.height, located=drawn.located, boxes=drawn.boxes)


async def _drawn(
    service: Service, caller: Caller, document: str, collection: str | None, page: int, start: int, end: int,
    scale: float,
) -> tuple[RenderedPage, bytes]:  # fmt: skip
    found = await asyncio.to_thread(_found, service, caller, document, collection)
    if not found.mime_type.startswith(_SHOWN_TYPES):
        raise PageNotShown(f"{found.name!r} is no PDF and no image: it has no pages that could be shown.")
    kept = await asyncio.to_thread(service.candor.ledger.text, found.collection, found.id)
    async with AsyncExitStack() as stack:
        lent = original(service.candor, found)
        path = await asyncio.to_thread(lent.__enter__)
        stack.push(lent)
        request = make_page_request(path, page, kept.text, kept.pages, start, end, scale)
        return await service.candor.pages.render(request)


def _found(service: Service, caller: Caller, document: str, collection: str | None) -> DocumentRecord:
    return find_document(service.candor, document, service.collection(caller, Right.READ, collection))


class _Lent(FileResponse):
    """A file that is given back when it was sent, or could not be."""

    def __init__(self, path: Path, lent: ExitStack, *, headers: dict[str, str], filename: str, media_type: str) -> None:
        super().__init__(path, headers=headers, filename=filename, media_type=media_type)
        self._lent = lent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = False

        async def sent(message: Message) -> None:
            nonlocal refused
            if message["type"] == "http.response.start" and message["status"] in _NO_SUCH_BYTES:
                refused = True
                error = RangeNotThere(Headers(scope=scope)["range"], os.stat(self.path).st_size)
                await problem_response(problem_of(error), error.headers)(scope, receive, send)
            if not refused:
                await send(message)

        with self._lent:
            await super().__call__(scope, receive, sent)
