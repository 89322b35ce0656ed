"""The model calls before planning: they complete a follow-up question, and decide how many steps a question needs.

The planner and the agents then need no chat history, and only questions that need several steps require the planner's
longer prompt.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal, Union

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, ValidationError, create_model

from multi_agent.agent import AgentCard
from multi_agent.grounding.asking_back import UNCLEAR, AskBack
from multi_agent.grounding.rare_names import find_unknown
from multi_agent.grounding.terms import TermIndex, find_terms
from multi_agent.grounding.written_answer import unread_answer
from multi_agent.library import CatalogueEntry, Library
from multi_agent.model import LLM, Message
from multi_agent.orchestrator.planning.document_list import PlanningCalls
from multi_agent.orchestrator.planning.drafting import with_documents
from multi_agent.orchestrator.planning.one_step import fast_agents, lookup_agents, one_step_plan, two_step_plan
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import bullets, titled
from multi_agent.prompts.show_remembered import show_remembered
from multi_agent.storage.trace import Trace
from multi_agent.values.bus import Publish
from multi_agent.values.context import Synthesis, Understanding
from multi_agent.values.events import PlanMade, QuestionCompleted, ResponseRepaired
from multi_agent.values.evidence_events import Searched
from multi_agent.values.plan import Plan
from multi_agent.values.request import Exchange, Request

_TITLES = 20  # titles of cited documents in the prompt


class CompletedQuestion(BaseModel):
    """The model's response."""

    model_config = ConfigDict(extra="forbid")

    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)] = Field(
        description="the full question; as it is, if it stays unclear"
    )
    ask_back: AskBack | None = Field(default=None, description=UNCLEAR)


async def complete_question(
    question: str,
    conversation: Sequence[Exchange],
    catalogue: Sequence[CatalogueEntry],
    library: Library,
    llm: LLM,
    publish: Publish,
) -> tuple[QuestionCompleted, AskBack | None]:
    """Return the question, completed with details from the conversation, or what to ask back.

    Raises LLMError, StoreError.
    """
    exchanges = [Exchange.in_short(each.question, each.answer) for each in conversation]
    said = bullets([f"Question: {each.question} Answer: {each.answer}" for each in exchanges])
    messages = Prompt.shipped("conversation").render(said=said + _show_titles(said, catalogue), question=question)
    response = (await llm.complete(messages, CompletedQuestion)).value
    known = TermIndex(question)
    added = tuple(dict.fromkeys(term for term in find_terms(response.question) if term not in known))
    left_out = await find_unknown(added, library, publish) if catalogue else ()
    completed = QuestionCompleted(
        asked=question,
        question=response.question,
        added=tuple(term.text for term in added),
        left_out=left_out,
        unresolved=response.ask_back is not None,
    )
    await publish(completed)
    return completed, response.ask_back


def _show_titles(said: str, catalogue: Sequence[CatalogueEntry]) -> str:
    """Return the titles of the documents that the answers name as their sources."""
    cited = [titled(entry.name, entry.title) for entry in catalogue if entry.title and entry.name in said]
    return f"\n\nThe answers are from:\n{bullets(cited[:_TITLES])}" if cited else ""


QUERIES = 3
"""Maximum number of additional wordings of a question. With more, a small model repeats itself."""
_DOCUMENTS = 5
_NOT_IN_DOCUMENTS = (
    "The question asks for something live, or for an opinion. Stored documents cannot know it, so none was read."
)


@dataclass(frozen=True)
class Triage(PlanningCalls):
    """Chooses the mode of a question, its search queries, and the documents that it names.

    One or more agents of the registry can answer a question in mode ``fast``.
    """

    ask_back: Callable[[AskBack], Awaitable[Synthesis | None]]
    known: Mapping[str, JsonValue] | None
    """The response of the run that asked back, if the question is a candidate of it. No model is asked again."""

    @property
    def _agents(self) -> tuple[AgentCard, ...]:
        return fast_agents(self.registry)

    @property
    def _lookups(self) -> tuple[AgentCard, ...]:
        return lookup_agents(self.registry)

    async def fast_plan(
        self, question: str, mode: Literal["auto", "fast"]
    ) -> tuple[Understanding, Plan] | Synthesis | None:
        """Return the plan of a fast question, or None if it needs the planner.

        An unclear question is asked back, and one that no document can answer is refused. Raises LLMError, StoreError.
        """
        shape = triage_response(
            tuple(card.name for card in self._agents),
            tuple(card.inputs for card in self._lookups),
            chooses_mode=mode == "auto",
            has_requirements=bool(show_remembered(self.remembered, "")),
            only_documents=not self.sources,
        )
        response: Any = self._known_response(shape)
        if response is None:
            response = (await self.llm.complete(await self._messages(mode, question), shape)).value
        if response.ask_back and (asked := await self.ask_back(response.ask_back)):
            return asked
        if getattr(response, "not_in_documents", False):
            return unread_answer((), _NOT_IN_DOCUMENTS, question)
        lookup = getattr(response, "lookup", None)
        if lookup is None and getattr(response, "steps", "one") == "several":
            return None
        requirements = tuple(getattr(response, "requirements", ())) or (question,)
        plan = self.change(
            await (self._search(response, question) if lookup is None else self._look_up(lookup, question))
        )
        understanding = Understanding(intent=question, domain=response.domain.strip(), requirements=requirements)
        await self.publish(PlanMade(understanding=understanding, plan=plan))
        return understanding, plan

    def _known_response(self, shape: type[BaseModel]) -> BaseModel | None:
        """Return the response of the run that asked back. None without it, or if the agents have changed since."""
        with suppress(ValidationError):
            return shape.model_validate(self.known) if self.known else None
        return None

    async def _messages(self, mode: Literal["auto", "fast"], question: str) -> list[Message]:
        return Prompt.shipped("triage").render(
            mode=self._rules(mode),
            one=self._example("one", mode),
            several=self._example("several", mode),
            agents=_show_agents(self._agents),
            library=await self.documents.text(),
            remembered=show_remembered(self.remembered, "`requirements`"),
            sources=self.sources,
            today=self.today,
            question=question,
        )

    async def _search(self, response: Any, question: str) -> Plan:
        name = getattr(response, "agent", self._agents[0].name)
        card = next(card for card in self._agents if card.name == name)
        documents = await self._known(() if "all" in response.documents else response.documents)
        return one_step_plan((card,), question, "fast", _further(response.queries, question), documents)

    async def _look_up(self, inputs: BaseModel, question: str) -> Plan:
        card = next(card for card in self._lookups if card.inputs is type(inputs))
        plan, repairs = with_documents(
            two_step_plan(card, inputs, question, self.registry), self.registry, self.documents.find
        )
        if repairs:
            await self.publish(ResponseRepaired(caller="Triage", repairs=repairs))
        return plan

    def _example(self, steps: str, mode: Literal["auto", "fast"]) -> str:
        """Return the end of an example: the agent that searches documents, and the number of steps."""
        reader = next((card for card in self._agents if "documents" in card.searches), self._agents[0])
        agent = f', "agent": "{reader.name}"' if len(self._agents) > 1 else ""
        lookup = ', "lookup": null' if self._lookups else ""
        mode_field = f', "steps": "{steps}"' if mode == "auto" else ""
        return f'{lookup}{agent}{mode_field}, "domain": "heat pumps", "ask_back": null'

    def _rules(self, mode: Literal["auto", "fast"]) -> str:
        rules = [Prompt.part("triage_mode")] if mode == "auto" else []
        lookups = "\n".join(f"  - {card.lookup}" for card in self._lookups)
        rules += [Prompt.part("triage_lookup", lookups=lookups)] if lookups else []
        rules += [Prompt.part("triage_agent")] if len(self._agents) > 1 else []
        rules += [] if self.sources else [Prompt.part("triage_live")]
        rules += [Prompt.part("triage_tools")] if mode == "auto" and any(card.tools for card in self._agents) else []
        return "\n".join(rules)

    async def _known(self, written: Sequence[str]) -> tuple[str, ...]:
        """Return the names of existing documents that the question means. Without names, all documents are searched."""
        found = {name: self.documents.find(name) for name in written}
        repairs = [
            f"document {name!r} read as {known!r}" if known else f"dropped {name!r}, which is no document"
            for name, known in found.items()
            if known != name
        ]
        names = tuple(dict.fromkeys(filter(None, found.values())))
        if names and not await self.documents.are_meant(names):
            repairs.append(
                f"dropped {', '.join(names)}: not named in the question, whose best passages are in other documents"
            )
            names = ()
        if repairs:
            await self.publish(ResponseRepaired(caller="Triage", repairs=tuple(repairs)))
        return names


def triage_of(trace: Trace, request: Request) -> dict[str, Any] | None:
    """Return the response of Triage in the run that asked back, without the searches that this run made.

    None unless the request asks a candidate of it that can be searched for.
    """
    if not (request.complete and request.continues):
        return None
    calls = trace.journal_entries(request.continues)
    response: Any = next((each.value for each in calls if each.caller == "Triage"), None)
    if response is None or response.get("lookup"):
        return None
    bodies = [event.body for event in trace.events(request.continues)]
    made = {query for body in bodies if isinstance(body, Searched) for query in body.queries}
    return {**response, "ask_back": None, "queries": [each for each in response["queries"] if each not in made]}


@lru_cache(maxsize=32)
def triage_response(
    agents: tuple[str, ...], lookups: tuple[type[BaseModel], ...], *, chooses_mode: bool, has_requirements: bool,
    only_documents: bool,
) -> type[BaseModel]:  # fmt: skip
    """Return the response model, without fields that the arguments make unnecessary."""
    fields: dict[str, Any] = {}
    if has_requirements:
        fields["requirements"] = (list[str], Field(description="what the answer must contain, one item each"))
    fields["queries"] = (
        list[str],
        Field(description="other wordings to search with", json_schema_extra={"maxItems": QUERIES}),
    )
    fields["documents"] = (
        Literal["all"] | Annotated[list[str], Field(json_schema_extra={"maxItems": _DOCUMENTS})],
        Field(description="where to search"),
    )
    if lookups:
        described = Field(
            default=None, description="what to look up in the collection itself; null for other questions"
        )
        fields["lookup"] = (Union[(*lookups, None)], described)
    if len(agents) > 1:
        fields["agent"] = (Literal[agents], Field(description="who answers"))
    if chooses_mode:
        fields["steps"] = (Literal["one", "several"], Field(description="how many steps the question takes"))
    fields["domain"] = (str, Field(default="", description="the field of the question, in one or two words"))
    fields["ask_back"] = (AskBack | None, Field(default=None, description=UNCLEAR))
    if only_documents:
        described = Field(default=False, description="whether no stored document can know anything of the answer")
        fields["not_in_documents"] = (bool, described)
    return create_model("Triage", __config__=ConfigDict(extra="forbid"), **fields)


def _further(queries: Sequence[str], question: str) -> tuple[str, ...]:
    """Return the queries that differ from the question and from each other."""
    unique = {" ".join(query.casefold().split()): query.strip() for query in reversed(queries)}
    unique.pop("", None)
    unique.pop(" ".join(question.casefold().split()), None)
    return tuple(reversed(unique.values()))[:QUERIES]


def _show_agents(agents: Sequence[AgentCard]) -> str:
    if len(agents) == 1:
        return ""
    good_at = {card.name: f" Good at: {', '.join(card.capabilities)}." if card.capabilities else "" for card in agents}
    listed = "\n".join(f"- {card.name}: {card.description}{good_at[card.name]}{card.abilities}" for card in agents)
    return f"\nThose who can answer:\n{listed}\n"
