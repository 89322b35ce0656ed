"""What the summary of a report knows about the quotes of its sections."""

from __future__ import annotations

from multi_agent.grounding.judged import Statement
from multi_agent.grounding.support import SupportRules
from multi_agent.orchestrator.sections import ResearchedSection, findings_of
from multi_agent.values.answer import Answer, Quote, Status
from multi_agent.values.context import Claim
from multi_agent.values.report import PlannedSection
from support.chunks import make_chunk
from vectorstore.models import ChunkKind

HEAD = "| Model | Nominal capacity (kW) | Lowest temperature (°C) |"
ROW = "| Borea 12 | 12.1 | -25 |"


def test_a_quoted_row_keeps_the_head_of_its_table() -> None:
    stored = make_chunk(f"{HEAD}\n| --- | --- | --- |\n{ROW}", kind=ChunkKind.TABLE)
    start = stored.text.index(ROW)
    quote = Quote(
        number=1, document=stored.name, document_id=stored.document_id, chunk_id=stored.id, pages=(),
        start=start, end=start + len(ROW), quote=ROW,
    )  # fmt: skip
    claim = Claim(text="It has 12.1 kW.", evidence=(1,), supported=True)
    answer = Answer(
        run_id="run_1", status=Status.ANSWERED, mode="fast", question="?", answer="It has 12.1 kW [1].",
        claims=(claim,), evidence=(quote,),
    )  # fmt: skip
    section = ResearchedSection(PlannedSection(title="Power"), answer)
    found = findings_of([section], {stored.id: stored})
    statement = Statement("The Borea 12 has a nominal capacity of 12.1 kW.", tuple(found.evidence))
    assert SupportRules("Which?", found.evidence, found.chunks).judge(statement).supported
    gone = findings_of([section], {})
    assert not SupportRules("Which?", gone.evidence, gone.chunks).judge(statement).supported
