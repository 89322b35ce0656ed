"""Reads recordings of speech. ``unstructured`` transcribes them with Whisper; no other library here reads them."""

from dataclasses import replace

from ingest.errors import UnsupportedFormat
from ingest.reader import Reader, ReadRequest
from ingest.readers.shared import unstructured_library  # noqa: F401
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.subtitles import read_subtitles
from vectorstore.models import Scalar


def read_recording(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add what is said, as of subtitles. Raises UnsupportedFormat without the libraries and the model."""
    try:
        from unstructured.partition.audio import partition_audio

        spoken = partition_audio(filename=str(request.path))
    except (ImportError, OSError, RuntimeError) as error:
        raise UnsupportedFormat(
            f"{request.path} is a recording and was not transcribed: {error} Install ffmpeg and run "
            "`pip install 'unstructured[audio]'`, or ingest a transcript of it as a text file."
        ) from error
    cues = [
        f"{_clock(each.metadata.segment_start_seconds)} --> {_clock(each.metadata.segment_end_seconds)}\n{each.text}"
        for each in spoken
    ]
    return read_subtitles(replace(request, data="\n\n".join(["WEBVTT", *cues]).encode()), into)


def _clock(seconds: float | None) -> str:
    whole, rest = divmod(round((seconds or 0) * 1000), 1000)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}.{rest:03}"


READER = Reader(name="recordings", version=1, read=read_recording, mime_types=("audio/*", "video/*"))
