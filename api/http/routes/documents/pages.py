"""Original files of documents, and images of their pages with a marked quote."""

import os
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import Annotated

from fastapi import Depends, Header, Query, Response
from fastapi import Path as InPath
from fastapi.responses import FileResponse
from pydantic import Field
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from api.errors import RangeNotThere
from api.http.deps import CandorDep
from api.http.errors import problem_response, problem_responses
from api.http.router import make_router
from api.http.routes.documents.documents import ReadableDocument
from api.problems import problem_of
from api.services.documents.originals import open_original
from api.services.documents.shown_pages import PICTURE_SCALE, page_tag
from base.models import FrozenModel
from ingest.errors import DocumentNotFound
from ingest.ledger.records import DocumentRecord, DocumentState
from ingest.pages.request import PageBox

router = make_router(prefix="/v1/documents", tags=["documents"])

UNTRUSTED = {"Content-Security-Policy": "sandbox", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
"""Headers for content of documents. They prevent a browser from executing it."""

_RANGE_ERRORS = (400, 416)  # Starlette answers an invalid Range header without a problem

PageNumber = Annotated[int, InPath(ge=1, description="Page number, from 1.", examples=[1])]
Start = Annotated[int, Query(ge=0, description="Start of the text to mark, in the parsed text.")]
End = Annotated[int, Query(ge=0, description="End of the text to mark. Marks nothing unless it is above `start`.")]


async def _kept(document: ReadableDocument) -> DocumentRecord:
    if document.state is DocumentState.REMOVED:
        raise DocumentNotFound(f"{document.name!r} was removed from collection {document.collection!r}.")
    return document


ShownDocument = Annotated[DocumentRecord, Depends(_kept)]


class PageInfo(FrozenModel):
    """The size of a page and the position of a part of the parsed text on it."""

    width: float = Field(description="In points; for images in pixels.")
    height: float
    located: bool = Field(description="Whether the position of the text is certain. Otherwise nothing is marked.")
    boxes: tuple[PageBox, ...] = Field(
        description="Left, top, right and bottom of each line, as fractions of the page."
    )


@router.get(
    "/{document}/original",
    responses={
        200: {"content": {"application/octet-stream": {}}, "description": "The file with its media type."},
        206: {"content": {"application/octet-stream": {}}, "description": "The part that the Range header requests."},
        **problem_responses(404, 410, 416, 422, 503),
    },
    response_class=Response,
)
def original_file(candor: CandorDep, document: ReadableDocument) -> Response:
    """Download the original file of a document, as an attachment.

    A member of an archive or message is extracted again. If the file was deleted or changed since it was ingested, the
    response is a problem (410); the parsed text is still available.
    """
    with ExitStack() as stack:
        path = stack.enter_context(open_original(candor.ledger, document, candor.settings.ingest.max_file_mb))
        return _TemporaryFileResponse(
            path, stack.pop_all(), headers=UNTRUSTED, filename=PurePosixPath(document.name).name,
            media_type=document.mime_type or "application/octet-stream",
        )  # fmt: skip


@router.get(
    "/{document}/pages/{page}.png",
    responses={
        200: {
            "content": {"image/png": {}},
            "description": "The page. The header `X-Located` is `true` if the text is marked, otherwise `false`.",
        },
        304: {"description": "The picture has not changed: `If-None-Match` is its ETag."},
        **problem_responses(404, 410, 422, 503),
    },
    response_class=Response,
)
async def page_image(
    candor: CandorDep,
    document: ShownDocument,
    page: PageNumber,
    start: Start = 0,
    end: End = 0,
    scale: Annotated[float, Query(gt=0, le=4, description="Pixels per point. Large pages get fewer.")] = PICTURE_SCALE,
    if_none_match: Annotated[str | None, Header(description="The ETag of a picture that the client has.")] = None,
) -> Response:
    """Render a page of a PDF or an image, with a part of the parsed text marked.

    If the position of the text on the page is uncertain, nothing is marked and the header `X-Located` is `false`.
    The ETag changes with the document. The service caches the latest pictures.
    """
    marks = ((start, end),) if end > start else ()
    tag = f'"{page_tag(document, page, marks, scale)}"'
    headers = {**UNTRUSTED, "Cache-Control": "private, no-cache", "ETag": tag}
    if if_none_match == tag:
        return Response(status_code=304, headers=headers)
    drawn, image = await candor.pages.show(document, page, marks, scale)
    return Response(image, media_type="image/png", headers={**headers, "X-Located": str(bool(drawn.boxes)).lower()})


@router.get("/{document}/pages/{page}", responses=problem_responses(404, 410, 422, 503))
async def page(
    candor: CandorDep, document: ShownDocument, page: PageNumber, start: Start = 0, end: End = 0
) -> PageInfo:
    """Get the size of a page and the position of a part of the parsed text on it."""
    drawn, _ = await candor.pages.show(document, page, ((start, end),), 0.0)
    return PageInfo(width=drawn.width, height=drawn.height, located=bool(drawn.boxes), boxes=drawn.boxes)


class _TemporaryFileResponse(FileResponse):
    """Sends a file, then releases it."""

    def __init__(
        self, path: Path, release: ExitStack, *, headers: dict[str, str], filename: str, media_type: str
    ) -> None:
        super().__init__(path, headers=headers, filename=filename, media_type=media_type)
        self._release = release

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        rejected = False

        async def send_or_reject(message: Message) -> None:
            nonlocal rejected
            if message["type"] == "http.response.start" and message["status"] in _RANGE_ERRORS:
                rejected = True
                error = RangeNotThere(Headers(scope=scope)["range"], os.stat(self.path).st_size)
                await problem_response(problem_of(error), error.headers)(scope, receive, send)
            if not rejected:
                await send(message)

        with self._release:
            await super().__call__(scope, receive, send_or_reject)
