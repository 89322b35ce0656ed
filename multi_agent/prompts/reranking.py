"""Reranking by the language model: one call names the passages of a search that answer its queries."""

import asyncio
import re
from collections.abc import Iterator, Sequence

from pydantic import BaseModel, Field

from base.text import excerpt_around, shorten
from base.tokens import estimate_tokens
from multi_agent.model import LLM
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_outside import defuse
from vectorstore.reranking import scores_of

_LENGTH = 400  # characters of a passage
_TITLE = 100  # characters of its first line, if the part with the words of the query begins later
_SHARE = 2  # the prompt may be longer than that of a call that answers, because the response is short
_WORD = re.compile(r"\w{3,}")
_WORDS = 50  # of the queries, to find the part of a passage


class PassageOrder(BaseModel):
    numbers: list[int] = Field(description="numbers of the passages, best first; [] if none helps")


async def model_scores(llm: LLM, queries: Sequence[str], texts: Sequence[str], tokens_per_call: int) -> list[float]:
    """Return a score for each of the first texts that fit into a call, higher for better ones.

    ``tokens_per_call`` is the setting. Raises a subclass of LLMError.
    """
    shown = await asyncio.to_thread(lambda: list(_fitting(queries, texts, _SHARE * tokens_per_call)))
    query = "\n".join(map(defuse, queries))
    messages = Prompt.shipped("reranker").render(passages="\n".join(shown), query=query)
    named = (await llm.complete(messages, PassageOrder)).value.numbers
    return scores_of((each - 1 for each in named if 0 < each <= len(shown)), len(shown))


def _fitting(queries: Sequence[str], texts: Sequence[str], tokens: int) -> Iterator[str]:
    """Yield a numbered line for each text, the first one and as many as fit into ``tokens`` tokens."""
    words = list(dict.fromkeys(word for query in queries for word in _WORD.findall(query)))[:_WORDS]
    for number, text in enumerate(texts, start=1):
        line = f"[{number}] {_line(text, words)}"
        tokens -= estimate_tokens(line)
        if tokens < 0 and number > 1:
            return
        yield line


def _line(text: str, words: Sequence[str]) -> str:
    """Return the part of a passage that has most of the words, after its title, on one line."""
    part = excerpt_around(text, words, _LENGTH)
    title = shorten(text.partition("\n")[0], _TITLE) if part.startswith("… ") else ""
    return defuse(f"{title} {part}")
