"""Summarises a run as text for the command line, exports and MCP clients."""

from collections.abc import Sequence

from base.counts import count
from multi_agent.prompts.show_passages import show_pages
from multi_agent.values.answer import Answer, ExecutionSummary, Quote, SourceCount
from multi_agent.values.sources import describe_origin
from vectorstore.models import GivenPassage


def describe_place(quote: Quote) -> str:
    """Return the document and its pages, or the headings above the quote. For other sources, the web page or tool."""
    if quote.origin and not isinstance(quote.origin, GivenPassage):
        return describe_origin(quote.origin)
    section = f"§ {' › '.join(quote.section)}" if quote.section and not quote.pages else ""
    given = describe_origin(quote.origin) if quote.origin else ""
    return ", ".join(filter(None, (quote.name, show_pages(quote.pages, quote.printed_pages), section, given)))


_SHOWN = 5  # files or warnings


def execution_facts(answer: Answer) -> dict[str, str]:
    """Return the facts by subject. Omits subjects that do not apply to the run."""
    did = answer.summary
    facts = {
        "Steps": _steps(did),
        "Searched": str(answer.searched or ""),
        "Documents": _documents(answer),
        "Not read": _first(answer.coverage.unread),
        "Not read in full": _first(answer.coverage.warnings),
        "Pages": _of(did.pages) if did.pages.total else "",
        "Given passages": _of(did.given_passages) if did.given_passages.total else "",
        "Web pages": _of(did.web_pages) if did.web_pages.read else "",
        "Tools": _tools(did),
        "Contradictions": str(did.contradictions or "") if not answer.contradictions else "",
        "Work": _work(answer),
    }
    return {subject: fact for subject, fact in facts.items() if fact}


def _steps(did: ExecutionSummary) -> str:
    """Return the outcomes of the steps. A run has several plans if the first plan did not answer the question."""
    if not did.steps:
        return ""
    plans = f" in {did.attempts} plans" if did.attempts > 1 else ""
    return f"{did.steps_completed} done, {did.steps_skipped} skipped, {did.steps_failed} failed{plans}"


def _documents(answer: Answer) -> str:
    """Return the numbers of documents read and cited. Older answers store only the coverage."""
    read, cited = answer.coverage, answer.summary.documents.cited
    if not read.chunks_total:
        return ""
    of_all = SourceCount(cited=cited, read=read.documents_considered, total=read.documents_total)
    return f"{_of(of_all)} ({read.chunks_considered:,} of {count(read.chunks_total, 'passage')} read)"


def _first(lines: Sequence[str]) -> str:
    """Return the first files or warnings, and the number of the others."""
    more = f"; and {len(lines) - _SHOWN:,} more" if len(lines) > _SHOWN else ""
    return "; ".join(line.rstrip(".") for line in lines[:_SHOWN]) + more


def _of(sources: SourceCount) -> str:
    total = "" if sources.total is None else f" of {sources.total:,}"
    return f"{sources.read:,}{total} read, {sources.cited:,} cited"


def _tools(did: ExecutionSummary) -> str:
    """Return how many of the offered tools the run used, and the number of calls of each."""
    if not did.tools_offered:
        return ""
    used = [
        f"{name} × {tool.calls}{f' ({tool.failed} failed)' if tool.failed else ''}" for name, tool in did.tools.items()
    ]
    return f"{len(used)} of {did.tools_offered} used" + (f": {', '.join(used)}" if used else "")


def _work(answer: Answer) -> str:
    usage = answer.usage
    cost = f", cost {usage.cost:.4f}" if usage.cost else ""
    return f"{count(usage.model_calls, 'model call')}, {usage.describe_tokens()}, {usage.seconds:.1f} s{cost}"
