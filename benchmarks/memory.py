"""Measure which how-to notes and plans memory returns for a question, with embedding models of different scales.

    python -m benchmarks.memory

Each of 12 notes belongs to three questions. A note is correct if it is among the three that memory returns for its
question. The plans are those of the sample questions. A plan is correct if its question has the same document. For
comparison, the table also has the results with fixed cosine limits (0.25 for notes, 0.5 for plans), which were chosen
for all-MiniLM-L6-v2.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import sqlalchemy as sql

from base.database import METADATA
from multi_agent.memory.memories import HOW_TOS
from multi_agent.memory.plans import EXAMPLE
from multi_agent.memory.similarity import SimilarityScale
from multi_agent.settings.research import ResearchSettings
from vectorstore.embedding.embedder import make_embedder
from vectorstore.settings import EmbeddingSettings
from vectorstore.store import Vectors

QUESTIONS = Path(__file__).parents[1] / "sample_docs" / "questions.jsonl"
EXAMPLES = ResearchSettings().plan_examples
FIXED_NOTE, FIXED_EXAMPLE = 0.25, 0.5
NOTES = {
    "Operating temperatures stand in the data sheets, not in the brochures.": (
        "Down to which temperature does the Borea 12 work?",
        "How hot may it get around the heat pump?",
        "Does the compressor start at minus twenty degrees?",
    ),
    "For rankings by turnover, scan the annual reports: the table is on page 3.": (
        "Which companies had the largest turnover?",
        "Rank the suppliers by revenue.",
        "Which firm earned the most in 2023?",
    ),
    "Finish times are in the results table; count hours, minutes and seconds.": (
        "Who ran the fastest marathon?",
        "What was the winner's time in the half marathon?",
        "How many runners finished under three hours?",
    ),
    "Notice periods are in section 8 of the tenancy agreement.": (
        "When can the tenant terminate the lease?",
        "How much notice must the landlord give?",
        "By which date must I cancel the rental contract?",
    ),
    "Doses are per kilogram of body weight; look for the table of the study groups.": (
        "How many milligrams did the patients receive?",
        "Which dose was given to the placebo group?",
        "What was the daily amount of the medicine?",
    ),
    "Quantities in recipes are for four people unless the recipe says otherwise.": (
        "How much flour does the bread recipe need?",
        "How many eggs go into the cake?",
        "How long are the lentils cooked?",
    ),
    "Decisions are at the end of the minutes, names of those responsible in brackets.": (
        "What was decided in the meeting of October?",
        "Who is responsible for the new warehouse according to the minutes?",
        "Did the board approve the budget at its meeting?",
    ),
    "Warranty terms of older models are in the archive folder.": (
        "How long is the warranty of the 2015 model?",
        "Does the guarantee cover the compressor?",
        "What does the warranty exclude?",
    ),
    "Prices are net; the tax rate is in the footer of the offer.": (
        "How much does the pump cost with tax?",
        "What is the net price of the offer?",
        "Which supplier offers the lowest price?",
    ),
    "Delivery dates in the order confirmation replace those of the e-mail.": (
        "When will the spare parts be delivered?",
        "On which day does the compressor arrive?",
        "Is the delivery late?",
    ),
    "Noise is given in dB(A) at one metre and at ten metres: name the distance.": (
        "How loud is the heat pump at night?",
        "What is the sound level of the fan?",
        "Which model is the quietest?",
    ),
    "Staff figures are full-time equivalents; the notes to the report have heads.": (
        "How many employees did the company have in 2022?",
        "How many people work in sales?",
        "Did the number of staff grow last year?",
    ),
}
Embed = Callable[[str], Vectors]


class Given(NamedTuple):
    """The entries returned for all questions: how many of the wanted ones, and how many others per question."""

    right: int
    wanted: int
    others: float

    def __str__(self) -> str:
        return f"{self.right} of {self.wanted}, {self.others:.2f} others"


def main() -> None:
    print("| embedding | unrelated texts up to | notes | notes, cosine 0.25 | plans | plans, cosine 0.5 |")
    print("|---|---|---|---|---|---|")
    for name, embed in embeddings():
        scale = measured(name, embed)
        notes, plans = note_similarities(embed), plan_similarities(embed)
        columns = (
            f"{scale.at(0):.2f}",
            given(*notes, HOW_TOS, scale.at(0)),
            given(*notes, HOW_TOS, FIXED_NOTE),
            given(*plans, EXAMPLES, scale.at(EXAMPLE)),
            given(*plans, EXAMPLES, FIXED_EXAMPLE),
        )
        print(f"| {name} | {' | '.join(map(str, columns))} |", flush=True)


def embeddings() -> Iterator[tuple[str, Embed]]:
    """Yield the real model, and models derived from it whose cosines have other scales."""
    model = make_embedder(EmbeddingSettings(precision="float32"))
    projection = np.random.default_rng(7).normal(size=(128, 384)).astype(np.float32)

    def real(text: str) -> Vectors:
        return model.embed_query(text)[0]

    def shifted(shift: float, project: bool) -> Embed:
        def embed(text: str) -> Vectors:
            vector = projection @ real(text) / np.sqrt(128) if project else real(text)
            vector = np.append(vector / np.linalg.norm(vector), np.float32(shift))
            return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)

        return embed

    yield "all-MiniLM-L6-v2", real
    yield "shifted by 1: cosine (c + 1) / 2", shifted(1, project=False)
    yield "shifted by 2: cosine (c + 4) / 5", shifted(2, project=False)
    yield "projected at random to 128 dimensions, shifted by 1.5", shifted(1.5, project=True)


def measured(name: str, embed: Embed) -> SimilarityScale:
    """Return the scale of an embedding, measured in an empty database."""
    with TemporaryDirectory() as folder:
        engine = sql.create_engine(f"sqlite:///{folder}/memory.db")
        METADATA.create_all(engine)
        scale = SimilarityScale(engine, embed, name)
        scale.at(0)
        engine.dispose()
    return scale


def note_similarities(embed: Embed) -> tuple[Vectors, Vectors]:
    """Return the similarity of each question and note, and whether they belong together."""
    notes = np.array([embed(note) for note in NOTES])
    asked = [(question, at) for at, questions in enumerate(NOTES.values()) for question in questions]
    belongs = np.array([[at == own for at in range(len(NOTES))] for _, own in asked])
    return np.array([embed(question) for question, _ in asked]) @ notes.T, belongs


def plan_similarities(embed: Embed) -> tuple[Vectors, Vectors]:
    """Return the similarity of each pair of sample questions, and whether they have the same document."""
    lines = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    lines = [line for line in lines if line["gold"]]
    subjects = np.array([line["gold"][0]["document"] for line in lines])
    vectors = np.array([embed(line["question"]) for line in lines])
    similar = vectors @ vectors.T
    np.fill_diagonal(similar, -1)
    return similar, (subjects[:, None] == subjects) & ~np.eye(len(subjects), dtype=bool)


def given(similar: Vectors, belongs: Vectors, most: int, least: float) -> Given:
    """Count the entries with a similarity of at least ``least`` among the ``most`` best ones of each question."""
    right, others = 0, 0
    for row, own in zip(similar, belongs, strict=True):
        best = [at for at in np.argsort(-row)[:most] if row[at] >= least]
        right += sum(bool(own[at]) for at in best)
        others += sum(not own[at] for at in best)
    wanted = sum(min(most, int(own.sum())) for own in belongs)
    return Given(right, wanted, others / len(similar))


if __name__ == "__main__":
    main()
