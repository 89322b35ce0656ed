"""Detects whether a model reads pictures.

Ollama reports the capabilities of its models. OpenAI-compatible servers do not, so Candor draws a number and asks them
for it: some servers accept a picture and drop it. Servers reject pictures with different status codes: OpenAI and vLLM
with 400, DeepSeek with 422, OpenRouter with 404, llama.cpp with 500. Candor therefore repeats a rejected request
without the picture. If it succeeds now, the picture was the cause.
"""

import asyncio
import re
import secrets
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from multi_agent.errors import LLMError, LLMRefused, LLMUnavailable, LLMUnreachable
from multi_agent.llm.endpoint import EndpointRequest
from multi_agent.llm.endpoints.memory import EndpointMemory
from multi_agent.llm.endpoints.ollama_native import OllamaNative
from multi_agent.llm.endpoints.openai_compatible import OpenAICompatible
from multi_agent.llm.settings import EndpointSettings
from multi_agent.model import Message, Picture

_FILE = "reads_pictures.json"
_SIZE = (224, 112)  # pixels; some models reject pictures below 64
NUMBERS = range(100, 1000)
"""The numbers of test pictures. A model that does not see the picture guesses one in 900."""
_OUTPUT_LIMIT = 1_000  # tokens of the response, thinking included
_QUESTION = "Which number does the picture show? Answer with the number alone."


class _Found(NamedTuple):
    accepts: bool
    reads: bool


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
        found = await _ask(self._settings)
        self._memory.keep(found.reads)
        self._known = found.accepts if self._settings.vision == "on" else found.reads
        return self._known


async def _ask(settings: EndpointSettings) -> _Found:
    limited = settings.model_copy(update={"max_output_tokens": min(settings.max_output_tokens, _OUTPUT_LIMIT)})
    match settings.provider:
        case "local":
            return _Found(accepts=False, reads=False)
        case "ollama":
            listed = "vision" in await OllamaNative(limited).capabilities()
            return _Found(accepts=listed, reads=listed)
        case "openai":
            return await _show_number(OpenAICompatible(limited))


async def _show_number(client: OpenAICompatible) -> _Found:
    """Return whether the endpoint accepts the picture of a number, and whether the model names the number.

    Raises the error of the same request without the picture, if any. A status code of 5xx may have another cause, so it
    counts as a rejection only if it repeats.
    """
    number = secrets.choice(NUMBERS)
    picture = Picture.of(draw_number(number))
    answer = await _answer(client, picture)
    if isinstance(answer, LLMError):
        if isinstance(other := await _answer(client), LLMError):
            raise other
        if not isinstance(answer, LLMUnavailable) or isinstance(answer := await _answer(client, picture), LLMError):
            return _Found(accepts=False, reads=False)
    return _Found(accepts=True, reads=str(number) in re.findall(r"\d+", answer))


async def _answer(client: OpenAICompatible, *pictures: Picture) -> str | LLMError:
    """Return the text of the answer, or the error with which the endpoint rejects the request."""
    message = Message(role="user", content=_QUESTION, pictures=pictures)
    try:
        return (await client.send_as("none", EndpointRequest((message,), {}, None))).text
    except LLMUnreachable:
        raise
    except (LLMRefused, LLMUnavailable) as error:
        return error


def draw_number(number: int) -> bytes:
    """Return a picture of the number as PNG."""
    from PIL import Image, ImageDraw, ImageFont

    image, file = Image.new("RGB", _SIZE, "white"), BytesIO()
    centre = (_SIZE[0] / 2, _SIZE[1] / 2)
    ImageDraw.Draw(image).text(centre, str(number), "black", ImageFont.load_default(72), anchor="mm")
    image.save(file, "PNG")
    return file.getvalue()
