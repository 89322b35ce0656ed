"""Retrieval quality: recall, reciprocal rank and nDCG of documents, pages and passages, by ir-measures."""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from multi_agent.evaluation.case import Case, Passage, contains_gold, is_document, matches_gold, on_page
from multi_agent.evaluation.metric import Figure, MetricCard, MetricKit
from multi_agent.evaluation.question_set import Gold

_LEVELS = ("document", "page", "passage")
_MEASURES = {
    "recall@10": "R@10",
    "recall": "R@100000",  # of all results
    "mrr@10": "RR@10",
    "ndcg@10": "nDCG@10",
}
_DESCRIPTIONS = {
    "recall@10": "share of the gold {level}s among the first 10 results",
    "recall": "share of the gold {level}s among all results",
    "mrr@10": "reciprocal rank of the first gold {level}, 0 beyond 10",
    "ndcg@10": "normalized discounted cumulative gain of the first 10 {level}s",
}


class Retrieval:
    """Ranks all results of a run, in search order, best first."""

    card: ClassVar = MetricCard(
        name="retrieval",
        description="Gold documents, pages and passages among the results of the run.",
        figures={
            f"{level}_{name}": Figure(description=description.format(level=level))
            for level in _LEVELS
            for name, description in _DESCRIPTIONS.items()
        },
    )

    async def measure(self, case: Case, kit: MetricKit) -> Mapping[str, float]:
        """Measure each level that the gold names: documents, pages, passages."""
        gold = case.question.gold
        levels = {
            "document": ({each.document for each in gold}, _found_documents(gold, case.retrieved)),
            "page": (
                {f"{each.document}#{page}" for each in gold for page in each.pages},
                _found_pages(gold, case.retrieved),
            ),
            "passage": (
                {f"gold {number}" for number, each in enumerate(gold) if each.quote},
                _found_passages(gold, case.retrieved),
            ),
        }
        return {
            f"{level}_{name}": value
            for level, (wanted, found) in levels.items()
            if wanted
            for name, value in compute_scores(wanted, found).items()
        }


def compute_scores(wanted: Iterable[str], found: Sequence[str]) -> dict[str, float]:
    """Return the measures of a ranking of ids, best first; the ``wanted`` ids are relevant."""
    import ir_measures

    measures = {name: ir_measures.parse_measure(measure) for name, measure in _MEASURES.items()}
    qrels = [ir_measures.Qrel("q", each, 1) for each in wanted]
    run = [ir_measures.ScoredDoc("q", each, -rank) for rank, each in enumerate(dict.fromkeys(found))]
    if not run:  # trec_eval ignores queries without results
        return dict.fromkeys(measures, 0.0)
    values = ir_measures.calc_aggregate(measures.values(), qrels, run)
    return {name: float(values[measure]) for name, measure in measures.items()}


def _found_documents(gold: Sequence[Gold], found: Sequence[Passage]) -> list[str]:
    """Return document ids; gold documents have the name that the question set uses."""
    return [next((g.document for g in gold if is_document(g, each.document)), f"/{each.document}") for each in found]


def _found_pages(gold: Sequence[Gold], found: Sequence[Passage]) -> list[str]:
    ids = []
    for each in found:
        named = [g for g in gold if on_page(g, each.document, each.pages)]
        ids += [f"{g.document}#{page}" for g in named for page in g.pages if page in each.pages]
        ids += [] if named else [f"/{each.document}#{page}" for page in each.pages]
    return ids


def _found_passages(gold: Sequence[Gold], found: Sequence[Passage]) -> list[str]:
    """Return passage ids; a chunk counts as every gold passage that it contains completely."""
    ids = []
    for each in found:
        matching = [f"gold {number}" for number, g in enumerate(gold) if contains_gold(g, each.document, each.text)]
        ids += matching or [each.chunk_id]
    return ids


class Citations:
    card: ClassVar = MetricCard(
        name="citations",
        description="Cited quotes, compared with their documents and with gold.",
        figures={
            "citation_in_source": Figure(description="share of quotes that their document contains verbatim"),
            "citation_precision": Figure(description="share of quotes that match gold"),
            "citation_recall": Figure(description="share of gold that is quoted"),
            "claims_cited": Figure(description="share of claims with evidence"),
            "claims_supported": Figure(description="share of claims that a check found in their evidence"),
        },
    )

    async def measure(self, case: Case, kit: MetricKit) -> Mapping[str, float]:
        """Measure answers. Precision and recall need gold, and use its finest level: passage, page or document."""
        if not case.answered:
            return {}
        figures: dict[str, float] = {}
        if claims := case.answer.claims:
            figures["claims_cited"] = _share([claim.stands for claim in claims])
            figures["claims_supported"] = _share([claim.supported for claim in claims])
        if quotes := [each for each in case.cited if not each.pictured]:
            figures["citation_in_source"] = _share([each.in_source for each in quotes])
        if gold := case.question.gold:
            figures["citation_recall"] = _share([any(matches_gold(g, each) for each in case.cited) for g in gold])
            if case.cited:
                figures["citation_precision"] = _share(
                    [any(matches_gold(g, each) for g in gold) for each in case.cited]
                )
        return figures


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values)
