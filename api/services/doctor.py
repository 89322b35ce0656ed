"""Shows the current settings and checks every part."""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import Field, SecretStr
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from api.errors import HomeError
from api.services.documents.collections import Collections
from api.services.documents.rerankers import load_reranker
from api.settings import FILE, ModelTable, Settings
from api.storage.live_processes import live_processes
from base.models import FrozenModel
from ingest.errors import IngestError
from ingest.ledger.ledger import DAMAGED
from multi_agent.llm.endpoints.memory import CLAIM_CHECKS, EndpointMemory, Finding
from multi_agent.llm.probe import Check, check, check_offered
from multi_agent.llm.settings import EndpointSettings
from multi_agent.storage.trace import Trace
from vectorstore.embedding.embedder import Embedder
from vectorstore.errors import StoreError
from vectorstore.models import UnreadableCollection
from vectorstore.settings import without_password
from vectorstore.store import VectorStore
from vectorstore.text.languages import MULTILINGUAL, name_languages, unsupported

_SECRET = "set, not shown"
_RESTORE = "`candor ingest --retry-failed --collection {name}` repairs it."
_PAGE = "The annual report of the company describes its sales, costs and staff in every region. " * 35
"""3,000 characters."""
_MEASURED = 8  # passages
_CLAIM_HINTS: dict[Finding | None, str] = {
    None: "`candor doctor`, or “Try it” under Settings → Models, tests once whether the model can check the claims "
    "that rules cannot decide.",
    False: "The model failed the test of `candor doctor`, so claims that rules cannot decide stay not checked.",
}
_UNKNOWN = " Passages of documents that the database never listed remain. To delete them, drop the collection."


class Diagnosis(FrozenModel):
    """The current settings without secrets, and one check for each part."""

    settings: dict[str, Any]
    settings_file: str = Field(description="path of the candor.toml in the data folder")
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether every check passed."""
        return all(check.ok for check in self.checks)


class Trial(FrozenModel):
    """The results of test requests to a model, and their duration."""

    checks: tuple[Check, ...]
    seconds: float


@dataclass(frozen=True, eq=False)
class Doctor:
    """Checks the parts. Each part is passed as a function that returns it, because building a part can fail."""

    settings: Settings
    engine: Callable[[], Engine]
    trace: Callable[[], Trace]
    store: Callable[[], VectorStore]
    embedder: Callable[[], Embedder]
    collections: Callable[[], Collections]

    @property
    def claim_hint(self) -> str:
        """Why the default model checks no claims, and what to do; empty if it does, or if the settings decide it."""
        if self.settings.research.check_claims != "auto":
            return ""
        memory = EndpointMemory(self.settings.llm, self.settings.home / "endpoints", CLAIM_CHECKS)
        return _CLAIM_HINTS.get(memory.recall(), "")

    def diagnose(self, jobs: Iterable[Check] = ()) -> Diagnosis:
        """Check every part and every model endpoint. A part that does not work is a failed check, not an error."""
        models = asyncio.run(_check_models(self.settings))
        speed = self._measure_embedding()
        stored = (*self._check_collections(), *self._check_languages())
        checks = (*self.check_parts(), *speed, *stored, *jobs, *models)
        settings = _without_secrets(self.settings.model_dump())
        return Diagnosis(settings=settings, settings_file=str(self.settings.home / FILE), checks=checks)

    async def check_model(self) -> tuple[Check, ...]:
        """Check whether the default endpoint offers its model. Sends no request to the model."""
        return tuple(await check_offered(self.settings.llm, self.settings.home / "endpoints"))

    async def try_model(self, table: ModelTable = "llm") -> Trial:
        """Send a model test requests: for the language model those of ``diagnose``."""
        started = time.monotonic()
        if table == "llm":
            checks = await _check_model(self.settings, self.settings.llm)
        else:
            check = self._try_embedder if table == "embedding" else self._try_reranker
            checks = await asyncio.to_thread(lambda: list(check()))
        return Trial(checks=tuple(checks), seconds=round(time.monotonic() - started, 1))

    def _try_embedder(self) -> Iterator[Check]:
        found = self._check_embedder()
        yield found
        if found.ok:
            yield from self._measure_embedding()

    def _try_reranker(self) -> Iterator[Check]:
        reranker = load_reranker(self.settings)
        if reranker is None:
            yield Check(name="reranker", ok=True, detail="none")
            return
        try:
            first, second = reranker.scores("How cold may it get?", ["It works down to -25 °C.", "It is made in Graz."])
        except StoreError as error:
            yield Check(name="reranker", ok=False, detail=reranker.name, remedy=str(error))
        else:
            yield Check(name="reranker", ok=True, detail=f"{reranker.name}: scores {first:.3g} and {second:.3g}")

    def check_parts(self) -> tuple[Check, ...]:
        """Check database, store and embedding model, without a request to a language model."""
        shared = (self._check_processes(),) if self.settings.shares_jobs else ()
        return self._check_database(), *shared, self._check_store(), self._check_embedder()

    def _check_processes(self) -> Check:
        try:
            live = live_processes(self.engine())
        except (HomeError, SQLAlchemyError) as error:
            return Check(name="processes", ok=False, detail="cannot be listed", remedy=str(error))
        named = ((each, ", ".join(each.queues) or "no jobs") for each in live)
        listed = "; ".join(f"{each.host}, {each.role}, process {each.process}: {queues}" for each, queues in named)
        return Check(name="processes", ok=True, detail=listed or "no service or worker takes jobs now")

    def _check_database(self) -> Check:
        try:
            runs = len(self.trace().runs())
        except (HomeError, SQLAlchemyError) as error:
            remedy = "Check CANDOR_HOME and CANDOR_DATABASE_URL."
            return Check(name="database", ok=False, detail=str(error), remedy=remedy)
        where = self.engine().url.render_as_string(hide_password=True)
        return Check(name="database", ok=True, detail=f"{where}, {'contains runs' if runs else 'no runs yet'}")

    def _check_store(self) -> Check:
        try:
            listed = self.store().list()
            self.store().require_writable()
        except StoreError as error:
            return Check(name="store", ok=False, detail="cannot be read and written", remedy=str(error))
        if unreadable := [each for each in listed if isinstance(each, UnreadableCollection)]:
            detail = f"cannot read {', '.join(each.collection for each in unreadable)}"
            return Check(name="store", ok=False, detail=detail, remedy=unreadable[0].reason)
        names = sorted({each.collection for each in listed})
        where = without_password(self.settings.store.url or "") or f"embedded in {self.settings.home / 'collections'}"
        if self.settings.store.api_key and "http://" in where:
            where += " (the API key is sent without TLS)"
        return Check(name="store", ok=True, detail=f"{where}; collections: {', '.join(names) or 'none yet'}")

    def _check_collections(self) -> Iterator[Check]:
        """Compare the collections with the database, and yield a failed check for each difference.

        Yields nothing if the store or the database cannot be read, which other checks report.
        """
        try:
            collections = self.collections()
            names = list(collections.specs())
        except (StoreError, IngestError, HomeError, SQLAlchemyError):
            return
        for name in names:
            try:
                difference = collections.difference(name)
                found, remedy = str(difference), _RESTORE.format(name=name) + _UNKNOWN * bool(difference.unlisted)
            except StoreError as error:
                found, remedy = "cannot be compared with the database", str(error)
            if found:
                yield Check(name=f"collection {name}", ok=False, detail=found, remedy=remedy)
            damaged = [each for each in collections.ledger.list(name) if each.reason.startswith(DAMAGED)]
            if damaged:
                detail = f"damaged rows in the database: {', '.join(each.name for each in damaged)}"
                yield Check(name=f"documents of {name}", ok=False, detail=detail, remedy=_RESTORE.format(name=name))

    def _check_languages(self) -> Iterator[Check]:
        """Yield a check for each collection with documents in languages that the embedding model does not know."""
        try:
            collections, known = self.collections(), self.embedder().languages
            found = {
                name: Counter(entry.language for entry in collections.catalogue(name)) for name in collections.specs()
            }
        except (StoreError, IngestError, HomeError, SQLAlchemyError):
            return  # other checks report it
        for name, languages in found.items():
            if unknown := unsupported(languages, known):
                detail = (
                    f"documents in {name_languages(unknown)}, which the embedding model does not support: only words "
                    f"are found. A multilingual model also finds meaning: {MULTILINGUAL}"
                )
                yield Check(name=f"languages of {name}", ok=True, detail=detail)

    def _check_embedder(self) -> Check:
        try:
            embedder = self.embedder()
            dimension = embedder.dimension
        except StoreError as error:
            model = self.settings.store.embedding.identity
            return Check(name="embedding model", ok=False, detail=model, remedy=str(error))
        known = f", knows {name_languages(embedder.languages)}" if embedder.languages else ""
        detail = f"{embedder.model}: {dimension} dimensions, reads {embedder.max_tokens} tokens of a passage{known}"
        return Check(name="embedding model", ok=True, detail=detail)

    def _measure_embedding(self) -> Iterator[Check]:
        """Yield the speed of a small batch of passages, and what it means for 1,000 pages."""
        settings = self.settings.store.embedding
        try:
            embedder = self.embedder()
            [tokens] = embedder.count_tokens([_PAGE])
            passages = math.ceil(tokens / embedder.max_tokens)
            text = _PAGE[: len(_PAGE) // passages]
            started = time.perf_counter()
            embedder.embed_passages([f"{number} {text}" for number in range(_MEASURED)])
        except StoreError as error:
            yield Check(name="embedding speed", ok=False, detail=settings.identity, remedy=str(error))
            return
        speed = _MEASURED / (time.perf_counter() - started)
        minutes, price = 1000 * passages / speed / 60, 1000 * tokens * settings.price / 1e6
        detail = (
            f"{speed:,.1f} passages a second in a small batch ({settings.provider}); 1,000 pages take about "
            f"{minutes:,.1f} min" + (f" and cost {price:.2f}" if price else "")
        )
        yield Check(name="embedding speed", ok=True, detail=detail)


async def _check_models(settings: Settings) -> list[Check]:
    """Check the default endpoint and all named ones."""
    # One after the other: they may compute on the same machine.
    return [
        found
        for endpoint in (settings.llm, *settings.llms.values())
        for found in await _check_model(settings, endpoint)
    ]


async def _check_model(settings: Settings, endpoint: EndpointSettings) -> list[Check]:
    from multi_agent.grounding.claim_trial import try_claim_check

    folder = settings.home / "endpoints"
    trial = partial(try_claim_check, endpoint, folder) if settings.research.check_claims == "auto" else None
    return await check(endpoint, folder, trial)


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_secrets(each) for key, each in value.items()}
    if isinstance(value, SecretStr):
        return _SECRET
    if isinstance(value, tuple):
        return [_without_secrets(each) for each in value]
    return value if isinstance(value, int | float | None) else without_password(str(value))


def flatten(settings: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the settings as dotted names with their values."""
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
