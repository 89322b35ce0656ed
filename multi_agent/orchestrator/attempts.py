"""The attempts of a run. Runs a plan, judges the answer and revises the plan until no revision is worthwhile."""

import asyncio
from collections.abc import Sequence

from multi_agent.errors import NothingFound, PlanError, PromptTooLong, ReferenceFailed
from multi_agent.orchestrator.answer_builder import AnswerBuilder
from multi_agent.orchestrator.executor import Executor
from multi_agent.orchestrator.planning.dependencies import RunDependencies, RunModels
from multi_agent.orchestrator.planning.planner import Planner
from multi_agent.orchestrator.working_context import (
    WorkingContext,
    explain_failure,
    key_findings,
    missing_parts,
    working_context,
)
from multi_agent.prompts.show_outline import show_read
from multi_agent.values.answer import Answer, Status, status_of
from multi_agent.values.bus import MessageBus
from multi_agent.values.context import Claim, ResearchContext, Synthesis
from multi_agent.values.events import AttemptEnded, PlanRevised, RevisionDeclined
from multi_agent.values.plan import Attempt, FailedStep, Plan
from multi_agent.values.request import Request


class Attempts:
    """All attempts of one run. ``best`` is the best answer so far."""

    def __init__(
        self,
        dependencies: RunDependencies,
        request: Request,
        models: RunModels,
        executor: Executor,
        planner: Planner,
        bus: MessageBus,
        builder: AnswerBuilder,
    ) -> None:
        self._dependencies, self._request, self._models = dependencies, request, models
        self._executor, self._planner, self._bus, self._builder = executor, planner, bus, builder
        self._samples = request.samples or dependencies.settings.samples
        self._attempts: list[Attempt] = []
        self._answer: Synthesis | None = None
        """The answer of the last plan."""
        self.best: Synthesis | None = None

    @property
    def context(self) -> ResearchContext:
        """The shared context with the results of all attempts."""
        return self._executor.context

    async def run(self, plan: Plan) -> Answer:
        """Run the plan and its revisions until the question is answered."""
        current: Plan | None = plan
        failed: Sequence[FailedStep] = ()
        while current is not None:
            failed = await self._attempt(current)
            if await self._is_settled(current):
                break
            current = await self._revise()
        if self.best is None and plan.mode in ("fast", "direct") and not failed:
            registry = self._dependencies.registry
            talks = all(registry.get(name).card.talks for name in plan.steps[-1].agents)
            self.best = _from_notes(self.context, talks=talks)
        if self.best:
            return self._builder.from_synthesis(self.best, self.context)
        return await self._explain(failed)

    async def _attempt(self, plan: Plan) -> Sequence[FailedStep]:
        self._builder.mode = plan.mode
        failed = await self._executor.run(plan, self._samples)
        answer = self._answer = self._executor_answer()
        is_worse = answer and status_of(answer) not in (Status.ANSWERED, Status.PARTIAL)
        if answer and not (self.best and status_of(self.best) is Status.PARTIAL and is_worse):
            self.best = answer
        attempt = Attempt(
            number=len(self._attempts) + 1,
            plan=plan,
            failed=failed,
            missing=missing_parts(answer),
            verdict=answer.reasoning if answer and not answer.sufficient else "",
        )
        self._attempts.append(attempt)
        await self._bus.publish(AttemptEnded(attempt=attempt, key_findings=key_findings(self.context)))
        return failed

    def _executor_answer(self) -> Synthesis | None:
        """Return the answer of the last plan. If there is none, a step may have asked back."""
        answer = self._executor.answer
        if answer and status_of(answer) is Status.ANSWERED:
            return answer
        findings = (each.synthesis for each in self.context.findings)
        return next((each for each in findings if each.clarification), answer)

    async def _is_settled(self, plan: Plan) -> bool:
        """Return whether no other plan is needed. Of a partial answer, none finds what no document can know."""
        if self._answer is None:
            return False
        status = status_of(self._answer)
        if status is Status.ANSWERED:
            await self._remember(plan)
        searchable = any(each.verdict == "not_found" for each in self._answer.parts)
        return status is not Status.INSUFFICIENT and not (status is Status.PARTIAL and searchable)

    async def _remember(self, plan: Plan) -> None:
        """Store a planner's plan that led to an answer as an example for later questions.

        A plan that builds on steps of an earlier attempt is no example.
        """
        dependencies = self._dependencies
        complete = all(plan.needed_by(step) == {*step.after} for step in plan.steps)
        if complete and plan.mode == "high" and dependencies.settings.remember_plans:
            collection = dependencies.library.collection
            await asyncio.to_thread(dependencies.plans.remember, self._request.question, plan, collection)

    async def _revise(self) -> Plan | None:
        """Return another plan, or None if no revision is allowed, worth trying or different from earlier plans."""
        most, fixed = self._dependencies.settings.max_revisions, self._request.mode in ("fast", "direct")
        if fixed or self._request.report or len(self._attempts) > most:
            return None
        if self._answer and self._answer.hopeless:
            await self._bus.publish(RevisionDeclined(reason=self._answer.hopeless))
            return None
        try:
            diagnosis, plan = await self._planner.revise(self.context, await self._working())
        except (PlanError, PromptTooLong) as error:
            diagnosis, plan = str(error), None
        if plan and any(plan.fingerprint == attempt.plan.fingerprint for attempt in self._attempts):
            diagnosis, plan = "The revised plan tries nothing that was not tried before.", None
        if plan is None:
            await self._bus.publish(RevisionDeclined(reason=diagnosis))
            return None
        await self._bus.publish(PlanRevised(attempt=len(self._attempts) + 1, diagnosis=diagnosis, plan=plan))
        return plan

    async def _working(self) -> WorkingContext:
        library, catalogue = self._dependencies.library, self._builder.catalogue
        read = await asyncio.to_thread(show_read, self.context, catalogue, library)
        return working_context(self.context, self._attempts, read, self._executor.finished)

    async def _explain(self, failed: Sequence[FailedStep]) -> Answer:
        """Build the answer of a run without a result from the model's explanation and the errors.

        If steps failed only because earlier ones found nothing, the run is insufficient instead of failed.
        """
        if not failed:
            reason = "The plan ended without an answer: the agent that was to write it had nothing to do."
            return self._builder.without_synthesis(Status.FAILED, reason, self.context)
        causes = [each for each in failed if each.error_type != ReferenceFailed.__name__] or failed
        errors = " ".join(dict.fromkeys(each.error for each in causes))
        working = await self._working()
        llm = self._models.of("Explainer", self._bus.publish)
        reason = await explain_failure(llm, self._request.question, working, errors)
        if {each.error_type for each in causes} == {NothingFound.__name__}:
            return self._builder.partial(reason, self.context)
        return self._builder.without_synthesis(Status.FAILED, reason, self.context)


def _from_notes(context: ResearchContext, *, talks: bool) -> Synthesis:
    """Return the notes or reasoning of a directly asked agent that writes no answer, as unsupported claims.

    If the card of the agent has ``talks``, its reply is the answer and has no claims.
    """
    texts = [note.text for note in context.notes] or [
        message.content for message in context.messages if message.type == "reasoning_shared"
    ]
    return Synthesis(
        claims=() if talks else tuple(Claim(text=text, supported=False) for text in texts),
        short="\n\n".join(texts) if talks else "",
        evidence=context.evidence,
        layout="list",
        sufficient=talks and bool(texts),
        confidence=0.0,
        basis="Talk without claims; nothing was checked" if talks else "",
        reasoning="The agent was asked directly, and it does not answer with evidence.",
        looked_for=context.looked_for,
        found="",
        missing=(),
    )
