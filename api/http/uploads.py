"""Receives uploads (multipart/form-data) and writes their files to disk as they arrive, within limits.

``api/storage/uploads.py`` validates file names and stores the files permanently.
"""

import asyncio
from pathlib import Path, PurePosixPath
from typing import IO

from fastapi import Request
from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header
from starlette.requests import ClientDisconnect

from api.auth.keys import uploads_used_up
from api.auth.permissions import Limits
from api.errors import HomeError, UploadTooLarge, UsageError
from api.services.documents.selection import named_values
from api.storage.uploads import safe_name
from base.models import FrozenModel
from vectorstore.models import FieldValue

_MB = 1 << 20
_MOST_META = 100_000  # bytes


class UploadLimits(FrozenModel):
    """Limits of one upload."""

    total_bytes: int
    files: int
    file_bytes: int
    daily: Limits = Limits()
    """Limits of the key."""
    left_today: int | None = None
    """Bytes of files that the key may still upload today."""


async def receive_files(
    request: Request, folder: Path, limits: UploadLimits
) -> tuple[dict[PurePosixPath, Path], dict[str, FieldValue]]:
    """Write the files of the form into ``folder``. Return their paths by file name, and the fields named ``meta``.

    Raises UsageError for a malformed or incomplete form and for invalid names, UploadTooLarge, LimitReached, HomeError.
    """
    form = _Form(folder, limits)
    try:
        parser = _parser(request, form)
        async for part in request.stream():
            await asyncio.to_thread(form.feed, parser, part)
    except FormParserError as error:
        raise UsageError(f"The upload is not valid multipart/form-data: {error}.") from error
    except ClientDisconnect as error:
        raise UsageError("The upload is incomplete. Nothing was stored.") from error
    finally:
        form.close()
    return form.received(), named_values(each.decode("utf-8", "replace") for each in form.meta)


def _parser(request: Request, form: "_Form") -> MultipartParser:
    kind, options = parse_options_header(request.headers.get("content-type"))
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise UsageError("Send files as multipart/form-data, for example with `curl -F files=@report.pdf`.")
    sent = request.headers.get("content-length", "")
    if sent.isdecimal():
        form.check_total(int(sent))  # before reading the body
    return MultipartParser(
        options[b"boundary"],
        {
            "on_part_begin": form.begin,
            "on_header_field": form.header_name,
            "on_header_value": form.header_value,
            "on_header_end": form.header_end,
            "on_headers_finished": form.open,
            "on_part_data": form.write,
            "on_part_end": form.close,
            "on_end": form.end,
        },
    )


class _Form:
    """The part of a form received so far. Most methods are callbacks of the parser."""

    def __init__(self, folder: Path, limits: UploadLimits) -> None:
        self._folder, self._limits = folder, limits
        self._files: dict[PurePosixPath, Path] = {}
        self._name = self._value = self._disposition = b""
        self._open: IO[bytes] | None = None
        self._shown = ""
        self._total = self._written = self._stored = self._described = 0
        self._complete = False
        self._in_meta = False
        self.meta: list[bytearray] = []
        """The values of the fields named ``meta``."""

    def feed(self, parser: MultipartParser, part: bytes) -> None:
        """Parse the next part of the body. Blocks. Raises UploadTooLarge, HomeError, UsageError."""
        self.check_total(self._total + len(part))
        self._total += len(part)
        try:
            parser.write(part)
        except OSError as error:
            raise HomeError(
                f"Cannot store the upload in {str(self._folder)!r}: {error.strerror or error}. Free some disk space. "
                "Nothing was stored."
            ) from error

    def check_total(self, size: int) -> None:
        """Raise UploadTooLarge if the upload exceeds the total limit."""
        if size > self._limits.total_bytes:
            raise UploadTooLarge(
                f"The upload has more than {self._limits.total_bytes / _MB:,.1f} MB. Send the files in several "
                "uploads, or raise service.upload_bytes."
            )

    def received(self) -> dict[PurePosixPath, Path]:
        """Return all files of a complete form. Raises UsageError if it is incomplete or empty."""
        if not self._complete:
            raise UsageError("The upload is incomplete: the form has no end. Nothing was stored.")
        if not self._files:
            raise UsageError("The upload contains no file.")
        return self._files

    # Callbacks of the parser

    def begin(self) -> None:
        self._disposition = b""

    def header_name(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def header_end(self) -> None:
        if self._name.lower() == b"content-disposition":
            self._disposition = self._value
        self._name = self._value = b""

    def open(self) -> None:
        _, options = parse_options_header(self._disposition)
        self._in_meta = b"filename" not in options and options.get(b"name") == b"meta"
        if self._in_meta:
            self.meta.append(bytearray())
            return
        if b"filename" not in options:
            field = options.get(b"name", b"").decode(errors="replace")
            raise UsageError(f"The part {field!r} of the upload has no file name.")
        name = safe_name(_text(options[b"filename"]))
        if name in self._files:
            raise UsageError(f"The upload contains two files named {str(name)!r}. Rename one.")
        if len(self._files) == self._limits.files:
            raise UploadTooLarge(
                f"The upload has more than {self._limits.files:,} files. Send them in several uploads, or raise "
                "service.upload_files."
            )
        path = self._folder / str(len(self._files))
        self._files[name] = path
        self._shown, self._written = str(name), 0
        self._open = path.open("wb")

    def write(self, data: bytes, start: int, end: int) -> None:
        if self._in_meta:
            self.meta[-1] += data[start:end]
            self._described += end - start
            if self._described > _MOST_META:
                raise UsageError(f"The fields `meta` of the upload have more than {_MOST_META:,} bytes.")
            return
        assert self._open is not None
        self._written += end - start
        self._stored += end - start
        if self._limits.left_today is not None and self._stored > self._limits.left_today:
            raise uploads_used_up(self._limits.daily)
        if self._written > self._limits.file_bytes:
            raise UploadTooLarge(
                f"{self._shown!r} has more than {self._limits.file_bytes / _MB:,.0f} MB, the limit for one file. "
                "Split it, or raise ingest.max_file_mb."
            )
        self._open.write(memoryview(data)[start:end])

    def close(self) -> None:
        if self._open is not None:
            file, self._open = self._open, None
            file.close()

    def end(self) -> None:
        self._complete = True


def _text(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"The file name {name!r} is not valid UTF-8.") from error
