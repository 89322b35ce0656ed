"""Suggested questions about a collection, which a model writes from passages of its documents."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass

from pydantic import Field

from api.auth.limits import require_tokens
from api.auth.permissions import Caller
from api.errors import UsageError
from base.models import FrozenModel
from ingest.ledger.ledger import Ledger
from multi_agent.evaluation.draft_questions import choose_passages, suggest_questions
from multi_agent.library import Library
from multi_agent.llm.wrappers.journal import RunCalls, RunLLM
from multi_agent.llm.wrappers.usage import BudgetUsage
from multi_agent.memory.memories import Suggestion, Suggestions
from multi_agent.model import LLM
from multi_agent.storage.tables import OtherCalls
from multi_agent.storage.trace import Trace
from vectorstore.models import Chunk

PASSAGES = 10
"""Number of passages that the model reads, from as many documents as possible."""
_MUCH = 0.25  # share by which the number of passages may change before suggestions are outdated


class SuggestedQuestions(FrozenModel):
    """Suggested questions about a collection."""

    questions: tuple[str, ...]
    outdated: bool = Field(
        description="Whether the collection has changed so much that the earlier suggestions are omitted."
    )


@dataclass(frozen=True, eq=False)
class QuestionSuggester:
    """Suggests questions about collections. ``make_llm`` builds the model that writes them."""

    suggestions: Suggestions
    ledger: Ledger
    trace: Trace
    calls: OtherCalls
    make_llm: Callable[[], LLM]

    def find(self, collection: str) -> SuggestedQuestions:
        """Return the stored suggestions. Blocks."""
        found = self.suggestions.find(collection)
        if found is None:
            return SuggestedQuestions(questions=(), outdated=False)
        outdated = self._is_outdated(found, collection)
        return SuggestedQuestions(questions=() if outdated else found.questions, outdated=outdated)

    async def make(self, library: Library, caller: Caller) -> SuggestedQuestions:
        """Let the model write questions about random documents, and store them. The tokens count for the caller's key.

        Raises LimitReached, LLMError, and UsageError if the collection is empty.
        """
        await asyncio.to_thread(require_tokens, self.trace, caller)
        collection = library.collection
        passages = await asyncio.to_thread(_choose, library)
        if not passages:
            raise UsageError(f"Collection {collection!r} has no documents. Ingest some, then ask for suggestions.")
        spent = BudgetUsage()
        try:
            questions = await suggest_questions(RunLLM(self.make_llm(), RunCalls(spent=spent)), passages)
        finally:
            await asyncio.to_thread(self.calls.add, caller.key, spent.usage)
        suggestion = Suggestion(
            questions=questions,
            documents={chunk.document_id: chunk.version for chunk in passages},
            passages=await asyncio.to_thread(self._count, collection),
        )
        await asyncio.to_thread(self.suggestions.keep, collection, suggestion)
        return SuggestedQuestions(questions=questions, outdated=False)

    def _is_outdated(self, made: Suggestion, collection: str) -> bool:
        """Return whether a document that the model read has changed, or the size of the collection has changed much."""
        known = [self.ledger.get(collection, document) for document in made.documents]
        if made.documents != {document.id: document.version for document in known if document}:
            return True
        return abs(self._count(collection) - made.passages) > _MUCH * made.passages

    def _count(self, collection: str) -> int:
        return self.ledger.indexed(collection).chunks


def _choose(library: Library) -> list[Chunk]:
    """Return random passages of random documents."""
    names = [document.name for document in library.catalogue()]
    chosen = random.sample(names, min(PASSAGES, len(names)))
    return choose_passages(library.scan(chosen), PASSAGES, seed=random.randrange(2**32)) if chosen else []
