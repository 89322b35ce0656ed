"""Detects whether a model takes pictures, and adds advice to the errors of requests with pictures.

Ollama reports the capabilities of its models. OpenAI-compatible servers do not, so Candor sends them a tiny picture.
Servers reject it with different status codes: OpenAI and vLLM with 400, DeepSeek with 422, OpenRouter with 404,
llama.cpp with 500. Candor therefore repeats a rejected request without the picture. If it succeeds now, the picture was
the cause.
"""

from __future__ import annotations

import asyncio
import struct
import zlib
from pathlib import Path

from multi_agent.errors import LLMError, LLMRefused, LLMUnavailable, LLMUnreachable, PromptTooLong
from multi_agent.llm.endpoint import Endpoint, EndpointRequest, EndpointWrapper, Reply
from multi_agent.llm.endpoints.memory import EndpointMemory
from multi_agent.llm.endpoints.ollama_native import OllamaNative
from multi_agent.llm.endpoints.openai_compatible import OpenAICompatible
from multi_agent.llm.settings import EndpointSettings
from multi_agent.model import Message
from multi_agent.values.picture import Picture

_FILE = "vision.json"
_SIDE = 64  # pixels; some models reject smaller pictures
_RED = b"\xd0\x10\x10"
_OUTPUT_LIMIT = 1_000  # tokens of the response, thinking included
_QUESTION = "Answer with one word: green."
_REJECTED = (LLMRefused, LLMUnavailable)


class Vision:
    """Tells whether one model takes pictures: as the settings say, or as its endpoint says when it is first asked."""

    def __init__(self, settings: EndpointSettings, folder: Path | None = None) -> None:
        """``folder`` caches the endpoint's answer."""
        self._settings = settings
        self._memory = EndpointMemory(settings, folder, _FILE)
        kept = self._memory.recall() if settings.vision == "auto" else None
        self._known = kept if isinstance(kept, bool) else None
        self._turn = asyncio.Lock()

    async def available(self) -> bool:
        """Return whether pictures may be sent. Asks the endpoint once.

        Raises LLMRefused if the settings require pictures and the model takes none. Raises the errors of ``ask``.
        """
        if self._settings.vision == "off":
            return False
        async with self._turn:
            known = self._known if self._known is not None else await self.ask()
        if self._settings.vision == "on" and not known:
            setting = self._settings.setting
            raise LLMRefused(
                f"{setting('vision')} is 'on', but the {self._settings.name} takes no pictures. Set "
                f"{setting('model')} to a model that takes pictures, or set `vision` to 'auto' or 'off'."
            )
        return known

    async def ask(self) -> bool:
        """Ask the endpoint and store its answer. Raises a subclass of LLMError."""
        self._known = await _ask(self._settings)
        self._memory.keep(self._known)
        return self._known


class PictureErrors(EndpointWrapper):
    """An endpoint that adds advice to the error of a request with pictures: how to send fewer or none."""

    def __init__(self, inner: Endpoint, settings: EndpointSettings) -> None:
        super().__init__(inner)
        self._settings = settings

    async def send(self, request: EndpointRequest) -> Reply:
        try:
            return await self._inner.send(request)
        except (*_REJECTED, PromptTooLong) as error:
            pictures = sum(len(message.pictures) for message in request.messages)
            if not pictures or isinstance(error, LLMUnreachable):
                raise
            raise type(error)(f"{error} {self._advice(pictures)}", retry_after=error.retry_after) from error

    def _advice(self, pictures: int) -> str:
        number = "a picture of a page" if pictures == 1 else f"{pictures} pictures of pages"
        return (
            f"The request carried {number}. To send fewer, lower `pictures_per_call` under [research]; to send none, "
            f"set {self._settings.setting('vision')} to 'off'."
        )


async def _ask(settings: EndpointSettings) -> bool:
    limited = settings.model_copy(update={"max_output_tokens": min(settings.max_output_tokens, _OUTPUT_LIMIT)})
    match settings.provider:
        case "local":
            return False
        case "ollama":
            return "vision" in await OllamaNative(limited).capabilities()
        case "openai":
            return await _accepts_picture(OpenAICompatible(limited))


async def _accepts_picture(client: OpenAICompatible) -> bool:
    """Return whether the endpoint accepts a tiny picture. Raises the error of the same request without it, if any.

    A status code of 5xx may have another cause, so it counts as a rejection only if it repeats.
    """
    if (error := await _rejection(client, Picture.of(_tiny_png()))) is None:
        return True
    if (other := await _rejection(client)) is not None:
        raise other
    return isinstance(error, LLMUnavailable) and await _rejection(client, Picture.of(_tiny_png())) is None


async def _rejection(client: OpenAICompatible, *pictures: Picture) -> LLMError | None:
    """Return the error with which the endpoint rejects the request; None if it accepts it."""
    message = Message(role="user", content=_QUESTION, pictures=pictures)
    try:
        await client.send_as("none", EndpointRequest((message,), {}, None))
    except LLMUnreachable:
        raise
    except _REJECTED as error:
        return error
    return None


def _tiny_png() -> bytes:
    """Return a red square as PNG."""
    rows = (b"\0" + _RED * _SIDE) * _SIDE
    header = struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    chunks = (struct.pack(">I", len(data)) + kind + data + _checksum(kind + data) for kind, data in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _checksum(data: bytes) -> bytes:
    return struct.pack(">I", zlib.crc32(data))
