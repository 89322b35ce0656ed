"""Plans in SQL, which are templates saved under a name and plans that led to an answer.

    plans.save("yearly ranking", plan, "Which were the ten warmest years?")
    plans.similar("Which were the five driest summers?", limit=2, collection="weather")

The planner sees them as examples, and a request can name a template. Similarity is the cosine of the questions'
embeddings.
"""

import hashlib
import json
import threading
from collections.abc import Callable, Set
from datetime import UTC, datetime

import numpy as np
import sqlalchemy as sql

from base.database import METADATA, SqlStore
from multi_agent.errors import AgentError, NameTaken, UnknownPlan
from multi_agent.memory.similarity import SimilarityScale, similarity
from multi_agent.storage.tables import SELECTION, within
from multi_agent.values.plan import Plan, PlanExample
from vectorstore.models import names_in
from vectorstore.store import Vectors

EXAMPLE = 1 / 3
"""Minimum similarity of an example's question, on the ``SimilarityScale``.

On average, each of the 39 questions about the sample documents has about 3 others above this value, which are of the
same subject or kind. Below it, subjects mix.
"""
EQUAL = 7 / 8
"""Minimum similarity of questions that differ in a year, a number or their wording, but need the same plan."""
_LONGEST_NAME = 100

_plans = sql.Table(
    "plans",
    METADATA,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("name", sql.String(_LONGEST_NAME), nullable=True, unique=True),
    sql.Column("question", sql.Text, nullable=False),
    sql.Column("plan", sql.JSON, nullable=False),
    sql.Column("shape", sql.String(64), nullable=False, index=True),
    sql.Column("embedding_model", sql.String(200), nullable=False),
    sql.Column("vector", sql.LargeBinary, nullable=False),
    sql.Column("saved_at", sql.DateTime(timezone=True), nullable=False),
    sql.Column("collection", SELECTION, nullable=False, server_default=""),
)


class PlanMemory(SqlStore):
    """All stored plans of a database. Thread-safe.

    ``embed`` returns the normalized embedding of a question by ``embedding_model``. Questions embedded by another model
    are embedded again when they are next compared.
    """

    def __init__(self, engine: sql.Engine, embed: Callable[[str], Vectors], embedding_model: str) -> None:
        super().__init__(engine)
        self._embed = embed
        self.use(embedding_model)
        self._lock = threading.Lock()

    def use(self, embedding_model: str) -> None:
        """Name the model by which ``embed`` embeds from now on."""
        self._embedding_model = embedding_model
        self._scale = SimilarityScale(self._engine, self._embed, embedding_model)

    def save(self, name: str, plan: Plan, question: str, collection: str = "") -> None:
        """Save a template, of a collection or of all. Raises NameTaken, and AgentError for an invalid name."""
        name = name.strip()
        if not 0 < len(name) <= _LONGEST_NAME:
            raise AgentError(f"{name!r} is not a valid plan name. Use 1 to {_LONGEST_NAME} characters.")
        try:
            self._keep(name, plan, question, self._embed(question), collection)
        except sql.exc.IntegrityError as error:
            raise _taken(name) from error

    def require_free(self, name: str) -> None:
        """Raise NameTaken if there is a template of this name."""
        if self._select(sql.select(_plans.c.id).where(_plans.c.name == name.strip())):
            raise _taken(name.strip())

    def get(self, name: str, among: Set[str] | None = None) -> PlanExample:
        """Return a template of all collections or of one ``among`` these (None: any). Raises UnknownPlan."""
        rows = self._select(sql.select(_plans).where(_plans.c.name == name, _within(among)))
        if not rows:
            raise self._unknown(name, among)
        return _example(rows[0])

    def list(self, among: Set[str] | None = None) -> tuple[PlanExample, ...]:
        """Return the templates of all collections and of those ``among`` these (None: any), sorted by name."""
        named = _plans.c.name.is_not(None)
        rows = self._select(sql.select(_plans).where(named, _within(among)).order_by(_plans.c.name))
        return tuple(_example(row) for row in rows)

    def replace(self, name: str, plan: Plan, question: str, collection: str | None = None) -> None:
        """Replace the plan and the question of a template, and its collection if one is given. Raises UnknownPlan."""
        row = self._row(name, plan, question, self._embed(question), collection or "")
        if collection is None:
            del row["collection"]
        if not self._execute(_plans.update().where(_plans.c.name == name).values(row)):
            raise self._unknown(name)

    def delete(self, name: str) -> None:
        """Delete a template. Raises UnknownPlan."""
        if not self._execute(_plans.delete().where(_plans.c.name == name)):
            raise self._unknown(name)

    def remember(self, question: str, plan: Plan, collection: str) -> None:
        """Store the plan of an answered run, unless there is a plan of the same shape for nearly the same question."""
        vector = self._embed(question)
        with self._lock:  # runs that end at the same time must compare their plans
            known = self._vectors(sql.and_(_plans.c.shape == shape_of(plan), _visible_for(collection)))
            if not known or max(similarity(other, vector) for other in known.values()) < self._scale.at(EQUAL):
                self._keep(None, plan, question, vector, collection)

    def similar(self, question: str, limit: int, collection: str) -> tuple[PlanExample, ...]:
        """Return plans for similar questions, including templates, most similar first.

        A plan is returned only for its own collection, because a question reveals what a collection contains. Templates
        without a collection are returned for all collections.
        """
        known = self._vectors(_visible_for(collection))
        if not known:
            return ()
        vector = self._embed(question)
        least = self._scale.at(EXAMPLE)
        similarities = {key: similarity(other, vector) for key, other in known.items()}
        examples = [key for key in similarities if similarities[key] >= least]
        best = sorted(examples, key=lambda key: (-similarities[key], key))[:limit]
        rows = {row.id: row for row in self._select(sql.select(_plans).where(_plans.c.id.in_(best)))}
        return tuple(_example(rows[key], similarities[key]) for key in best if key in rows)

    def _keep(self, name: str | None, plan: Plan, question: str, vector: Vectors, collection: str) -> None:
        self._execute(_plans.insert().values(self._row(name, plan, question, vector, collection)))

    def _row(self, name: str | None, plan: Plan, question: str, vector: Vectors, collection: str) -> dict[str, object]:
        return {
            "name": name,
            "question": question,
            "plan": plan.model_dump(mode="json"),
            "shape": shape_of(plan),
            "embedding_model": self._embedding_model,
            "vector": _bytes(vector),
            "saved_at": datetime.now(UTC),
            "collection": collection,
        }

    def _vectors(self, where: sql.ColumnElement[bool]) -> dict[int, Vectors]:
        """Return the vectors of stored questions by id."""
        columns = (_plans.c.id, _plans.c.question, _plans.c.embedding_model, _plans.c.vector)
        return {
            row.id: np.frombuffer(row.vector, dtype="<f4")
            if row.embedding_model == self._embedding_model
            else self._embed_again(row.id, row.question)
            for row in self._select(sql.select(*columns).where(where))
        }

    def _embed_again(self, key: int, question: str) -> Vectors:
        vector = self._embed(question)
        values = {"embedding_model": self._embedding_model, "vector": _bytes(vector)}
        self._execute(_plans.update().where(_plans.c.id == key).values(values))
        return vector

    def _unknown(self, name: str, among: Set[str] | None = None) -> UnknownPlan:
        names = ", ".join(repr(each.name) for each in self.list(among))
        known = f"The plans are {names}" if names else "No plan is saved yet"
        save = "" if names else "`candor plans save NAME RUN_ID` saves the plan of a run."
        return UnknownPlan(f"There is no plan {name!r}. {known}.").with_command(save)


def _taken(name: str) -> NameTaken:
    return NameTaken(f"There is already a plan {name!r}. Choose another name, or delete that one first.").with_command(
        f"`candor plans delete {name}` deletes it."
    )


def _visible_for(collection: str) -> sql.ColumnElement[bool]:
    for_all = sql.and_(_plans.c.name.is_not(None), _plans.c.collection == "")
    return sql.or_(for_all, _plans.c.collection.in_({collection, *names_in(collection)}))


def _within(among: Set[str] | None) -> sql.ColumnElement[bool]:
    return sql.or_(_plans.c.collection == "", within(_plans.c.collection, among))


def shape_of(plan: Plan) -> str:
    """Return a hash of mode, agents and dependencies. It is equal for plans that differ only in names and wording."""
    positions = {step.id: position for position, step in enumerate(plan.steps)}
    steps = [
        [sorted(step.agents), sorted(positions[need] for need in plan.needed_by(step)), step.final]
        for step in plan.steps
    ]
    return hashlib.sha256(json.dumps([plan.mode, steps]).encode()).hexdigest()


def _bytes(vector: Vectors) -> bytes:
    return np.asarray(vector, dtype="<f4").tobytes()


def _example(row: sql.Row[tuple[object, ...]], similarity: float = 1.0) -> PlanExample:
    return PlanExample(
        name=row.name or "", question=row.question, plan=Plan.model_validate(row.plan), similarity=similarity
    )
