"""A chat with a model that does not answer. A file of its own: a process has one service at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import openai
import pytest
from openai import OpenAI
from sqlalchemy.exc import OperationalError

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.llm.settings import EndpointSettings
from support.replies import Reply
from support.service import QUESTION, RunningService

ASKED = [{"role": "user", "content": QUESTION}]


def test_a_run_that_fails_is_an_error_and_is_not_begun_again(
    make_candor: Callable[..., Candor], serve: Callable[..., EndpointSettings], folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    candor = make_candor(llm=serve(lambda _: Reply(status=401), retries=0))
    run_ingest(candor, [folder], "papers", progress=False)
    with RunningService(candor) as service, OpenAI(base_url=f"{service.url}/v1", api_key="local") as client:
        with pytest.raises(openai.InternalServerError, match=r"The run run_\w+ failed: "):
            client.chat.completions.create(model="papers", messages=ASKED)
        assert len(candor.trace.runs()) == 1, "the client does not try again"
        with pytest.raises(openai.APIError, match=r"The run run_\w+ failed: "):
            list(client.chat.completions.create(model="papers", messages=ASKED, stream=True))
        monkeypatch.setattr("api.jobs.research.Runs.wait", unreadable)
        with pytest.raises(openai.APIError, match=r"database is locked\. .* Try again later"):
            list(client.chat.completions.create(model="papers", messages=ASKED, stream=True))


async def unreadable(*_: object) -> None:
    raise OperationalError("SELECT 1", {}, Exception("database is locked"))
