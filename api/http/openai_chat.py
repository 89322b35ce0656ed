"""Candor as a chat model: what clients of OpenAI's API send, and what they are answered.

A collection is a model, and so is an agent of it that can be asked alone (``papers``, ``papers:Reader``). A question is
researched by itself: it is the last message of the user, and earlier ones are not read. The answer is the text with its
marks, the sources under it, and for every mark an annotation with the address of the evidence.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from api.errors import UsageError
from api.services.exports.export import UNSUPPORTED, Report, gaps_heading
from multi_agent.answer import Answer, Status
from multi_agent.request import Request
from multi_agent.storage.trace import RunSummary
from vectorstore.models import FrozenModel

_NOT_READ = "Each question is researched by itself; the earlier messages of this conversation are not read."
_NO_ANSWER = "The documents do not hold a complete answer."
# These would change what is answered; all other parameters tell a language model how to write, which is left to the
# panel, so they are taken and have no effect.
_NOT_DONE = ("tools", "functions", "response_format", "audio", "logprobs", "web_search_options")


class TextPart(BaseModel):
    """A part of a message."""

    type: str
    text: str = ""


class ChatMessage(BaseModel):
    """A message of the conversation; what else a client writes into one is left aside."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[TextPart] | None = None

    @property
    def text(self) -> str:
        """What it says. Raises UsageError for what is not text."""
        if isinstance(self.content, str) or self.content is None:
            return self.content or ""
        if other := [part.type for part in self.content if part.type != "text"]:
            raise UsageError(f"A question is text; a part of the type {other[0]!r} cannot be read.")
        return "\n".join(part.text for part in self.content)


class StreamOptions(BaseModel):
    """How a stream ends."""

    include_usage: bool = Field(default=False, description="whether its last chunk tells the tokens")


class ChatRequest(BaseModel):
    """A question, as clients of OpenAI's API send it. Parameters that tell a model how to write have no effect."""

    model_config = ConfigDict(extra="allow")

    model: str = Field(description="a collection, or `collection:agent`; GET /v1/models lists them")
    messages: list[ChatMessage] = Field(min_length=1, description="the last one of the user is the question")
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: int | None = Field(default=1, ge=1, description="one answer is given")

    @property
    def collection(self) -> str:
        """The collection that the model stands for."""
        return self.model.partition(":")[0]

    @property
    def continued(self) -> bool:
        """Whether anything was said before the question."""
        return sum(message.role in ("user", "assistant") for message in self.messages) > 1

    def asked(self) -> Request:
        """What the panel is asked. Raises UsageError for what it cannot do."""
        given = self.model_extra or {}
        if refused := [name for name in _NOT_DONE if given.get(name) not in (None, False, [], {"type": "text"})]:
            raise UsageError(f"{refused[0]!r} is not supported: the panel answers in text, with tools of its own.")
        if (self.n or 1) > 1:
            raise UsageError(f"One answer is given, not {self.n}: leave out 'n'.")
        questions = [message.text for message in self.messages if message.role == "user"]
        if not questions:
            raise UsageError("There is no message of the user, so nothing is asked.")
        agent = self.model.partition(":")[2]
        return Request(question=questions[-1], agent=agent, mode="direct" if agent else "auto").validated()


class ChatModel(FrozenModel):
    """What can be asked: a collection, or one agent of the panel over it."""

    id: str
    object: Literal["model"] = "model"
    created: int = Field(default=0, description="always 0: a collection grows, and has no day on which it was made")
    owned_by: str = "candor"


class ChatModels(FrozenModel):
    """All that can be asked."""

    object: Literal["list"] = "list"
    data: tuple[ChatModel, ...]


class UrlCitation(FrozenModel):
    """Where the evidence for a mark in the text can be seen."""

    start_index: int = Field(description="of the mark's first character in the text")
    end_index: int = Field(description="of its last one")
    title: str = Field(description="document and page")
    url: str


class Annotation(FrozenModel):
    """Belongs to a mark in the text."""

    type: Literal["url_citation"] = "url_citation"
    url_citation: UrlCitation


class Said(FrozenModel):
    """The text of an answer with its annotations."""

    text: str
    annotations: tuple[Annotation, ...]


class ChatUsage(FrozenModel):
    """The tokens of all prompts and responses of the run."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class AssistantMessage(FrozenModel):
    """The answer."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None
    annotations: tuple[Annotation, ...]


class Choice(FrozenModel):
    """The one answer that is given."""

    index: int = 0
    message: AssistantMessage
    logprobs: None = None
    finish_reason: Literal["stop"] = "stop"


class About(FrozenModel):
    """What OpenAI's API has no place for."""

    run_id: str
    status: Status
    confidence: float
    url: str = Field(description="where the run can be seen")
    note: str = Field(default="", description="what was left aside of the request")


class ChatCompletion(FrozenModel):
    """An answer, as clients of OpenAI's API read it."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: tuple[Choice, ...]
    usage: ChatUsage
    candor: About


class ErrorBody(FrozenModel):
    """What was wrong."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


class ChatError(FrozenModel):
    """An error, as clients of OpenAI's API read it."""

    error: ErrorBody


class Reply:
    """An answer on its way to a chat client: as a whole, or in chunks. ``page`` is the address of the viewer."""

    def __init__(self, asked: ChatRequest, run_id: str, created: int, page: str) -> None:
        self._asked, self._run_id, self._created = asked, run_id, created
        self._url = f"{page}#/ask/{run_id}"

    def whole(self, run: RunSummary, answer: Answer) -> ChatCompletion:
        """The answer at once."""
        said = told(run, answer, self._url)
        message = AssistantMessage(content=said.text, annotations=said.annotations)
        return ChatCompletion(
            id=self._id, created=self._created, model=self._asked.model, choices=(Choice(message=message),),
            usage=usage_of(answer), candor=self._about(answer),
        )  # fmt: skip

    def begins(self) -> list[dict[str, Any]]:
        """The first chunks."""
        note = [self.chunk({"reasoning_content": f"{_NOT_READ}\n"})] if self._asked.continued else []
        return [self.chunk({"role": "assistant", "content": ""}), *note]

    def ends(self, run: RunSummary, answer: Answer) -> list[dict[str, Any]]:
        """The text line by line, its annotations, and what was used if that was asked for."""
        said = told(run, answer, self._url)
        chunks = [self.chunk({"content": line}) for line in said.text.splitlines(keepends=True)]
        annotations = [each.model_dump(mode="json") for each in said.annotations]
        last = self.chunk({"annotations": annotations} if annotations else {}, finish_reason="stop")
        chunks.append({**last, "candor": self._about(answer).model_dump(mode="json")})
        if self._asked.stream_options and self._asked.stream_options.include_usage:
            chunks.append({**self.chunk({}), "choices": [], "usage": usage_of(answer).model_dump()})
        return chunks

    def chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        """A piece of the answer."""
        return {
            "id": self._id,
            "object": "chat.completion.chunk",
            "created": self._created,
            "model": self._asked.model,
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}],
        }

    @property
    def _id(self) -> str:
        return f"chatcmpl-{self._run_id}"

    def _about(self, answer: Answer) -> About:
        return About(
            run_id=self._run_id,
            status=answer.status,
            confidence=answer.confidence,
            url=self._url,
            note=_NOT_READ if self._asked.continued else "",
        )


def told(run: RunSummary, answer: Answer, url: str) -> Said:
    """The text of an answer: its statements with their marks, what it lacks, and its sources."""
    report = Report.of(run, answer)
    where = {source.mark: source.where for source in report.sources}
    text, annotations = "", []
    for statement in report.statements:
        text += ("\n" if text else "") + "- " if report.listed else " " if text else ""
        text += statement.text + " " * bool(statement.marks)
        for mark in statement.marks:
            if mark in where:
                end = len(text) + len(mark) + 1
                cited = UrlCitation(start_index=len(text), end_index=end, title=where[mark], url=f"{url}/{mark}")
                annotations.append(Annotation(url_citation=cited))
            text += f"[{mark}]"
        text += "" if statement.supported else f" ({UNSUPPORTED})"
    blocks = [text]
    if answer.status is Status.INSUFFICIENT:
        blocks += [_NO_ANSWER, answer.reasoning]
    gaps = [part for part in report.parts if part.heading == gaps_heading(answer)]
    blocks.append("\n".join(f"{part.heading}: {line}" for part in gaps for line in part.lines))
    sources = [f"[{source.mark}] {source.where}: “{source.quote}”" for source in report.sources]
    sources += [f"[{computed.mark}] {computed.purpose}" for computed in report.calculations]
    blocks.append("\n".join(["Sources:", *sources]) if sources else "")
    return Said(text="\n\n".join(filter(None, blocks)), annotations=tuple(annotations))


def usage_of(answer: Answer) -> ChatUsage:
    """What the run took."""
    used = answer.usage
    total = used.prompt_tokens + used.completion_tokens
    return ChatUsage(prompt_tokens=used.prompt_tokens, completion_tokens=used.completion_tokens, total_tokens=total)
