"""A scenario for saved plans: a plan saved from a question about a race is followed for one about a warranty.

``honest_model`` answers exactly the question in the Reader's prompt. A plan that still contains the old question
therefore gets the old answer.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from support.panel import PLANNER, READING, TRIAGE, Panel, planned, reading, role_of, step
from support.replies import Reply, Request

RACE = "Who won the Vinterholm Marathon?"
WARRANTY = "How long is the warranty?"
WINNER = "Ines Halvorsen won the Vinterholm Marathon in 2:31:07."
PERIOD = "The warranty lasts seven years."
PROPOSAL, UNDERSTANDING = "PlanTemplateResponse", "UnderstandingResponse"
_TEXT = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)


def write_documents(folder: Path) -> None:
    """Write a document for each question."""
    folder.mkdir(exist_ok=True)
    (folder / "races.md").write_text(f"# Races\n\n{WINNER}\n")
    (folder / "warranty.md").write_text(f"# Warranty\n\n{PERIOD}\n")


def honest_model(request: Request) -> Reply | str:
    """Respond as the panel: plan with words of the race question in all texts, and propose ``@{question}`` for them."""
    role = role_of(request)
    if role == PROPOSAL:
        return json.dumps({"same_question": texts_with(request, "Vinterholm"), "parameters": []})
    if role == TRIAGE:
        return Panel()(request)
    if role == PLANNER:
        read = reading("read", RACE)
        read["inputs"]["queries"] = ["winner of the Vinterholm Marathon"]
        plan = planned(read, step("answer", "Synthesizer", instruction=f"Answer: {RACE}"))
        return json.dumps({**plan, "intent": "find out who won the Vinterholm Marathon"})
    if role == READING:
        task = request.messages[-1]["content"].rpartition("\n=== ")[2].partition("\n\n")[2]
        return Panel("Halvorsen" if "marathon" in task.casefold() else "seven years")(request)
    return Panel("Halvorsen", "seven years")(request)


def texts_with(request: Request, words: str) -> list[int]:
    """Return the numbers of the texts in a plan that contain the words."""
    return [int(number) for number, text in _TEXT.findall(request.messages[-1]["content"]) if words in text]


def old_plan() -> dict[str, Any]:
    """Return a plan without placeholders, as saved by versions without templates."""
    return {
        "goal": "know who won the Vinterholm Marathon",
        "steps": [{"id": "read", "agents": ["Reader"], "instruction": RACE, "final": True,
                   "inputs": {"question": RACE, "queries": [], "documents": []}}],
    }  # fmt: skip
