"""The choice of a candidate after ``candor ask`` asked back. At a terminal by number, otherwise by another command."""

from __future__ import annotations

import shlex
import sys

from api.cli.common import print_message
from multi_agent.values.answer import Answer
from multi_agent.values.context import Candidate
from multi_agent.values.request import Request


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
    after = {} if request.session else {"continues": answer.run_id, "conversation": ()}
    return request.model_copy(update={"question": chosen.question, "complete": True, **after})
