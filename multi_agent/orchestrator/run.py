"""One question on its way: understand and plan, execute, judge, revise, finish."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from multi_agent.agent import AgentKit
from multi_agent.answer import Answer, Status, status_of
from multi_agent.bus import ALL, MessageBus, Publish, Subscriber
from multi_agent.catalog.registry import RegisteredAgent
from multi_agent.context import Claim, ResearchContext, Synthesis, Understanding
from multi_agent.errors import AgentError, BudgetReached, LLMError, NothingFound, PlanError, ReferenceFailed, RunEnded
from multi_agent.events import (
    AttemptEnded,
    Event,
    PlanRevised,
    RevisionDeclined,
    RunFinished,
    RunResumed,
    RunStarted,
)
from multi_agent.grounding.consensus import Candidate, agree
from multi_agent.llm.budgeted import BudgetedLLM, BudgetUsage
from multi_agent.llm.journal import JournalingLLM
from multi_agent.llm.llm import LLM
from multi_agent.llm.observed import ObservedLLM
from multi_agent.llm.sampled import SampledLLM
from multi_agent.memory.remembered import Remembered
from multi_agent.orchestrator.answer_builder import AnswerBuilder
from multi_agent.orchestrator.executor import Executor, Keep
from multi_agent.orchestrator.merge_order import MergeOrder
from multi_agent.orchestrator.planner import Planner
from multi_agent.orchestrator.step_timeout import StepTimeout
from multi_agent.orchestrator.worker import Turn
from multi_agent.orchestrator.working_context import Attempt, FailedStep, unmet, working_context
from multi_agent.plan import Plan, PlanExample
from multi_agent.prompt import Prompt
from multi_agent.request import Request
from multi_agent.storage.resumed_run import ResumedRun
from multi_agent.tasks import GetTaskData
from vectorstore.errors import StoreError

if TYPE_CHECKING:
    from multi_agent.orchestrator.orchestrator import Orchestrator


_UNEXPLAINED = " (This is the error as it came: with the model or the store at fault, nobody was asked to explain it.)"


class Explanation(BaseModel):
    """Why a run failed, in the model's words."""

    model_config = ConfigDict(extra="forbid")

    explanation: str = Field(description="what was tried, what failed and why, and what the person can do")


class Run:
    """Holds what the parts of a run share: bus, journal, meter, the executor with the context so far."""

    def __init__(
        self,
        panel: Orchestrator,
        request: Request,
        run_id: str,
        listeners: tuple[Subscriber, ...],
        examples: Sequence[PlanExample] | None,
        rests: Callable[[], bool],
    ) -> None:
        self._earlier = earlier = ResumedRun.of(panel.trace, run_id)
        self._examples = earlier.examples if examples is None else examples
        self._panel, self._request, self._id, self._rests = panel, request, run_id, rests
        self._began = time.perf_counter() - earlier.seconds
        self._meter = earlier.meter()
        self._account = AnswerBuilder(run_id, request.question, request.mode if request.mode != "auto" else "")
        self._answer: Answer | None = None
        self._model = panel.models.get(request.model)
        self._budget = request.budget or panel.settings.budget
        self._spent = BudgetUsage(earlier.usage, earlier.seconds)
        self._llm = JournalingLLM(self._model, panel.trace.journal(run_id))
        self._tools = panel.tools.open(run_id, panel.library)
        self._samples = request.samples or panel.settings.samples
        self._executor: Executor | None = None
        self._attempts: list[Attempt] = []
        self._best: Synthesis | None = None
        self._bus = MessageBus(run_id, after=len(earlier.events))
        for listener in (self._record, self._meter.listen, self._account.listen, *listeners):
            self._bus.subscribe(ALL, listener)

    async def to_the_end(self) -> Answer:
        """The answer, whatever happens. Raises AgentError for a request that cannot be followed."""
        panel, request = self._panel, self._request
        chosen = panel.chosen_plan(request)
        panel.trace.start(self._id, request.question, panel.library.collection, self._model.model)
        try:
            return await self._finish(await self._research(chosen))
        except BudgetReached as error:
            return await self._finish(self._account.cut_short(str(error), self._context, self._best))
        except (AgentError, StoreError) as error:
            unexplained = _UNEXPLAINED if isinstance(error, LLMError | RunEnded) else ""
            return await self._finish(self._account.ended(Status.FAILED, f"{error}{unexplained}", self._context))
        except asyncio.CancelledError:
            if not self._rests():
                await self._finish(self._account.ended(Status.CANCELLED, "The run was cancelled.", self._context))
            raise
        except BaseException as error:
            await self._finish(self._account.ended(Status.FAILED, f"A defect in Candor: {error!r}", self._context))
            raise
        finally:
            await self._tools.close()

    async def _research(self, chosen: Plan | None) -> Answer:
        panel, request = self._panel, self._request
        examples = await self._find_examples() if chosen is None else ()
        remembered = self._earlier.remembered or await self._recall(chosen)
        await self._bus.publish(self._beginning(examples, remembered))
        catalogue = self._account.catalogue = await asyncio.to_thread(panel.library.catalogue)
        planner = Planner(
            self._observed("Planner"),
            panel.registry,
            panel.settings,
            panel.library,
            catalogue,
            self._bus.publish,
            remembered,
        )
        understanding, plan = await self._planned(planner, chosen, examples)
        self._executor = Executor(
            self._id, panel.registry, self._turn, self._agreed, self._bus,
            ResearchContext(question=request.question, understanding=understanding),
            [entry.name for entry in catalogue], panel.settings, MergeOrder(self._earlier.events),
        )  # fmt: skip
        return await self._attempted(self._executor, planner, plan)

    def _beginning(self, examples: Sequence[PlanExample], remembered: Remembered) -> RunStarted | RunResumed:
        if self._earlier.events:
            return RunResumed(times=self._earlier.resumed + 1, answered=self._earlier.answered)
        collection, model = self._panel.library.collection, self._model.model
        return RunStarted(
            request=self._request, collection=collection, model=model, examples=tuple(examples), remembered=remembered
        )

    async def _recall(self, chosen: Plan | None) -> Remembered:
        """What the planner is told beside the question; an agent that is asked directly is told nothing of it."""
        if chosen and chosen.mode == "direct":
            return Remembered()
        return await asyncio.to_thread(self._panel.memory.recall, self._request)

    async def _find_examples(self) -> Sequence[PlanExample]:
        if self._examples is not None:
            return self._examples
        panel, question = self._panel, self._request.question
        limit, collection = panel.settings.plan_examples, panel.library.collection
        return await asyncio.to_thread(panel.plans.similar, question, limit, collection) if limit else ()

    async def _planned(
        self, planner: Planner, chosen: Plan | None, examples: Sequence[PlanExample]
    ) -> tuple[Understanding, Plan]:
        question, mode = self._request.question, self._request.mode
        if mode == "direct" and chosen:
            # Nobody but the agent itself has looked at the question.
            return Understanding(intent=question, domain="", requirements=(question,)), chosen
        if chosen:
            return await planner.follow(question, chosen), chosen
        return await planner.plan(question, "high" if mode == "direct" else mode, examples)

    # Attempts

    async def _attempted(self, executor: Executor, planner: Planner, plan: Plan) -> Answer:
        """Run the plan, and others while they promise more, until the question is answered."""
        while True:
            self._account.mode = plan.mode
            failed = await executor.run(plan, self._samples)
            self._best = executor.answer or self._best
            answered = executor.answer is not None and status_of(executor.answer) is Status.ANSWERED
            await self._note(plan, failed, executor)
            if answered:
                if plan.mode != "direct" and self._panel.settings.remember_plans:
                    panel, question = self._panel, self._request.question
                    await asyncio.to_thread(panel.plans.remember, question, plan, panel.library.collection)
                break
            revised = await self._revised(executor, planner)
            if revised is None:
                break
            plan = revised
        if self._best is None and self._request.mode == "direct" and not failed:
            self._best = _told_by(executor.context)
        if self._best:
            return self._account.answered(self._best, executor.context)
        return await self._explained(executor, failed)

    async def _note(self, plan: Plan, failed: tuple[FailedStep, ...], executor: Executor) -> None:
        """Keep the attempt, for the next one and for the trace."""
        answer = executor.answer
        attempt = Attempt(
            number=len(self._attempts) + 1,
            plan=plan,
            failed=failed,
            missing=unmet(answer),
            verdict=answer.reasoning if answer and not answer.sufficient else "",
        )
        self._attempts.append(attempt)
        findings = working_context(executor.context, self._attempts).key_findings
        await self._bus.publish(AttemptEnded(attempt=attempt, key_findings=findings))

    async def _revised(self, executor: Executor, planner: Planner) -> Plan | None:
        """Another plan, if one may be made, is made, and tries something else."""
        if self._request.mode in ("fast", "direct") or len(self._attempts) > self._panel.settings.max_revisions:
            return None
        try:
            diagnosis, plan = await planner.revise(executor.context, working_context(executor.context, self._attempts))
        except PlanError as error:
            await self._decline(str(error))
            return None
        if plan is None:
            await self._decline(diagnosis)
            return None
        if any(plan.tried == attempt.plan.tried for attempt in self._attempts):
            await self._decline("The revised plan tries nothing that was not tried before.")
            return None
        await self._bus.publish(PlanRevised(attempt=len(self._attempts) + 1, diagnosis=diagnosis, plan=plan))
        return plan

    async def _decline(self, reason: str) -> None:
        await self._bus.publish(RevisionDeclined(reason=reason))

    async def _explained(self, executor: Executor, failed: Sequence[FailedStep]) -> Answer:
        """The end of a run whose steps failed, explained by the model, with the error itself.

        If they failed only because there was nothing to build on, it is not the research that failed.
        """
        if not failed:
            reason = "The plan ended without an answer: the agent that was to write it had nothing to do."
            return self._account.ended(Status.FAILED, reason, executor.context)
        causes = [each for each in failed if each.error_type != ReferenceFailed.__name__] or failed
        errors = " ".join(dict.fromkeys(each.error for each in causes))
        words = working_context(executor.context, self._attempts).in_words()
        messages = Prompt.shipped("explainer").render(question=self._request.question, attempts=words)
        try:
            explanation = (await self._observed("Explainer").complete(messages, Explanation)).value.explanation
        except LLMError as error:
            reason = f"{errors} (No explanation could be had from the model: {error})"
        else:
            reason = f"{explanation.rstrip()} The error itself: {errors}"
        if {each.error_type for each in causes} == {NothingFound.__name__}:
            return self._account.cut_short(reason, executor.context)
        return self._account.ended(Status.FAILED, reason, executor.context)

    # What the parts are given

    def _turn(
        self,
        registered: RegisteredAgent,
        step: str,
        varied: bool,
        granted: tuple[str, ...],
        get_task_data: GetTaskData,
        keep: Keep,
    ) -> Turn:
        card, publish = registered.card, partial(self._bus.publish, step=step)
        time = StepTimeout(self._panel.settings.step_timeout_s)
        tools = self._tools.turn(card.name, granted, step, publish, time)
        journaling = self._journaling(card.name)
        llm: LLM = ObservedLLM(journaling, card.name, publish)
        kit = AgentKit(
            llm=SampledLLM(llm) if varied else llm,
            library=self._panel.library,
            prompt=registered.prompt,
            settings=self._panel.settings,
            publish=publish,
            keep=keep,
            get_task_data=get_task_data,
            tools=tools.offered,
        )

        def release() -> None:
            journaling.release()
            tools.release()

        return Turn(kit, release, time)

    async def _agreed(self, question: str, candidates: Sequence[Candidate]) -> Synthesis:
        retries = self._panel.settings.plan_retries
        return await agree(question, candidates, self._observed("Consensus"), self._bus.publish, retries)

    def _observed(self, caller: str) -> LLM:
        publish: Publish = self._bus.publish
        return ObservedLLM(self._journaling(caller), caller, publish)

    def _journaling(self, caller: str) -> JournalingLLM:
        """The model that this caller asks, within the budget and the journal of the run."""
        model = self._panel.model_of(caller, self._request)
        return self._llm.called_by(caller, BudgetedLLM(model, self._budget, self._spent))

    # Ends

    @property
    def _context(self) -> ResearchContext | None:
        return self._executor.context if self._executor else None

    async def _finish(self, answer: Answer) -> Answer:
        """Store the end and tell of it, once: what goes wrong while it is told does not end the run another time."""
        if self._answer:
            return self._answer
        usage = self._meter.usage.model_copy(update={"seconds": time.perf_counter() - self._began})
        answer = answer.model_copy(update={"usage": usage})
        if self._request.session:  # first: who goes on with the conversation asks as soon as the end is told
            await asyncio.to_thread(self._panel.memory.keep, self._request, answer)
        self._answer = answer
        await self._bus.publish(RunFinished(status=answer.status.value, reason=answer.reasoning, usage=usage))
        return answer

    async def _record(self, event: Event) -> None:
        """The first to be told: whatever others are told of has been stored."""
        if isinstance(event.body, RunFinished) and self._answer:
            self._panel.trace.finish(self._answer, event)
        else:
            await self._panel.trace.record(event)


def _told_by(context: ResearchContext) -> Synthesis:
    """What an agent that was asked directly had to say, if it writes no answer: its words, supported by nothing."""
    said = [note.text for note in context.notes] or [message.content for message in context.messages]
    return Synthesis(
        claims=tuple(Claim(text=text, supported=False) for text in said),
        evidence=context.evidence,
        layout="list",
        sufficient=False,
        confidence=0.0,
        reasoning="The agent was asked directly, and is not one that answers with evidence.",
        looked_for=context.looked_for,
        found="",
        missing=(),
    )
