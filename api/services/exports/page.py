"""Renders an answer as one self-contained HTML page for screen and print, without scripts or external resources.

The template ``page.html.jinja`` escapes all text of documents and models.
"""

from __future__ import annotations

from api.services.exports.export import Report
from api.services.templates import environment
from multi_agent.storage.trace import RunSummary
from multi_agent.values.answer import Answer


def render(run: RunSummary, answer: Answer) -> bytes:
    template = environment("api.services.exports", html=True).get_template("page.html.jinja")
    return template.render(report=Report.of(run, answer)).encode()
