"""Dependencies that routes declare as parameters, for example ``trace: TraceDep``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Header, Query
from fastapi.requests import HTTPConnection
from pydantic import Field

from api.auth.audit import Audit
from api.auth.keys import Keys
from api.auth.permissions import Caller, caller_of, optional_caller_of
from api.jobs.research import Runs
from api.jobs.runner import Jobs
from api.jobs.service_worker import ServiceWorker
from api.services.catalog.agents import Agents
from api.services.catalog.plans import Plans
from api.services.catalog.skills import Skills
from api.services.doctor import Doctor
from api.services.documents.collection_pool import CollectionPool
from api.services.documents.collections import Collections
from api.services.documents.documents import Documents
from api.services.documents.ingest import IngestService
from api.services.documents.selection import Selection
from api.services.documents.shown_pages import ShownPages
from api.services.documents.suggested_questions import QuestionSuggester
from api.services.evaluation.evaluations import Evaluations
from api.services.research.prune import RunPruning
from api.services.research.research import PanelFactory
from api.settings import Settings
from api.storage.uploads import Uploads
from ingest.ledger.ledger import Ledger
from multi_agent.catalog.catalog import AgentCatalog
from multi_agent.memory.memories import Memories
from multi_agent.storage.archive import RunArchive
from multi_agent.storage.trace import Trace
from multi_agent.toolbox.toolbox import Toolbox
from vectorstore.remote.process import SearchProcess


@dataclass(frozen=True)
class AppState:
    """The objects that the dependencies return. ``app.py`` creates them when the service starts."""

    settings: Settings
    agents: Agents
    archive: RunArchive
    audit: Audit
    catalog: AgentCatalog
    collections: Collections
    doctor: Doctor
    documents: Documents
    evaluations: Evaluations
    ingest: IngestService
    jobs: Jobs
    keys: Keys
    ledger: Ledger
    memories: Memories
    pages: ShownPages
    panel: PanelFactory
    plans: Plans
    pool: CollectionPool
    pruning: RunPruning
    searches: SearchProcess
    runs: Runs
    skills: Skills
    suggester: QuestionSuggester
    tools: Toolbox
    trace: Trace
    uploads: Uploads
    worker: ServiceWorker | None


# Dependencies are coroutines, because FastAPI runs other functions in a thread, which costs more than the call itself.
def _part(name: str) -> Any:
    async def get(connection: HTTPConnection) -> Any:
        return getattr(connection.app.state.parts, name)

    return Depends(get)


async def _caller(connection: HTTPConnection) -> Caller:
    return caller_of(connection)


async def _optional_caller(connection: HTTPConnection) -> Caller | None:
    return optional_caller_of(connection)


CurrentCaller = Annotated[Caller, Depends(_caller)]
OptionalCaller = Annotated[Caller | None, Depends(_optional_caller)]

SettingsDep = Annotated[Settings, _part("settings")]
AgentsDep = Annotated[Agents, _part("agents")]
ArchiveDep = Annotated[RunArchive, _part("archive")]
AuditDep = Annotated[Audit, _part("audit")]
CatalogDep = Annotated[AgentCatalog, _part("catalog")]
CollectionsDep = Annotated[Collections, _part("collections")]
DoctorDep = Annotated[Doctor, _part("doctor")]
DocumentsDep = Annotated[Documents, _part("documents")]
EvaluationsDep = Annotated[Evaluations, _part("evaluations")]
IngestDep = Annotated[IngestService, _part("ingest")]
JobsDep = Annotated[Jobs, _part("jobs")]
KeysDep = Annotated[Keys, _part("keys")]
LedgerDep = Annotated[Ledger, _part("ledger")]
MemoriesDep = Annotated[Memories, _part("memories")]
PagesDep = Annotated[ShownPages, _part("pages")]
PanelDep = Annotated[PanelFactory, _part("panel")]
PlansDep = Annotated[Plans, _part("plans")]
PoolDep = Annotated[CollectionPool, _part("pool")]
PruningDep = Annotated[RunPruning, _part("pruning")]
SearchesDep = Annotated[SearchProcess, _part("searches")]
RunsDep = Annotated[Runs, _part("runs")]
SkillsDep = Annotated[Skills, _part("skills")]
SuggesterDep = Annotated[QuestionSuggester, _part("suggester")]
ToolsDep = Annotated[Toolbox, _part("tools")]
TraceDep = Annotated[Trace, _part("trace")]
UploadsDep = Annotated[Uploads, _part("uploads")]
WorkerDep = Annotated[ServiceWorker | None, _part("worker")]

IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        description="A string that the client generates for one request. Repeating the request with the same key, for "
        "example after a lost connection, starts nothing new. A different request with the same key is rejected.",
        examples=["8b7e2c9a-question-17"],
    ),
]
CollectionsField = Annotated[
    Selection,
    Field(
        default=None,
        description="Name of the collection, or a list of names. `*` means all that the key may read. Optional if "
        "there is only one.",
        examples=["papers", ["papers", "mail"]],
    ),
]
CollectionQuery = Annotated[
    str | None, Query(description="Name of the collection. Optional if there is only one.", examples=["papers"])
]
