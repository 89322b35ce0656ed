"""The scenario of saved plans: saved from a question on a race, followed for a question on a warranty.

``honest_model`` reads what the Reader is asked, and answers exactly that. So a plan that still names its old question
gets the old answer.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from support.panel import PLANNER, READING, TRIAGE, Panel, planned, reading, role_of, step
from support.scripted_endpoint import Reply, Request

RACE = "Who won the Vinterholm Marathon?"
WARRANTY = "How long is the warranty?"
WINNER = "Ines Halvorsen won the Vinterholm Marathon in 2:31:07."
PERIOD = "The warranty lasts seven years."
PROPOSAL, UNDERSTANDING = "PlanTemplateResponse", "UnderstandingResponse"
_TEXT = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)


def write_documents(folder: Path) -> None:
    """Write a document on each question."""
    folder.mkdir(exist_ok=True)
    (folder / "races.md").write_text(f"# Races\n\n{WINNER}\n")
    (folder / "warranty.md").write_text(f"# Warranty\n\n{PERIOD}\n")


def honest_model(request: Request) -> Reply | str:
    """Play the panel: plan the question on the race with its words in every text, and propose ``@{question}``."""
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
    """Return the numbers of the texts of a plan that hold the words."""
    return [int(number) for number, text in _TEXT.findall(request.messages[-1]["content"]) if words in text]


def old_plan() -> dict[str, Any]:
    """Return a plan as it was saved before plans were templates."""
    return {
        "goal": "know who won the Vinterholm Marathon",
        "steps": [{"id": "read", "agents": ["Reader"], "instruction": RACE, "final": True,
                   "inputs": {"question": RACE, "queries": [], "documents": []}}],
    }  # fmt: skip
