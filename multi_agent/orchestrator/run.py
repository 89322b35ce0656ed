"""One run, which triages the question, plans, executes attempts and finishes in a terminal state."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any

from multi_agent.catalog.registry import AgentRegistry
from multi_agent.errors import AgentError, BudgetReached, LLMError, PlanError, RunEnded
from multi_agent.grounding.asking_back import AskBack, ask_back, find_named
from multi_agent.grounding.consensus import Candidate, agree
from multi_agent.llm.wrappers.usage import BudgetUsage
from multi_agent.orchestrator.answer_builder import AnswerBuilder, RunCounter
from multi_agent.orchestrator.attempts import Attempts
from multi_agent.orchestrator.executor import Executor, MergeOrder
from multi_agent.orchestrator.libraries import FilteredLibrary, GivenLibrary
from multi_agent.orchestrator.planning.dependencies import RunDependencies, RunModels, without_sources
from multi_agent.orchestrator.planning.document_list import DocumentList
from multi_agent.orchestrator.planning.one_step import direct_plan, fast_agents
from multi_agent.orchestrator.planning.planner import Planner
from multi_agent.orchestrator.planning.triage import Triage, complete_question, triage_of
from multi_agent.orchestrator.report import as_outline, as_report, closing_plan
from multi_agent.orchestrator.rerun.difference import observe_environment
from multi_agent.orchestrator.rerun.forking import PlanChange, copy_calls, origin_events, require_possible
from multi_agent.orchestrator.sections import AGENT, Research, Sections, findings_of, propose_outline
from multi_agent.orchestrator.tasks import SharedContext, StepTasks
from multi_agent.orchestrator.worker import Worker
from multi_agent.orchestrator.working_context import explain_missing_plan
from multi_agent.prompts.show_remembered import show_practice
from multi_agent.prompts.show_sources import show_sources
from multi_agent.storage.recording import ResumedRun
from multi_agent.values.answer import Answer, Status
from multi_agent.values.bus import ALL, MessageBus, Subscriber
from multi_agent.values.context import FollowUp, ResearchContext, Synthesis, Understanding
from multi_agent.values.context_merge import merge
from multi_agent.values.events import Event, PlanMade, RunFinished, RunResumed, RunStarted, started_in
from multi_agent.values.evidence_events import Searched
from multi_agent.values.plan import Plan, PlanExample
from multi_agent.values.report import ReportOptions
from multi_agent.values.request import Remembered, Request, words_to_look_up
from multi_agent.values.tasks import TaskStorage
from vectorstore.errors import StoreError
from vectorstore.models import Chunk

_UNEXPLAINED = " (This is the original error; no model was asked to explain it, since the model or the store failed.)"


class Run:
    """The state of one run: its bus, journal, budget and attempts."""

    def __init__(
        self,
        dependencies: RunDependencies,
        request: Request,
        chosen: Plan | None,
        run_id: str,
        listeners: Sequence[Subscriber],
        examples: Sequence[PlanExample] | None,
        pausing: Callable[[], bool],
        like: Sequence[Event],
        research: Research,
    ) -> None:
        filtered = FilteredLibrary(dependencies.library, request.filter) if request.filter else None
        library = filtered or dependencies.library
        if request.rag_results:
            library = GivenLibrary(library, request.rag_results, search=request.search)
        self._dependencies = dependencies = replace(dependencies, library=library)
        self._request, self._chosen = request, chosen
        self._id, self._pausing = run_id, pausing
        self._resumed = resumed = ResumedRun.of(dependencies.trace, run_id)
        self._fork = None if resumed.events or like else request.fork
        self._origin = like
        if request.fork and not like:
            self._origin = origin_events(dependencies.trace, request.fork, copied=bool(resumed.events))
        if self._fork:
            documents = [entry.name for entry in dependencies.library.catalogue()]
            require_possible(dependencies.trace, dependencies.registry, documents, self._fork)
        self._change = PlanChange(request.fork)
        # What the planner sees must be the same as in the run that this one resumes or repeats.
        self._earlier = earlier = started_in(resumed.events or self._origin)
        self._examples = earlier.examples if examples is None and earlier else examples
        self._today = earlier.today if earlier else str(request.today or date.today())  # noqa: DTZ011 - the person's day
        self._triage = earlier.triage if earlier else triage_of(dependencies.trace, request)
        self._began = time.perf_counter() - resumed.seconds
        self._meter = resumed.meter()
        self._spent = spent = BudgetUsage(resumed.usage, resumed.seconds)
        self._models = RunModels(dependencies, request, dependencies.trace.journal(run_id), spent)
        self._tools = dependencies.tools.open(run_id, dependencies.library, request.sources)
        counter = RunCounter(self._tools.offered)
        self._builder = AnswerBuilder(run_id, request, counter, filtered.selection if filtered else None)
        barred = without_sources(dependencies.registry, dependencies.tools, request.sources)
        self._builder.not_asked = {**dependencies.registry.left_out, **barred}
        self._follows: FollowUp | None = None
        self._shown: tuple[Chunk, ...] = ()
        """The passages that name what an unclear question may mean."""
        self._attempts: Attempts | None = None
        self._answer: Answer | None = None
        self._bus = MessageBus(run_id, self._record, after=len(resumed.events))
        self._sections = Sections(dependencies, request, run_id, spent, research, pausing, self._bus.publish)
        own = (self._meter.listen, counter.listen, dependencies.models.pace.listen)
        for listener in (*own, *dependencies.listeners, *listeners):
            self._bus.subscribe(ALL, listener)
        self._bus.subscribe("searched", self._tools.addresses.listen)

    async def execute(self) -> Answer:
        """Run to a terminal state and return the answer. A cancelled run stays open if ``pausing()`` is true."""
        dependencies, builder = self._dependencies, self._builder
        collection = dependencies.library.collection
        dependencies.trace.start(self._id, self._request, collection, self._models.model)
        try:
            if self._fork:
                calls = dependencies.tools.calls
                await asyncio.to_thread(copy_calls, dependencies.trace, calls, self._fork, self._origin, self._id)
            return await self._finish(await self._research())
        except BudgetReached as error:
            best = self._attempts.best if self._attempts else None
            return await self._finish(builder.partial(str(error), self._context, best))
        except (AgentError, StoreError) as error:
            unexplained = _UNEXPLAINED if isinstance(error, LLMError | RunEnded) else ""
            return await self._finish(builder.without_synthesis(Status.FAILED, f"{error}{unexplained}", self._context))
        except asyncio.CancelledError:
            if not self._pausing():
                await self._finish(builder.without_synthesis(Status.CANCELLED, "The run was cancelled.", self._context))
            raise
        except BaseException as error:
            reason = f"A defect in Candor: {error!r}"
            await self._finish(builder.without_synthesis(Status.FAILED, reason, self._context))
            raise
        finally:
            await self._tools.close()

    async def _research(self) -> Answer:
        await self._models.check_settings()
        remembered = self._earlier.remembered if self._earlier else await self._recall()
        examples = await self._find_examples(remembered)
        await self._bus.publish(self._first_event(examples, remembered))
        self._tools.addresses.hear(self._said(remembered))
        library = self._dependencies.library
        catalogue, unread = await asyncio.to_thread(lambda: (library.catalogue(), library.unread()))
        self._builder.catalogue, self._builder.unread = catalogue, unread
        environment = await asyncio.to_thread(observe_environment, self._dependencies, catalogue)
        await asyncio.to_thread(self._dependencies.trace.keep_environment, self._id, environment)
        if asked := await self._complete_question(remembered):
            return self._asked_back(asked)
        await self._search_question()
        limit, question = self._dependencies.settings.catalogue_limit, self._request.question
        listed = catalogue if "documents" in self._request.sources else ()
        documents = DocumentList(self._dependencies.library, listed, question, limit)
        planning = self._planning("Planner", documents, remembered, self._dependencies.registry)
        settings = self._dependencies.settings
        planner = Planner(**planning, retries=settings.plan_retries, tokens=settings.planner_tokens)
        if report := self._request.report:
            return await self._report(report, documents, planner)
        try:
            planned = await self._plan(planner, documents, remembered, examples)
        except PlanError as error:
            return await self._explain(error)
        if isinstance(planned, Synthesis):
            return self._asked_back(planned)
        understanding, plan = planned
        practice = partial(show_practice, remembered, examples)
        answer = await self._attempt(plan, self._new_context(understanding), planner, practice)
        if answer.status is Status.ANSWERED and self._dependencies.settings.remember_plans:
            await asyncio.to_thread(self._keep_tool_uses)
        return answer

    async def _attempt(
        self, plan: Plan, context: ResearchContext, planner: Planner, practice: Callable[[Sequence[str]], str]
    ) -> Answer:
        executor = self._make_executor(context, practice)
        self._attempts = Attempts(
            self._dependencies, self._request, self._models, executor, planner, self._bus, self._builder
        )
        return await self._attempts.run(plan)

    async def _report(self, report: ReportOptions, documents: DocumentList, planner: Planner) -> Answer:
        """Research the sections of a report, compare what they found and write the summary."""
        question, listed = self._request.question, await documents.text()
        llm = self._models.of("Planner", self._bus.publish)
        outline = report.sections or await propose_outline(llm, question, listed, self._today)
        if report.outline_only:
            return as_outline(self._builder.without_synthesis(Status.ANSWERED, "An outline to edit.", None), outline)
        understanding = Understanding(intent=question, requirements=tuple(each.title for each in outline))
        plan = self._change(closing_plan(question, report.format))
        await self._bus.publish(PlanMade(understanding=understanding, plan=plan))
        await self._sections.research(outline)
        cited = self._sections.cited
        passages = await asyncio.to_thread(self._dependencies.library.scan, cited) if cited else []
        found = findings_of(self._sections.done, {chunk.id: chunk for chunk in passages})
        context = merge(self._new_context(understanding), found, agent=AGENT, writes=found.changed)
        return await self._attempt(plan, context, planner, lambda _: "")

    # Planning

    async def _find_examples(self, remembered: Remembered) -> Sequence[PlanExample]:
        """Return plans that worked on similar questions. A resumed run gets the plans of its first attempt."""
        if self._chosen or self._request.mode == "fast":
            return ()
        if self._examples is not None:
            return self._examples
        dependencies = self._dependencies
        question = words_to_look_up(self._request.question, remembered.conversation)
        limit, collection = dependencies.settings.plan_examples, dependencies.library.collection
        return await asyncio.to_thread(dependencies.plans.similar, question, limit, collection) if limit else ()

    async def _recall(self) -> Remembered:
        """Return the memory entries for the request. Only planners get preferences, directly asked agents do not."""
        dependencies = self._dependencies
        collection = dependencies.library.collection
        remembered = await asyncio.to_thread(dependencies.memory.recall, self._request, collection)
        return remembered.model_copy(update={"preferences": ()}) if self._request.mode == "direct" else remembered

    def _said(self, remembered: Remembered) -> tuple[str, ...]:
        """Return the texts that the person wrote for this run. Excludes answers, because they quote documents."""
        request, before = self._request, (*self._request.conversation, *remembered.conversation)
        return request.question, *request.inputs.values(), *(each.question for each in before)

    async def _complete_question(self, remembered: Remembered) -> Synthesis | None:
        """Complete a follow-up question from the conversation, or ask what it means.

        The run then uses the completed question. A chosen candidate is already complete.
        """
        if not remembered.conversation or self._request.complete:
            return None
        llm = self._models.of("Conversation", self._bus.publish)
        asked, conversation = self._request.question, remembered.conversation
        library = self._dependencies.library
        catalogue = self._builder.catalogue if "documents" in self._request.sources else ()
        completed, unclear = await complete_question(asked, conversation, catalogue, library, llm, self._bus.publish)
        question, added, left_out = completed.question, completed.added, completed.left_out
        self._follows = FollowUp(before=conversation[-1], asked=asked, added=added, left_out=left_out)
        self._builder.completed_question, self._builder.added = question if question != asked else "", added
        self._request = self._request.model_copy(update={"question": question})
        if self._request.mode == "direct":
            named = self._request.agents or (self._request.agent,)
            self._chosen = direct_plan(named, question, self._dependencies.registry)
        return await self._ask_back(unclear) if unclear else None

    async def _ask_back(self, asked: AskBack) -> Synthesis | None:
        """Return the result that asks the person; None unless passages name two candidates or more.

        A candidate that the person chose is not asked back again.
        """
        if self._request.complete or "documents" not in self._request.sources:
            return None
        named = await find_named(asked.candidates, self._dependencies.library, self._bus.publish)
        self._shown = tuple(each.chunk for each in named)
        return ask_back(asked.question, named, tuple(each.name for each in asked.candidates), "")

    def _asked_back(self, asked: Synthesis) -> Answer:
        """Return the answer of a run that ends before it has a plan: it asks back, or needs no document."""
        question = self._request.question
        understanding = Understanding(intent=question, requirements=(question,))
        context = self._new_context(understanding).model_copy(update={"chunks": self._shown})
        return self._builder.from_synthesis(asked, context)

    def _new_context(self, understanding: Understanding) -> ResearchContext:
        question, follows = self._request.question, self._follows
        return ResearchContext(question=question, understanding=understanding, today=self._today, follows=follows)

    def _keep_tool_uses(self) -> None:
        """Store the tool calls that led to the answer, for later questions about the collection."""
        dependencies = self._dependencies
        if uses := dependencies.tools.calls.that_worked(self._id, self._request.question):
            dependencies.memory.keep_tool_uses(dependencies.library.collection, uses)

    def _first_event(self, examples: Sequence[PlanExample], remembered: Remembered) -> RunStarted | RunResumed:
        if self._resumed.events:
            return RunResumed(times=self._resumed.resumed + 1, answered=self._resumed.answered)
        return RunStarted(
            request=self._request,
            collection=self._dependencies.library.collection,
            model=self._models.model,
            examples=tuple(examples),
            remembered=remembered,
            today=self._today,
            triage=self._triage,
        )

    async def _search_question(self) -> None:
        """Search for the original question, so that a person sees passages while the model plans."""
        if "documents" not in self._request.sources:
            return
        if self._triage or (self._chosen and self._chosen.mode == "direct"):
            return  # the agent of the plan searches at once
        library, question = self._dependencies.library, self._request.question
        found = await asyncio.to_thread(library.search, (question,), self._dependencies.settings.reader_passages)
        await self._bus.publish(Searched.of((question,), (), found))

    async def _plan(
        self, planner: Planner, documents: DocumentList, remembered: Remembered, examples: Sequence[PlanExample]
    ) -> tuple[Understanding, Plan] | Synthesis:
        question, mode, chosen = self._request.question, self._request.mode, self._chosen
        if mode == "direct" and chosen:
            # Only the agent's own model reads the question, because there is no planner.
            return Understanding(intent=question, requirements=(question,)), self._change(chosen)
        if chosen:
            return await planner.follow(question, chosen, self._request.inputs)
        registry = self._dependencies.registry
        registry = registry.without({name: why for name, why in self._builder.not_asked.items() if name in registry})
        if mode in ("auto", "fast") and fast_agents(registry):
            planning = self._planning("Triage", documents, remembered, registry)
            triage = Triage(**planning, ask_back=self._ask_back, known=self._triage)
            if fast := await triage.fast_plan(question, "fast" if mode == "fast" else "auto"):
                return fast
        return await planner.plan(question, examples)

    async def _explain(self, error: PlanError) -> Answer:
        """Return a failed answer with the model's explanation of its plan. Raises ``error`` for a saved plan."""
        if not error.written:
            raise error
        llm = self._models.of("Explainer", self._bus.publish)
        reason = await explain_missing_plan(llm, self._request.question, error)
        return self._builder.without_synthesis(Status.FAILED, reason, None)

    # Parts of the run

    def _planning(
        self, caller: str, documents: DocumentList, remembered: Remembered, registry: AgentRegistry
    ) -> dict[str, Any]:
        """Return the fields of ``PlanningCalls`` for one caller."""
        publish, sources = self._bus.publish, show_sources(self._request.sources)
        return {
            "llm": self._models.of(caller, publish), "registry": registry, "documents": documents,
            "publish": publish, "remembered": remembered, "today": self._today, "sources": sources,
            "change": self._change,
        }  # fmt: skip

    def _make_executor(self, context: ResearchContext, show_practice: Callable[[Sequence[str]], str]) -> Executor:
        registry, settings = self._dependencies.registry, self._dependencies.settings
        shared = SharedContext(context, self._request.sources, self._request.fork)
        storage = TaskStorage()
        worker = Worker(
            self._dependencies, self._models, self._tools, self._bus, storage, shared, self._request, show_practice
        )
        tasks = StepTasks(
            self._id, registry, storage, [entry.name for entry in self._builder.catalogue], self._request.question
        )
        order = MergeOrder(self._resumed.events, self._origin)
        return Executor(registry, worker, tasks, shared, self._bus, self._agree, order, reactions=settings.reactions)

    async def _agree(self, question: str, candidates: Sequence[Candidate]) -> Synthesis:
        llm = self._models.of("Consensus", self._bus.publish)
        return await agree(question, candidates, llm, self._bus.publish, self._dependencies.settings.plan_retries)

    # The end

    @property
    def _context(self) -> ResearchContext | None:
        return self._attempts.context if self._attempts else None

    async def _finish(self, answer: Answer) -> Answer:
        """Store and publish the answer once. An error of a listener does not end the run a second time."""
        if self._answer:
            return self._answer
        usage = self._meter.usage.model_copy(update={"seconds": time.perf_counter() - self._began})
        answer = answer.model_copy(update={"usage": usage})
        if self._request.report and self._sections.done:
            answer = as_report(answer, self._request.report.format, self._sections.done, self._context)
        if self._request.session:  # before RunFinished, because the next question may follow at once
            kept = self._request, self._dependencies.library.collection, answer
            await asyncio.to_thread(self._dependencies.memory.keep, *kept)
        self._answer = answer
        await self._bus.publish(
            RunFinished(status=answer.status.value, reason=answer.checks or answer.reasoning, usage=usage)
        )
        return answer

    def _record(self, event: Event) -> None:
        if isinstance(event.body, RunFinished) and self._answer:
            self._dependencies.trace.finish(self._answer, event)
        else:
            self._dependencies.trace.record(event)
