"""The head of the panel: takes a question through understanding, planning and execution to a terminal state."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from multi_agent.agent import AgentKit
from multi_agent.answer import Answer, Coverage, Quote, Status, status_of
from multi_agent.bus import ALL, MessageBus, Publish, Subscriber
from multi_agent.context import ResearchContext
from multi_agent.errors import AgentError, PlanError
from multi_agent.events import RunFinished, RunStarted
from multi_agent.library import CatalogueEntry, Library
from multi_agent.llm.journal import JournalingLLM
from multi_agent.llm.llm import LLM
from multi_agent.llm.observing import Meter, ObservedLLM
from multi_agent.orchestrator.executor import Executor
from multi_agent.orchestrator.planner import Planner
from multi_agent.registry import AgentRegistry, RegisteredAgent
from multi_agent.settings import ResearchSettings
from multi_agent.tracing.trace import Trace
from vectorstore.errors import StoreError

MODE = "high"


@dataclass(frozen=True)
class Orchestrator:
    """Researches questions. One instance serves many runs at once; all state of a run is made for that run.

    answer = await Orchestrator(llm, library, registry, trace, settings).research("Which pump works below -20 °C?")
    """

    llm: LLM
    library: Library
    registry: AgentRegistry
    trace: Trace
    settings: ResearchSettings

    async def research(self, question: str, *listeners: Subscriber, run_id: str | None = None) -> Answer:
        """The answer; ``listeners`` are told every event as it happens.

        Always ends in a terminal state, which is stored with the answer. Errors of the model, the plan and the store
        end the run as ``failed`` with their message. A cancelled run is stored as such, then the cancellation goes
        on; so is any other exception, which is a defect of Candor. Raises AgentError for an empty question.
        """
        if not question.strip():
            raise AgentError("The question is empty; ask something.")
        return await _Run(self, question.strip(), run_id or new_run_id(), listeners).to_the_end()


class _Run:
    """One question on its way. Holds what the parts of the run share: bus, journal, meter, context so far."""

    def __init__(self, panel: Orchestrator, question: str, run_id: str, listeners: tuple[Subscriber, ...]) -> None:
        self._panel, self._question, self._id = panel, question, run_id
        self._began = time.perf_counter()
        self._meter = Meter()
        self._llm = JournalingLLM(panel.llm, panel.trace.journal(run_id))
        self._catalogue: Sequence[CatalogueEntry] = ()
        self._executor: Executor | None = None
        self._bus = MessageBus(run_id)
        for listener in (panel.trace.record, self._meter.listen, *listeners):
            self._bus.subscribe(ALL, listener)

    async def to_the_end(self) -> Answer:
        panel = self._panel
        panel.trace.begin(self._id, self._question, panel.library.collection, panel.llm.model)
        try:
            return await self._finish(await self._research())
        except (AgentError, StoreError) as error:
            return await self._finish(self._ended(Status.FAILED, str(error)))
        except asyncio.CancelledError:
            await self._finish(self._ended(Status.CANCELLED, "The run was cancelled."))
            raise
        except BaseException as error:
            await self._finish(self._ended(Status.FAILED, f"A defect in Candor: {error!r}"))
            raise

    async def _research(self) -> Answer:
        panel = self._panel
        await self._bus.publish(
            RunStarted(question=self._question, collection=panel.library.collection, model=panel.llm.model)
        )
        self._catalogue = await asyncio.to_thread(panel.library.catalogue)
        planner = Planner(self._observed("Planner", self._bus.publish), panel.registry, panel.settings)
        understanding, plan = await planner.plan(self._question, self._catalogue, self._bus.publish)
        context = ResearchContext(question=self._question, understanding=understanding)
        self._executor = Executor(panel.registry, self._kit, self._bus, context, panel.settings.step_timeout_s)
        return self._answered(await self._executor.run(plan))

    def _kit(self, registered: RegisteredAgent, step: str) -> AgentKit:
        publish = partial(self._bus.publish, step=step)
        return AgentKit(
            llm=self._observed(registered.card.name, publish),
            library=self._panel.library,
            prompt=registered.prompt,
            settings=self._panel.settings,
            publish=publish,
        )

    def _observed(self, caller: str, publish: Publish) -> LLM:
        return ObservedLLM(self._llm.called_by(caller), caller, publish)

    def _answered(self, context: ResearchContext) -> Answer:
        synthesis = context.synthesis
        if synthesis is None:
            raise PlanError("The plan ended without an answer: the agent that was to write it had nothing to do.")
        return self._ended(status_of(synthesis), synthesis.reasoning).model_copy(
            update={
                "answer": synthesis.text,
                "claims": synthesis.claims,
                "evidence": tuple(Quote.of(item) for item in synthesis.evidence),
                "records": tuple(record.values for record in context.records),
                "confidence": synthesis.confidence,
                "looked_for": synthesis.looked_for,
                "found": synthesis.found,
                "missing": synthesis.missing,
            }
        )

    def _ended(self, status: Status, reason: str) -> Answer:
        return Answer(
            run_id=self._id,
            status=status,
            mode=MODE,
            question=self._question,
            reasoning=reason,
            coverage=self._coverage(),
        )

    def _coverage(self) -> Coverage:
        chunks = self._executor.context.chunks if self._executor else ()
        return Coverage(
            documents_considered=len({chunk.document_id for chunk in chunks}),
            documents_total=len(self._catalogue),
            chunks_considered=len(chunks),
            chunks_total=sum(entry.chunks for entry in self._catalogue),
        )

    async def _finish(self, answer: Answer) -> Answer:
        usage = self._meter.usage.model_copy(update={"seconds": time.perf_counter() - self._began})
        answer = answer.model_copy(update={"usage": usage})
        await self._bus.publish(RunFinished(status=answer.status.value, reason=answer.reasoning, usage=usage))
        self._panel.trace.finish(answer)
        return answer


def new_run_id() -> str:
    """A fresh run id: 'run_' and 12 hexadecimal digits."""
    return f"run_{secrets.token_hex(6)}"
