"""Runs ``candor chat``, which reads lines, executes commands and answers all other lines as questions of a session."""

import importlib
import importlib.util
import secrets
import shlex
import sys
from collections.abc import Iterator
from typing import Any

from api.cli.ask.run import make_budgeted, run_question
from api.cli.common import Cli, expected_errors, make_console, print_error, print_json, print_message
from api.cli.render.answers import show_answer, show_sources
from api.errors import command_message
from api.services.exports.export import Report
from multi_agent.values.answer import Answer
from multi_agent.values.context import Candidate
from multi_agent.values.request import Request
from vectorstore.models import names_in

_HELP = {
    "/new": "start a new conversation",
    "/sources": "print the sources of the last answer",
    "/help": "list the commands",
    "/quit": "end the chat",
}


class Chat:
    """A chat in the terminal. ``options`` are the options of ``candor ask``. An empty ``session`` starts a new one."""

    def __init__(self, cli: Cli, collection: str | None, options: dict[str, Any]) -> None:
        self._cli, self._candor = cli, cli.make_candor()
        self._collection = self._candor.collections.resolve(collection)
        for name in names_in(self._collection):
            self._candor.collections.require(name)
        self._options = {**options, "session": options["session"] or _new_session()}
        self._last: Answer | None = None
        self._request("Are the options valid?")

    def run(self) -> None:
        """Read lines until the end of the input or ``/quit``."""
        self._greet()
        for line in _lines():
            if line == "/quit":
                return
            if line.startswith("/"):
                self._command(line)
            else:
                self._ask(line)

    def _greet(self) -> None:
        print_message(f"Conversation {self._options['session']} on {self._collection}. /help lists the commands.")

    def _command(self, line: str) -> None:
        if line == "/new":
            self._options["session"] = _new_session()
            self._last = None
            self._greet()
        elif line == "/sources":
            self._show_sources()
        elif line == "/help":
            print_message("\n".join(f"{name:9} {what}" for name, what in _HELP.items()))
        else:
            print_message(f"There is no command {line!r}. The commands are {', '.join(_HELP)}.")

    def _show_sources(self) -> None:
        if self._last and (self._last.cited or self._last.computations):
            show_sources(make_console(), Report.of(None, self._last))
        else:
            print_message("There is no answer with sources yet." if not self._last else "The answer has no sources.")

    def _ask(self, question: str) -> None:
        """Answer a question. An error or Ctrl-C ends the question, not the chat."""
        candor, progress = self._candor, not self._cli.as_json
        try:
            request = self._request(question)
            if self._last and (chosen := pick(self._last, question)):
                request = with_choice(request, chosen, self._last)
            answer = run_question(candor, request, self._collection, progress=progress)
        except expected_errors() as error:
            print_error(error, command_message(error), as_json=self._cli.as_json, indent=None)
        except KeyboardInterrupt:  # Ctrl-C before the run stored its cancellation
            print_message("Cancelled.")
        else:
            self._show(answer)

    def _request(self, question: str) -> Request:
        return make_budgeted(question, self._options, {}, self._candor.settings.research.budget)

    def _show(self, answer: Answer) -> None:
        self._last = answer
        if self._cli.as_json:
            print_json(answer.model_dump(mode="json"), indent=None)
        else:
            show_answer(make_console(), answer, self._cli.home, full=False)


def _new_session() -> str:
    return f"chat_{secrets.token_hex(4)}"


def _lines() -> Iterator[str]:
    """Yield the non-blank lines of standard input. Ctrl-C at the prompt discards the line."""
    prompt = "> " if sys.stdin.isatty() else ""
    if prompt and importlib.util.find_spec("readline"):
        importlib.import_module("readline")  # adds line editing and a history to `input`
    while True:
        try:
            line = input(prompt).strip()
        except EOFError:
            return
        except KeyboardInterrupt:
            if not prompt:  # a program reads and writes
                raise
            print_message("\n/quit ends the chat.")
            continue
        if line:
            yield line


def choose(answer: Answer, request: Request) -> Request | None:
    """Return the request for the candidate that the person chose; None if there is nothing to choose, or no terminal.

    The choice continues the conversation, and no model call completes it.
    """
    if not answer.clarification:
        return None
    if not sys.stdin.isatty():
        for each in answer.clarification.candidates:
            print_message(f"Go on: candor ask {shlex.quote(each.question)} --continues {answer.run_id}")
        return None
    candidates = answer.clarification.candidates
    chosen = None
    while chosen is None:
        print_message(f"Which one, 1 to {len(candidates)}? Enter ends. ", end="")
        if not (reply := sys.stdin.readline().strip()):
            return None
        chosen = pick(answer, reply)
    return with_choice(request, chosen, answer)


def pick(answer: Answer | None, reply: str) -> Candidate | None:
    """Return the candidate with the number ``reply``; None if the answer did not ask back, or has no such number."""
    if not (answer and answer.clarification and reply.isdecimal()):
        return None
    numbered = dict(enumerate(answer.clarification.candidates, 1))
    return numbered.get(int(reply))


def with_choice(request: Request, chosen: Candidate, answer: Answer) -> Request:
    """Return the request that asks the chosen candidate's question, in the same session or after the same run."""
    after = {"question": chosen.question, "complete": True, "continues": answer.run_id, "conversation": ()}
    return request.model_copy(update=after)
