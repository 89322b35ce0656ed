"""Plans that are kept across runs: templates that the user saved under a name, and plans that led to an answer.

    plans.save("yearly ranking", plan, "Which were the ten warmest years?")
    plans.similar("Which were the five driest summers?", limit=2, collection="weather")

They are examples for the planner, or chosen by name; nothing falls back on them. How like two questions are is the
cosine of their embeddings.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import numpy as np
import sqlalchemy as sql

from multi_agent.errors import AgentError, NameTaken, UnknownPlan
from multi_agent.plan import Plan, PlanExample
from vectorstore.database import METADATA
from vectorstore.store import Vectors

LIKE = 0.5
"""How like questions must be for one's plan to be an example for the other. Of the 39 questions over the sample
documents each has 2.8 others over it on average, of the same subject or the same kind; below it subjects mix."""
THE_SAME = 0.9
"""From here on, questions differ in a year or a number or in how they are put, not in what it takes to answer them."""
_LONGEST_NAME = 100
_DIGITS = 3  # of a similarity: the last ones differ between machines

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
    sql.Column("collection", sql.String(64), nullable=False, server_default=""),
)


class PlanMemory:
    """All kept plans, in the database behind ``engine``. Safe to use from several threads.

    ``embed`` gives a question's vector of length 1, by the model ``embedding_model``; questions that were embedded by
    another one are embedded anew when they are next compared.
    """

    def __init__(self, engine: sql.Engine, embed: Callable[[str], Vectors], embedding_model: str) -> None:
        self._engine, self._embed, self._embedding_model = engine, embed, embedding_model
        self._remembering = threading.Lock()

    def save(self, name: str, plan: Plan, question: str) -> None:
        """Keep a template. Raises NameTaken; AgentError if the name is none."""
        name = name.strip()
        if not 0 < len(name) <= _LONGEST_NAME:
            raise AgentError(f"{name!r} cannot name a plan: give it 1 to {_LONGEST_NAME} characters.")
        try:
            self._keep(name, plan, question, self._embed(question), "")
        except sql.exc.IntegrityError as error:
            raise NameTaken(
                f"There is a plan {name!r} already; take another name, or delete that one first: "
                f"`candor plans rm {name}`."
            ) from error

    def get(self, name: str) -> PlanExample:
        """The template of that name. Raises UnknownPlan, naming those there are."""
        rows = self._select(sql.select(_plans).where(_plans.c.name == name))
        if not rows:
            raise self._unknown(name)
        return _example(rows[0])

    def list(self) -> tuple[PlanExample, ...]:
        """All templates, by name."""
        rows = self._select(sql.select(_plans).where(_plans.c.name.is_not(None)).order_by(_plans.c.name))
        return tuple(_example(row) for row in rows)

    def delete(self, name: str) -> None:
        """Forget a template. Raises UnknownPlan, naming those there are."""
        with self._engine.begin() as connection:
            deleted = connection.execute(_plans.delete().where(_plans.c.name == name)).rowcount
        if not deleted:
            raise self._unknown(name)

    def remember(self, question: str, plan: Plan, collection: str) -> None:
        """Keep the plan of a run that was answered, unless one of the same shape is kept for nearly that question."""
        vector = self._embed(question)
        with self._remembering:  # runs that end at once would not see each other's plans
            alike = self._vectors(sql.and_(_plans.c.shape == shape_of(plan), _shown_for(collection)))
            if not any(float(other @ vector) >= THE_SAME for other in alike.values()):
                self._keep(None, plan, question, vector, collection)

    def similar(self, question: str, limit: int, collection: str) -> tuple[PlanExample, ...]:
        """Kept plans for questions like this one, the most similar first; templates are among them.

        What is remembered of a collection is shown to questions over it alone: a question tells what is in it.
        """
        known = self._vectors(_shown_for(collection))
        if not known:
            return ()
        vector = self._embed(question)
        similarities = {key: round(float(other @ vector), _DIGITS) for key, other in known.items()}
        like = [key for key, similarity in similarities.items() if similarity >= LIKE]
        best = sorted(like, key=lambda key: (-similarities[key], key))[:limit]
        rows = {row.id: row for row in self._select(sql.select(_plans).where(_plans.c.id.in_(best)))}
        return tuple(_example(rows[key], similarities[key]) for key in best if key in rows)

    def _keep(self, name: str | None, plan: Plan, question: str, vector: Vectors, collection: str) -> None:
        row = {
            "name": name,
            "question": question,
            "plan": plan.model_dump(mode="json"),
            "shape": shape_of(plan),
            "embedding_model": self._embedding_model,
            "vector": _bytes(vector),
            "saved_at": datetime.now(UTC),
            "collection": collection,
        }
        with self._engine.begin() as connection:
            connection.execute(_plans.insert().values(row))

    def _vectors(self, where: sql.ColumnElement[bool]) -> dict[int, Vectors]:
        """Vectors of the kept questions by id."""
        columns = (_plans.c.id, _plans.c.question, _plans.c.embedding_model, _plans.c.vector)
        return {
            row.id: np.frombuffer(row.vector, dtype="<f4")
            if row.embedding_model == self._embedding_model
            else self._embed_anew(row.id, row.question)
            for row in self._select(sql.select(*columns).where(where))
        }

    def _embed_anew(self, key: int, question: str) -> Vectors:
        vector = self._embed(question)
        values = {"embedding_model": self._embedding_model, "vector": _bytes(vector)}
        with self._engine.begin() as connection:
            connection.execute(_plans.update().where(_plans.c.id == key).values(values))
        return vector

    def _unknown(self, name: str) -> UnknownPlan:
        names = ", ".join(repr(each.name) for each in self.list())
        known = f"there are {names}" if names else "none is saved yet: `candor plans save NAME RUN_ID` saves a run's"
        return UnknownPlan(f"There is no plan {name!r}; {known}.")

    def _select(self, query: sql.Select[tuple[object, ...]]) -> Sequence[sql.Row[tuple[object, ...]]]:
        with self._engine.connect() as connection:
            return connection.execute(query).all()


def _shown_for(collection: str) -> sql.ColumnElement[bool]:
    return sql.or_(_plans.c.name.is_not(None), _plans.c.collection == collection)


def shape_of(plan: Plan) -> str:
    """Hash of what makes two plans alike as examples: mode, agents, and who waits for whom. Names and wording differ
    from run to run.
    """
    places = {step.id: place for place, step in enumerate(plan.steps)}
    steps = [[sorted(step.agents), sorted(places[need] for need in step.after), step.final] for step in plan.steps]
    return hashlib.sha256(json.dumps([plan.mode, steps]).encode()).hexdigest()


def _bytes(vector: Vectors) -> bytes:
    return np.asarray(vector, dtype="<f4").tobytes()


def _example(row: sql.Row[tuple[object, ...]], similarity: float = 1.0) -> PlanExample:
    return PlanExample(
        name=row.name or "", question=row.question, plan=Plan.model_validate(row.plan), similarity=similarity
    )
