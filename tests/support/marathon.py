"""A conversation of two questions, the document that answers them, and a scripted model for both.

The model finds nothing for "And his time?". Only the completed question leads to an answer.
"""

from __future__ import annotations

import json

from support.panel import COMPLETION, TRIAGE, Panel, fast, role_of
from support.replies import Reply, Request

WHO = "Who won the marathon?"
FOLLOW_UP = "And his time?"
COMPLETED = "What was the time of Ben Adler in the marathon?"
WINNER = "Ben Adler won the Vinterholm Marathon in 2024."
TIME = "Ben Adler finished after 2:21:07 hours."
DOCUMENT = f"# Vinterholm\n\n{WINNER}\n\n## Times\n\n{TIME}\n"


class Marathon:
    """A responder that records every role and its prompt."""

    def __init__(self) -> None:
        self.prompts: list[tuple[str, str]] = []

    def __call__(self, request: Request) -> Reply | str:
        role, prompt = role_of(request), request.prompt
        self.prompts.append((role, prompt))
        if role == COMPLETION:
            assert WHO in prompt, "the conversation is in the prompt"
            assert "Ben Adler" in prompt, "with the answer"
            return json.dumps({"question": COMPLETED})
        if role == TRIAGE:
            return fast(request)
        return Panel("2:21:07" if COMPLETED in prompt else "won the" if WHO in prompt else "no such words")(request)

    def roles_that_saw(self, text: str) -> set[str]:
        """Return the roles whose prompts contained this text."""
        return {role for role, prompt in self.prompts if text in prompt}
