"""Drafts a question set: a model writes one question per passage, for a person to review.

Every quote must appear verbatim in its passage. Every draft has the tag ``draft``.
"""

import random
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from multi_agent.evaluation.question_set import Gold, Question
from multi_agent.grounding.quotes import locate
from multi_agent.model import LLM
from multi_agent.prompt import Prompt
from vectorstore.models import Chunk

DRAFT = "draft"
_RETRIES = 1


class Drafted(BaseModel):
    """A question to a passage."""

    model_config = ConfigDict(extra="forbid")

    worth_asking: bool
    question: str
    answer: str = Field(description="in a sentence")
    accepted: tuple[str, ...]
    type: Literal["text", "number", "date", "list", "yes_no"]
    quote: str


def choose_passages(chunks: Sequence[Chunk], count: int, seed: int) -> list[Chunk]:
    """Choose ``count`` random passages, spread evenly over the documents."""
    rng = random.Random(seed)
    by_document: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        by_document.setdefault(chunk.document_id, []).append(chunk)
    groups = list(by_document.values())
    for group in groups:
        rng.shuffle(group)
    rng.shuffle(groups)
    rounds = max(map(len, groups), default=0)
    return [group[index] for index in range(rounds) for group in groups if index < len(group)][:count]


async def draft(llm: LLM, passages: Sequence[Chunk]) -> AsyncIterator[Question | str]:
    """Yield a question for each passage, or the reason why there is none. Raises LLMError."""
    prompt = Prompt.shipped("drafter")
    for number, chunk in enumerate(passages, start=1):
        messages = prompt.render(document=chunk.name, passage=chunk.reading_text)
        result: Question | str = ""
        for _ in range(_RETRIES + 1):
            drafted = (await llm.complete(messages, Drafted)).value
            result = _validate(drafted, chunk, f"draft-{number}")
            if isinstance(result, Question) or not drafted.worth_asking:
                break
            messages += prompt.again(drafted.model_dump_json(), fault=result)
        yield result


def _validate(drafted: Drafted, chunk: Chunk, question_id: str) -> Question | str:
    """Return the draft as a question, or its fault, which is also sent back to the model."""
    if not drafted.worth_asking:
        return f"nothing worth asking in {chunk.name}"
    span = locate(drafted.quote, chunk)
    if span is None:
        return f"its quote does not stand in the passage of {chunk.name}, word for word."
    if not drafted.question.strip() or not drafted.accepted or not all(map(str.strip, drafted.accepted)):
        return f"the question to {chunk.name} needs a text, and at least one accepted answer."
    if drafted.type == "yes_no" and any(each.casefold() not in ("yes", "no") for each in drafted.accepted):
        return "a question of type 'yes_no' accepts 'yes' or 'no'."
    gold = Gold(document=chunk.name, pages=chunk.pages_of(*span), quote=chunk.source_text(*span))
    return Question(
        id=question_id, question=drafted.question, answer=drafted.answer, accepted=drafted.accepted,
        type=drafted.type, gold=(gold,), tags=(DRAFT,),
    )  # fmt: skip


QUESTIONS = 5
_Question = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)]


class Suggested(BaseModel):
    """The model's response."""

    model_config = ConfigDict(extra="forbid")

    questions: tuple[_Question, ...] = Field(min_length=1, max_length=QUESTIONS)


async def suggest_questions(llm: LLM, passages: Sequence[Chunk]) -> tuple[str, ...]:
    """Return questions that the passages answer, without duplicates. Raises LLMError."""
    shown = "\n\n".join(f'From "{chunk.name}":\n{chunk.reading_text}' for chunk in passages)
    messages = Prompt.shipped("suggester").render(count=QUESTIONS, passages=shown)
    return tuple(dict.fromkeys((await llm.complete(messages, Suggested)).value.questions))
