"""Reports: what a request asks for, and the sections of the answer."""

from typing import Literal

from pydantic import Field

from base.models import FrozenModel

ReportFormat = Literal["comprehensive_report", "executive_summary", "bullet_points", "academic"]
MOST_SECTIONS = 12


class PlannedSection(FrozenModel):
    """A section of the outline. A run of its own researches it."""

    title: str = Field(min_length=1, max_length=200, description="heading of the section")
    question: str = Field(
        default="", max_length=2_000, description="its question, complete in itself; empty for one made from the title"
    )
    run: str = Field(default="", max_length=64, description="id of an ended run that answers it; empty to research it")


class ReportOptions(FrozenModel):
    """A request for a report instead of an answer."""

    format: ReportFormat = Field(
        default="comprehensive_report", description="`executive_summary` omits the text of the sections"
    )
    sections: tuple[PlannedSection, ...] = Field(
        default=(), max_length=MOST_SECTIONS, description="the outline; empty to let the model propose it"
    )
    outline_only: bool = Field(default=False, description="only propose the sections, for a person to edit")


class ReportTemplate(ReportOptions):
    """A saved question with its outline. Any collection can use it."""

    question: str = Field(default="", description="what the report is about; empty to ask when it is used")


class ReportSection(FrozenModel):
    """A section of a report. Its claims follow those of the previous section in the answer's claims."""

    title: str
    claims: int = Field(description="number of its claims")
    question: str = ""
    run: str = Field(default="", description="id of the run that researched it; empty if the report's run wrote it")
    outcome: str = Field(default="", description="outcome of that run, in words")
    notes: tuple[str, ...] = Field(default=(), description="what was searched and found without an answer, or gaps")

    def __str__(self) -> str:
        return f"{self.title}: {self.question} {self.outcome} ({self.run})"
