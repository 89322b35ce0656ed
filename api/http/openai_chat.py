"""The request and response models of OpenAI's chat API, and the conversion of answers to them.

A model is a collection (``papers``), several (``papers+mail``), or one with an agent (``papers:Reader``). The last
user message is the question. Earlier user and assistant messages complete the question. The answer is a text with
citation marks and sources. The mark of each quote has an annotation with a link to the evidence. Chat clients render
Markdown, so all text of documents and models is escaped.
"""

from itertools import pairwise
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from api.errors import UsageError
from api.services.exports.export import OTHER_VALUES, Report, gaps_heading
from api.services.exports.markdown import escaped, unescaped
from api.services.research.research import request_fields
from base.models import FrozenModel
from multi_agent.settings.research import Source
from multi_agent.storage.trace import RunSummary
from multi_agent.values.answer import Answer, Status
from multi_agent.values.request import EXCHANGES, DocumentFilter, Exchange, Request

_IGNORED_MESSAGES = "Messages with the role 'system' or 'developer' are ignored."
_NO_ANSWER = "The documents do not contain a complete answer."
# These parameters would change the answer. Others control how a language model writes; they are accepted and ignored.
_UNSUPPORTED_PARAMETERS = ("tools", "functions", "response_format", "audio", "logprobs", "web_search_options")


class MessagePart(BaseModel):
    """A part of a message."""

    type: str
    text: str = ""


class ChatMessage(BaseModel):
    """A message of the conversation. Unknown fields are ignored."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[MessagePart] | None = None

    @property
    def text(self) -> str:
        """The text of the message. Raises UsageError for other content."""
        if isinstance(self.content, str) or self.content is None:
            return self.content or ""
        if other := [part.type for part in self.content if part.type != "text"]:
            raise UsageError(f"A question must be text, but a part of it has the type {other[0]!r}.")
        return "\n".join(part.text for part in self.content)


class StreamOptions(BaseModel):
    """Options of a stream."""

    include_usage: bool = Field(default=False, description="Whether the last chunk contains the token usage.")


class ChatRequest(BaseModel):
    """A question in the format of OpenAI's API. Parameters that control how a model writes have no effect."""

    model_config = ConfigDict(extra="allow")

    model: str = Field(
        description="A collection, several (`papers+mail`), all (`*`), or one with an agent (`papers:Reader`). "
        "`GET /v1/models` lists collections and agents."
    )
    messages: list[ChatMessage] = Field(
        min_length=1, description="The last message with the role `user` is the question."
    )
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: int | None = Field(default=1, ge=1, description="Must be 1.")
    sources: tuple[Source, ...] | None = Field(
        default=None, min_length=1, description="Sources of the answer, instead of `research.sources`."
    )
    filter: DocumentFilter | None = Field(
        default=None, description="Filter for the documents that the run may read. Null: all documents."
    )

    @property
    def collection(self) -> str:
        """The selection of collections in the model name."""
        return self.model.partition(":")[0]

    @property
    def note(self) -> str:
        """A note on the ignored part of the request. Empty if nothing is ignored."""
        return _IGNORED_MESSAGES if any(each.role in ("system", "developer") for each in self.messages) else ""

    @property
    def conversation(self) -> tuple[Exchange, ...]:
        """The latest previous questions with their answers. Raises UsageError if a message is not text."""
        asked = [at for at, message in enumerate(self.messages) if message.role == "user"]
        return tuple(
            Exchange.in_short(self.messages[at].text, self._answer_between(at, after)) for at, after in pairwise(asked)
        )[-EXCHANGES:]

    def _answer_between(self, at: int, after: int) -> str:
        return unescaped("\n".join(each.text for each in self.messages[at:after] if each.role == "assistant"))

    def to_request(self) -> Request:
        """Return the request to the panel. Raises UsageError for unsupported parameters."""
        given = self.model_extra or {}
        if refused := [
            name for name in _UNSUPPORTED_PARAMETERS if given.get(name) not in (None, False, [], {"type": "text"})
        ]:
            raise UsageError(f"{refused[0]!r} is not supported. Answers are text, and agents use their own tools.")
        if (self.n or 1) > 1:
            raise UsageError(f"'n' must be 1, not {self.n}.")
        questions = [message.text for message in self.messages if message.role == "user"]
        if not questions:
            raise UsageError("No message has the role 'user', so there is no question.")
        agent = self.model.partition(":")[2]
        own = {"sources": self.sources} if self.sources else {}
        fields = {
            "question": questions[-1], "agent": agent, "conversation": self.conversation, "filter": self.filter, **own
        }  # fmt: skip
        return Request.model_construct(**request_fields(fields))


class ChatModel(FrozenModel):
    """A collection, or one agent over a collection."""

    id: str
    object: Literal["model"] = "model"
    created: int = Field(default=0, description="Always 0, because collections have no creation date.")
    owned_by: str = "candor"


class ChatModels(FrozenModel):
    """The available models."""

    object: Literal["list"] = "list"
    data: tuple[ChatModel, ...]


class UrlCitation(FrozenModel):
    """A link from a citation mark to its evidence."""

    start_index: int = Field(description="Index of the mark's first character in the text.")
    end_index: int = Field(description="Index of the mark's last character, as OpenAI counts.")
    title: str = Field(description="Document and page.")
    url: str


class Annotation(FrozenModel):
    """An annotation of a citation mark."""

    type: Literal["url_citation"] = "url_citation"
    url_citation: UrlCitation


class AnnotatedText(FrozenModel):
    """The text of an answer with its annotations."""

    text: str
    annotations: tuple[Annotation, ...]


class ChatUsage(FrozenModel):
    """The tokens of all prompts and completions of the run."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class AssistantMessage(FrozenModel):
    """The answer as a message."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None
    annotations: tuple[Annotation, ...]


class Choice(FrozenModel):
    """The only choice."""

    index: int = 0
    message: AssistantMessage
    logprobs: None = None
    finish_reason: Literal["stop"] = "stop"


class About(FrozenModel):
    """Fields that OpenAI's API does not have."""

    run_id: str
    status: Status
    confidence: float
    basis: str = Field(default="", description="What the answer rests on, in words.")
    url: str = Field(description="Page of the run in the viewer.")
    note: str = Field(default="", description="The part of the request that was ignored.")
    completed_question: str = Field(
        default="", description="The question as completed from the conversation. Empty if it was not changed."
    )


class ChatCompletion(FrozenModel):
    """An answer in the format of OpenAI's API."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: tuple[Choice, ...]
    usage: ChatUsage
    candor: About


class ErrorBody(FrozenModel):
    """The content of an error."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


class ChatError(FrozenModel):
    """An error in the format of OpenAI's API."""

    error: ErrorBody


class Reply:
    """Converts the answer of a run to a completion or to chunks. ``page`` is the URL of the viewer."""

    def __init__(self, request: ChatRequest, run_id: str, created: int, page: str) -> None:
        self._request, self._run_id, self._created = request, run_id, created
        self._url = f"{page}#/ask/{run_id}"

    def completion(self, run: RunSummary, answer: Answer) -> ChatCompletion:
        """Return the whole answer."""
        text = annotated_text(run, answer, self._url)
        message = AssistantMessage(content=text.text, annotations=text.annotations)
        return ChatCompletion(
            id=self._id, created=self._created, model=self._request.model, choices=(Choice(message=message),),
            usage=usage_of(answer), candor=self._about(answer),
        )  # fmt: skip

    def first_chunks(self) -> list[dict[str, Any]]:
        """Return the chunks to send before the run starts."""
        note = [self.chunk({"reasoning_content": f"{self._request.note}\n"})] if self._request.note else []
        return [self.chunk({"role": "assistant", "content": ""}), *note]

    def progress_chunk(self, line: str) -> dict[str, Any]:
        """Return a line of progress, escaped because clients render it as Markdown."""
        return self.chunk({"reasoning_content": f"{escaped(line)}\n"})

    def last_chunks(self, run: RunSummary, answer: Answer) -> list[dict[str, Any]]:
        """Return the text line by line, its annotations, and the usage if the client requested it."""
        text = annotated_text(run, answer, self._url)
        chunks = [self.chunk({"content": line}) for line in text.text.splitlines(keepends=True)]
        annotations = [each.model_dump(mode="json") for each in text.annotations]
        last = self.chunk({"annotations": annotations} if annotations else {}, finish_reason="stop")
        chunks.append({**last, "candor": self._about(answer).model_dump(mode="json")})
        if self._request.stream_options and self._request.stream_options.include_usage:
            chunks.append({**self.chunk({}), "choices": [], "usage": usage_of(answer).model_dump()})
        return chunks

    def chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        """Return one chunk of the stream."""
        return {
            "id": self._id,
            "object": "chat.completion.chunk",
            "created": self._created,
            "model": self._request.model,
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
            basis=answer.basis,
            url=self._url,
            note=self._request.note,
            completed_question=answer.completed_question,
        )


def annotated_text(run: RunSummary, answer: Answer, url: str) -> AnnotatedText:
    """Return the text of an answer: its statements with citation marks, its gaps, and its sources."""
    report = Report.of(run, answer)
    where = {source.mark: source.where for source in report.sources}
    text, annotations = f"{escaped(answer.clarification.question)}\n" if answer.clarification else "", []
    for number, statement in enumerate(report.statements, 1):
        bullet = report.bullet(number)
        text += ("\n" if text else "") + f"{bullet} " if bullet else " " if text else ""
        text += escaped(statement.text) + " " * bool(statement.marks)
        for mark in statement.marks:
            if mark in where:
                end = len(text) + len(mark) + 1
                cited = UrlCitation(start_index=len(text), end_index=end, title=where[mark], url=f"{url}/{mark}")
                annotations.append(Annotation(url_citation=cited))
            text += f"[{mark}]"
        text += f" ({statement.remark})" if statement.remark else ""
    blocks = [text or escaped(answer.short)]
    if answer.status is Status.INSUFFICIENT:
        nearest = f"Closest: {answer.nearest.answer}" if answer.nearest else ""
        searched = f"Searched: {answer.searched}" if answer.searched else ""
        blocks += [_NO_ANSWER, escaped(answer.reasoning), escaped(nearest), escaped(searched)]
    if answer.status is Status.PARTIAL:
        blocks.append("\n".join([f"{answer.outcome}.", *(f"- {escaped(str(each))}" for each in answer.parts)]))
    gaps = [part for part in report.parts if part.heading in (OTHER_VALUES, gaps_heading(answer))]
    blocks.append("\n".join(f"{part.heading}: {escaped(line)}" for part in gaps for line in part.lines))
    sources = [f"[{source.mark}] {escaped(source.where)}: “{escaped(source.quote)}”" for source in report.sources]
    computed = ((each.mark, filter(None, (each.purpose, " ".join(each.notes)))) for each in report.calculations)
    sources += [f"[{mark}] {escaped(' · '.join(told))}" for mark, told in computed]
    blocks.append("\n".join(["Sources:", *sources]) if sources else "")
    return AnnotatedText(text="\n\n".join(filter(None, blocks)), annotations=tuple(annotations))


def usage_of(answer: Answer) -> ChatUsage:
    """Return the token usage of a run."""
    used = answer.usage
    total = used.prompt_tokens + used.completion_tokens
    return ChatUsage(prompt_tokens=used.prompt_tokens, completion_tokens=used.completion_tokens, total_tokens=total)
