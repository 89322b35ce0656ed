"""Plain RAG with the same model and the same passages: a five-line prompt, free text."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

import httpx

from benchmarks.local_model.results import Record
from multi_agent.evaluation.question_set import Question
from vectorstore.models import Chunk

PLAIN_TOKENS = 200  # of a response; the answers are a few words
_PLAIN_PROMPT = """Answer the question with the passages below.
Use only what the passages say.
Reply with the answer alone, in as few words as possible.
If the passages do not contain the answer, reply: unanswerable
{passages}

Question: {question}"""
_REFUSAL = re.compile(
    r"unanswerable|cannot be (answered|determined)|(do|does|did|is|are|was|were)(n't| not) "
    r"(contain|mention|provide|specif|state|given|say|includ|list)|no (information|mention|answer)",
    re.IGNORECASE,
)


def ask_plain(question: Question, passages: Sequence[Chunk], base_url: str, model: str, *, timeout_s: float) -> Record:
    """Return the record of one question. Raises SystemExit if the endpoint does not answer."""
    shown = "\n\n".join(f"[{number}] {chunk.name}\n{chunk.embedded_text}" for number, chunk in enumerate(passages, 1))
    request = {
        "model": model,
        "messages": [
            {"role": "user", "content": _PLAIN_PROMPT.format(passages=shown, question=question.question)},
        ],
        "temperature": 0,
        "max_tokens": PLAIN_TOKENS,
    }
    began = time.perf_counter()
    try:
        response = httpx.post(f"{base_url}/chat/completions", json=request, timeout=timeout_s)
        response.raise_for_status()
    except httpx.HTTPError as error:
        raise SystemExit(f"{base_url}: {error!r}\nStart the same command again to continue.") from error
    reply = response.json()
    usage, text = reply["usage"], reply["choices"][0]["message"]["content"].strip()
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    spent = {
        "calls": 1, "prompt": usage["prompt_tokens"], "cached": cached, "completion": usage["completion_tokens"],
        "seconds": round(time.perf_counter() - began, 2),
    }  # fmt: skip
    return {
        "status": "insufficient" if is_refusal(text) else "answered",
        "answer": text,
        "short": "",
        "confidence": None,
        "errors": [],
        "rejected": 0,
        "repairs": 0,
        "callers": {"plain": spent},
        "cited": [],
    }


def is_refusal(text: str) -> bool:
    """Return whether a free text says that the passages do not contain the answer."""
    return not text.strip() or bool(_REFUSAL.search(text))
