"""``candor report``: research a question in sections and write a report."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.common import LIMITS, Cli, CollectionsOption, command, print_message, print_text, selection, write_file
from api.cli.given import read_template, require_text
from api.errors import UsageError

if TYPE_CHECKING:
    from api.bootstrap import Candor
    from multi_agent.values.answer import Answer

app = command()


@app.command(shares={"model", "sources", *LIMITS})
def report(
    cli: Cli,
    question: Annotated[str, typer.Argument(help="What the report is about.", show_default=False)] = "",
    collection: CollectionsOption = None,
    section: Annotated[
        list[str] | None,
        typer.Option(
            "--section", metavar="TITLE[=QUESTION]", help="A section. Repeatable. Default: the model's outline."
        ),
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="comprehensive_report, executive_summary, bullet_points or academic. Default: that of --template, or "
            "comprehensive_report.",
        ),
    ] = "",
    template: Annotated[
        Path | None,
        typer.Option("--template", help="TOML or JSON file with `question`, `sections` and `format`, if not given."),
    ] = None,
    outline_only: Annotated[
        bool,
        typer.Option(
            "--outline-only", help="Only propose an outline, as sections to edit; with --out, as a JSON template."
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write: .md, .html, .docx, .pdf or .json.")
    ] = None,
    resume: Annotated[
        str, typer.Option("--resume", metavar="RUN", help="Go on with a report that ended or was killed.")
    ] = "",
    mode: Annotated[str, typer.Option("--mode", help="How each section is researched: fast, high or auto.")] = "auto",
) -> None:
    """Research a question in sections and write a report, with evidence.

    Each section is a run of its own. The limits are those of the whole report. --resume reuses the sections that were
    researched. Exit code 1 if the report failed, 130 if it was cancelled.

    Examples: candor report "How do the pumps compare?" -c papers --outline-only; candor report "How do the pumps
    compare?" -c papers --section "Cold" --section "Noise=Which pump is the quietest?" --out pumps.docx
    """
    from api.cli.ask.run import make_budgeted, run_question, show_and_end
    from api.services.exports.export import choose_format
    from api.services.research.runs import export_run
    from multi_agent.values.report import ReportTemplate

    if out and outline_only and out.suffix != ".json":
        raise UsageError(f"A template is a .json file, not {str(out)!r}.")
    if out:
        choose_format(None, out.name)  # before anything is paid
    candor = cli.make_candor()
    if resume:
        answer = _resume(cli, candor, resume)
    else:
        given = read_template(template, ReportTemplate) if template else ReportTemplate()
        question, form = question or given.question, form or given.format
        sections = list(map(_section, section or ())) or given.sections
        options = {
            "mode": mode,
            "model": cli.model,
            "report": {"format": form, "sections": sections, "outline_only": outline_only},
            **cli.chosen_sources,
        }
        request = make_budgeted(
            require_text(question, "question"), options, cli.limits, candor.settings.research.budget
        )
        answer = run_question(candor, request, selection(collection), progress=not cli.as_json, steps=True)
    if outline_only and answer.sections and out:
        outline = [{"title": each.title, "question": each.question} for each in answer.sections]
        made = ReportTemplate.model_validate(
            {"question": question, "format": form or "comprehensive_report", "sections": outline}
        )
        content = made.model_dump_json(indent=2, exclude_defaults=True) + "\n"
        cli.write(out, content, f"Wrote {out}. Edit it and use it with --template.")
        return
    if outline_only and answer.sections and not cli.as_json:
        for each in answer.sections:
            print_text(f"--section {shlex.quote(f'{each.title}={each.question}')}")
        print_message("Edit these options and add them to the command, without --outline-only.")
        return
    if out:
        import asyncio

        into, documents, pages = choose_format(None, out.name), candor.documents, candor.pages
        file = asyncio.run(export_run(candor.trace, answer.run_id, cli.caller, into, documents, pages))
        write_file(out, file.content)
    show_and_end(cli, answer, note=f"Wrote {out}." if out else "", verbose=True)


def _section(written: str) -> dict[str, str]:
    title, _, question = written.partition("=")
    if not title.strip():
        raise UsageError(f"--section {written!r} is not TITLE or TITLE=QUESTION.")
    return {"title": title.strip(), "question": question.strip()}


def _resume(cli: Cli, candor: Candor, run_id: str) -> Answer:
    """Continue the run if its process was killed. Otherwise, start a report that reuses its researched sections."""
    from api.cli.ask.run import resume_run, run_question
    from api.services.research.report import continued
    from multi_agent.storage.run_filter import RunState

    run, progress = candor.trace.run(run_id), not cli.as_json
    if run.status == RunState.INTERRUPTED:
        return resume_run(candor, run.run_id, progress=progress)
    request = continued(candor.trace, run.run_id, cli.caller)
    return run_question(candor, request, run.collection, progress=progress)
