"""The scripted endpoint of benchmarks/peers. It answers every call after the same time and logs it.

The model name says which system asks. `RESPONDERS` answers each system in its own format with the same content: the
sub-questions of the question, every passage relevant, and an answer of two sentences that cites the first two sources.

One tokenizer (cl100k) counts the tokens of messages, tools, schema and response for all systems.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.engine import ROOT, environment

if TYPE_CHECKING:
    from support.replies import Reply, Request


@dataclass(frozen=True)
class Question:
    """A question of the comparison with its sub-questions."""

    text: str
    parts: tuple[str, ...]
    in_turn: bool = False  # the second part needs the answer to the first
    invented: bool = False  # the second citation of the scripted answer does not exist


QUESTIONS = {
    "one fact": Question(
        "Which refrigerant does the Borea 12 use?", ("Which refrigerant does the Borea 12 use?",)
    ),
    "comparison": Question(
        "How does the warranty of the Borea 12 differ from that of its compressor?",
        ("What is the warranty of the Borea 12?", "What is the warranty of its compressor?"),
    ),
    "two hops": Question(
        "In which town is the supplier of the compressor of the Borea 12?",
        ("Who supplies the compressor of the Borea 12?", "In which town is that supplier?"),
        in_turn=True,
    ),
    "invented citation": Question(
        "How loud is the Borea 12?", ("How loud is the Borea 12?",), invented=True
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    """One call as seen by the endpoint."""

    model: str
    began: float
    ended: float
    prompt_tokens: int
    response_tokens: int


@contextmanager
def endpoint(seconds: float, log: Path) -> Iterator[str]:
    """Start the endpoint in another process. Yield its URL. It appends its calls to ``log``."""
    command = [sys.executable, "-m", "benchmarks.peers.endpoint", str(seconds), str(log)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    ) as process:
        assert process.stdout
        assert process.stdin
        yield process.stdout.readline().strip()
        process.stdin.close()


def calls_in(log: Path) -> list[Call]:
    """Read all logged calls."""
    return [Call(**json.loads(line)) for line in log.read_text(encoding="utf-8").splitlines()]


def _serve(seconds: float, log: Path) -> None:
    from llama_index.core.utils import get_tokenizer

    from support.replies import delayed
    from support.scripted_endpoint import ScriptedEndpoint

    tokens = get_tokenizer()  # includes its vocabulary; tiktoken would download it

    def reply_to(request: Request) -> Reply:
        began = time.time()
        system = next(name for name in RESPONDERS if request.model.startswith(name))
        reply = delayed(RESPONDERS[system](request), seconds)
        prompt = len(tokens(prompt_of(request)))
        response = len(tokens(reply.text + "".join(map(json.dumps, reply.tools))))
        call = Call(request.model, began, began + seconds, prompt, response)
        with log.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(asdict(call)) + "\n")
        return reply

    log.touch()
    with ScriptedEndpoint(reply_to) as server:
        print(server.url("openai"), flush=True)
        sys.stdin.read()


def text_of(request: Request) -> str:
    """Return the text of all messages. A message may have several parts, some of them images."""
    contents = [message.get("content") or "" for message in request.messages]
    return "\n".join(content if isinstance(content, str) else _texts(content) for content in contents)


def _texts(parts: list[dict[str, Any]]) -> str:
    return "\n".join(part["text"] for part in parts if part["type"] == "text")


def prompt_of(request: Request) -> str:
    """Return everything that a model reads of a request."""
    rest = [request.body[name] for name in ("tools", "response_format") if request.body.get(name)]
    return "\n".join([text_of(request), *map(json.dumps, rest)])


def question_in(request: Request) -> Question:
    """Return the question in a prompt."""
    text = text_of(request)
    return next(question for question in QUESTIONS.values() if question.text in text)


def invents(request: Request) -> bool:
    """Whether the answer to this prompt cites something that does not exist."""
    return any(question.invented and question.text in text_of(request) for question in QUESTIONS.values())


# Responders


def answer(first: str = "", second: str = "") -> str:
    """Return two sentences, each with its citation mark."""
    sentences = ("The first source says what was asked for", first), ("The second says it in other words", second)
    return " ".join(f"{sentence} {mark}".strip() + "." for sentence, mark in sentences)


def candor(request: Request) -> str:
    """Plan one Reader per part, or the whole panel. Quote the first two lines of what is read."""
    from support.panel import EXTRACTION, PLANNER, READING, SYNTHESIS, TRIAGE, Panel, passages_of, role_of, triage

    role = role_of(request)
    if role == TRIAGE:
        return json.dumps(triage(request))
    if role == PLANNER:
        return str(Panel(roles={PLANNER: lambda each: json.dumps(_plan(each))})(request))
    reply = Panel("").play(request)
    shown = {number: text for _, units in passages_of(request) for number, text in units.items()}
    if role == EXTRACTION:
        reply["items"] = [item for item in reply["items"] if _is_sentence(shown[item["sentences"][0]])][:2]
    if role == READING:
        kept = [claim for claim in reply["claims"] if _is_sentence(shown[claim["sentences"][0]])][:2]
        if invents(request):
            kept[1]["sentences"] = [len(shown) + 1]
        reply["claims"], reply["short"] = kept, "the fact"
    if role == SYNTHESIS:
        reply["claims"] = reply["claims"][:2]
    return json.dumps(reply)


def _is_sentence(line: str) -> bool:
    return len(line) > 20


def _plan(request: Request) -> dict[str, Any]:
    from support.panel import planned, reading, step

    question = question_in(request)
    if request.model == "candor-panel":
        search = {"method": "search", "documents": [], "queries": []}
        return planned(
            step("queries", "QueryPlanner"), step("find", "Retriever", inputs=search),
            step("read", "Extractor"), step("answer", "Synthesizer"),
        )  # fmt: skip
    if question.in_turn:
        first, second = question.parts
        return planned(
            reading("first", first), reading("second", f"{second} @{{outputs.first.answer}}"),
            step("answer", "Synthesizer"),
        )  # fmt: skip
    names = [f"part{number}" for number, _ in enumerate(question.parts, 1)]
    readers = [reading(name, part) for name, part in zip(names, question.parts, strict=True)]
    return planned(*readers, step("answer", "Synthesizer"))


def llamaindex(request: Request) -> str:
    """Sub-questions in the form of its generator's example, all at once; else the answer, with numbers in brackets."""
    if "<User Question>" in text_of(request):
        items = [{"sub_question": part, "tool_name": "documents"} for part in question_in(request).parts]
        return f"```json\n{json.dumps({'items': items}, indent=4)}\n```"
    return answer("[1]", "[99]" if invents(request) else "[2]")


def paperqa(request: Request) -> Reply | str:
    """Summarize each passage as relevant, give no title or DOI, and call the agent's tools in their usual order.

    Evidence is gathered for one part after another, because the tool's description forbids two at once.
    """
    from support.replies import use

    text = text_of(request)
    if request.body.get("tools"):
        question = question_in(request)
        turns: list[tuple[str, dict[str, Any]]] = [
            ("paper_search", {"query": question.text, "min_year": None, "max_year": None}),
            *(("gather_evidence", {"question": part}) for part in question.parts),
            ("gen_answer", {}),
            ("complete", {"has_successful_answer": True}),
        ]
        return use(turns[sum(message["role"] == "assistant" for message in request.messages)])
    if "Extract the title, authors, and doi" in text:
        return '{"title": null, "authors": null, "doi": null}'
    if "Provide the citation for the following text" in text:
        return "Anonymous. Document. 2024."
    if "relevance_score" in text:
        excerpt = " ".join(text.split("---")[1].split())[:80]  # equal summaries would count as one
        return json.dumps({"summary": f"It says: {excerpt}", "relevance_score": 8})
    if "RELEVANT:" in text:
        return "IRRELEVANT: a decorative element."
    first, second = list(dict.fromkeys(re.findall(r"pqac-[0-9a-f]+", text.split("Valid Keys:")[1].split("---")[0])))[:2]
    return answer(f"({first})", "(pqac-00000000)" if invents(request) else f"({second})")


def deepsearcher(request: Request) -> str:
    """Choose the agent of the way, use each part as a query, accept every passage, request no further round.

    ChainOfRAG always has three rounds. The later rounds ask for the last part again.
    """
    text = text_of(request)
    if "select only one agent" in text:
        return "2" if request.model == "deepsearcher-chain" else "1"
    if "break down the original question" in text:
        return json.dumps(question_in(request).parts)
    if "Is the chunk helpful" in text:
        return "YES"
    if "Determine whether additional search queries are needed" in text:
        return "[]"
    if "generate a new simple follow-up question" in text:
        parts = question_in(request).parts
        return parts[min(text.count("Intermediate query"), len(parts) - 1)]
    if "select the ones that are support" in text:
        return "[0, 1]"
    return answer()


RESPONDERS: dict[str, Callable[[Request], Reply | str]] = {
    "candor": candor,
    "llamaindex": llamaindex,
    "paperqa": paperqa,
    "deepsearcher": deepsearcher,
}


if __name__ == "__main__":
    _serve(float(sys.argv[1]), Path(sys.argv[2]))
