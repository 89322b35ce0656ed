"""A budget stops a run before the call that exceeds it. The error says which budget and what to raise."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import BaseModel

from base.tokens import estimate_tokens
from multi_agent.errors import BudgetReached, InvalidResponse
from multi_agent.llm.models import build_llm
from multi_agent.llm.wrappers.journal import RecordedJournal, RunCalls, RunLLM
from multi_agent.llm.wrappers.usage import BudgetUsage
from multi_agent.model import LLM, Message
from multi_agent.settings.research import Budget
from support import replies
from support.replies import always, in_turn, say
from support.scripted_endpoint import ScriptedEndpoint
from support.waiting import LIMIT_S, wait_for


class City(BaseModel):
    name: str


GRAZ = '{"name": "Graz"}'
QUESTION = [Message.user("Where is the clock tower?")]
PROMPT_TOKENS = estimate_tokens(QUESTION[0].content)


async def refusal(llm: LLM) -> str:
    with pytest.raises(BudgetReached) as caught:
        await llm.complete(QUESTION, City)
    return str(caught.value)


async def test_model_calls_count_over_all_callers_of_a_run() -> None:
    spent, budget = BudgetUsage(), Budget(model_calls=2)
    with ScriptedEndpoint(always(GRAZ)) as endpoint:
        llm = build_llm(endpoint.settings("ollama"))
        for _ in range(2):
            await RunLLM(llm, RunCalls(budget=budget, spent=spent)).complete(QUESTION, City)
        message = await refusal(RunLLM(llm, RunCalls(budget=budget, spent=spent)))
        await RunLLM(llm, RunCalls(budget=budget)).complete(QUESTION, City)
    assert len(endpoint.requests) == 3, "the rejected call was not sent, and another run has its own budget"
    for part in ("budget of model calls", "2 made", "2 allowed", "research.budget.model_calls", "--max-calls"):
        assert part in message


async def test_calls_in_progress_count() -> None:
    spent = BudgetUsage()
    with ScriptedEndpoint(always(replies.delayed(GRAZ, 0.1))) as endpoint:
        llm = RunLLM(
            build_llm(endpoint.settings("ollama", parallel=8)), RunCalls(budget=Budget(model_calls=3), spent=spent)
        )
        ended = await asyncio.gather(*(llm.complete(QUESTION, City) for _ in range(8)), return_exceptions=True)
    assert len(endpoint.requests) == 3
    assert sum(isinstance(each, BudgetReached) for each in ended) == 5
    assert (spent.usage.model_calls, spent.reserved.model_calls, spent.reserved.prompt_tokens) == (3, 0, 0)


async def test_retries_of_invalid_responses_count() -> None:
    with ScriptedEndpoint(in_turn(replies.nonsense(), replies.nonsense(), GRAZ)) as endpoint:
        llm = RunLLM(build_llm(endpoint.settings("ollama")), RunCalls(budget=Budget(model_calls=3)))
        await llm.complete(QUESTION, City)
        assert "3 made" in await refusal(llm)


async def test_failed_calls_count() -> None:
    spent = BudgetUsage()
    with ScriptedEndpoint(always(replies.nonsense())) as endpoint:
        llm = RunLLM(
            build_llm(endpoint.settings("ollama", response_retries=1)),
            RunCalls(budget=Budget(model_calls=2), spent=spent),
        )
        with pytest.raises(InvalidResponse):
            await llm.complete(QUESTION, City)
        await refusal(llm)
    assert (spent.usage.model_calls, spent.usage.prompt_tokens) == (2, 200)


async def test_cancelled_calls_count() -> None:
    spent = BudgetUsage()
    with ScriptedEndpoint(always(replies.hang())) as endpoint:
        llm = RunLLM(build_llm(endpoint.settings("ollama")), RunCalls(budget=Budget(model_calls=1), spent=spent))
        call = asyncio.create_task(llm.complete(QUESTION, City))
        await wait_for(lambda: endpoint.requests)
        call.cancel()
        await asyncio.wait({call})
        await refusal(llm)
    assert (spent.usage.model_calls, spent.usage.prompt_tokens) == (1, PROMPT_TOKENS)
    assert spent.reserved.model_calls == 0


async def test_tokens_of_the_next_prompt_count() -> None:
    with ScriptedEndpoint(always(say(GRAZ, prompt_tokens=70, completion_tokens=30))) as endpoint:
        llm = build_llm(endpoint.settings("ollama"))
        roomy, tight = (Budget(tokens=100 + PROMPT_TOKENS - short) for short in (0, 1))
        for budget in (roomy, tight):
            spent = BudgetUsage()
            await RunLLM(llm, RunCalls(budget=budget, spent=spent)).complete(QUESTION, City)
            if budget is roomy:
                await RunLLM(llm, RunCalls(budget=budget, spent=spent)).complete(QUESTION, City)
            else:
                message = await refusal(RunLLM(llm, RunCalls(budget=budget, spent=spent)))
    for part in ("100 used", f"about {PROMPT_TOKENS}", f"{tight.tokens} allowed", "research.budget.tokens"):
        assert part in message


async def test_seconds_count_from_the_start_of_the_run() -> None:
    spent = BudgetUsage()
    await asyncio.sleep(0.05)
    with ScriptedEndpoint(always(GRAZ)) as endpoint:
        llm = build_llm(endpoint.settings("ollama"))
        await RunLLM(llm, RunCalls(budget=Budget(seconds=LIMIT_S), spent=spent)).complete(QUESTION, City)
        message = await refusal(RunLLM(llm, RunCalls(budget=Budget(seconds=0.05), spent=spent)))
    assert "0.05 s allowed" in message
    assert "research.budget.seconds" in message


async def test_cost_uses_the_prices_of_the_endpoint() -> None:
    with ScriptedEndpoint(always(say(GRAZ, prompt_tokens=1000, completion_tokens=0))) as endpoint:
        priced = build_llm(endpoint.settings("ollama", prompt_price=2.0))
        llm = RunLLM(priced, RunCalls(budget=Budget(cost=0.003)))
        for _ in range(2):
            await llm.complete(QUESTION, City)
        message = await refusal(llm)
    for part in ("0.004 spent", "0.003 allowed", "research.budget.cost"):
        assert part in message


async def test_journaled_responses_cost_nothing() -> None:
    journal, spent = RecordedJournal(), BudgetUsage()
    with ScriptedEndpoint(always(GRAZ)) as endpoint:
        llm = build_llm(endpoint.settings("ollama"))
        await RunLLM(llm, RunCalls(journal)).complete(QUESTION, City)
        resumed = RunLLM(llm, RunCalls(journal, Budget(model_calls=1), spent))
        assert (await resumed.complete(QUESTION, City)).replayed
        assert spent.usage.model_calls == 0
        assert (await resumed.complete(QUESTION, City)).occurrence == 1
        await refusal(resumed)


async def test_without_a_budget_nothing_is_rejected() -> None:
    with ScriptedEndpoint(always(GRAZ)) as endpoint:
        llm = RunLLM(build_llm(endpoint.settings("ollama")), RunCalls(budget=Budget()))
        for _ in range(3):
            await llm.complete(QUESTION, City)
    assert len(endpoint.requests) == 3
