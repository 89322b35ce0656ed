"""The command line. Each command says what it does with an example; results go to standard output, all else to
standard error. Heavy modules are imported where they are used: ``candor --help`` has to be quick.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from api.errors import HomeError, UsageError, in_words

if TYPE_CHECKING:
    from rich.console import Console

    from api.bootstrap import Candor

app = typer.Typer(
    name="candor",
    help="Cited, checked and explained answers from your own documents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="One JSON value on standard output.")]
Home = Annotated[Path | None, typer.Option("--home", help="Folder of all data (CANDOR_HOME).", show_default=False)]
CollectionOption = Annotated[
    str | None, typer.Option("--collection", "-c", help="Which collection; not needed if there is just one.")
]


@app.command()
def ingest(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Files, or folders with all that is in them.", show_default=False)
    ] = None,
    collection: Annotated[str, typer.Option("--collection", "-c", help="Where the documents go.")] = "documents",
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try failed files again though they have not changed.")
    ] = False,
    sync: Annotated[bool, typer.Option("--sync", help="Remove documents whose files are gone from the paths.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Ingest, then again whenever something changes.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be done.")] = False,
    ocr: Annotated[
        str | None, typer.Option("--ocr", help="Recognise the text of page images: auto, always or never.")
    ] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Read documents into a collection.

    Unchanged files are skipped, changed ones replaced. Exit code 1 if any file failed; the others are in.

    Example: candor ingest ~/papers --collection papers
    """
    from api.ingesting import run_dry, run_ingest, run_watch

    if not paths and not retry_failed:
        raise UsageError("What is to be ingested? Name files or folders, or use --retry-failed.")
    if (sync or watch) and not paths:
        raise UsageError("--sync and --watch need the folders that they are about.")
    if watch and (as_json or dry_run):
        raise UsageError("--watch goes on until you end it; --json and --dry-run do not go with it.")
    candor = _candor(home, **({"ingest": {"ocr": ocr}} if ocr else {}))
    if dry_run:
        plan = run_dry(candor, paths or [], collection, retry_failed=retry_failed, sync=sync, progress=not as_json)
        if as_json:
            _print_json(plan.model_dump(mode="json"))
        return
    if watch:
        run_watch(candor, paths or [], collection, retry_failed=retry_failed, sync=sync)
        return
    report = run_ingest(candor, paths or [], collection, retry_failed=retry_failed, sync=sync, progress=not as_json)
    if as_json:
        _print_json(report.model_dump(mode="json"))
    if report.failed:
        raise typer.Exit(1)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="Words, or a question.")],
    collection: CollectionOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="Passages to show.")] = 10,
    timings: Annotated[bool, typer.Option("--timings", help="Print where the time went, to standard error.")] = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Find passages by words and by meaning, without a language model.

    Example: candor search "heat pump efficiency" --collection papers
    """
    from api.searching import run_search

    hits, spent = run_search(_candor(home), _not_empty(query, "query"), collection, limit)
    if as_json:
        _print_json([{"score": hit.score, **hit.chunk.model_dump(mode="json")} for hit in hits])
    else:
        from api.rendering import show_hits

        show_hits(_console(), hits)
    if timings:
        _say(" · ".join(f"{name} {seconds:.2f} s" for name, seconds in spent.items()))


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    collection: CollectionOption = None,
    mode: Annotated[
        str, typer.Option("--mode", help="fast: one search, at most two model calls in a row; high: planned; or auto.")
    ] = "auto",
    agent: Annotated[str, typer.Option("--agent", help="Ask this agent directly, and no other.")] = "",
    plan: Annotated[str, typer.Option("--plan", help="Follow the plan saved under this name.")] = "",
    samples: Annotated[
        int | None, typer.Option("--samples", min=1, max=32, help="Write the answer so often, and take a vote.")
    ] = None,
    max_calls: Annotated[int | None, typer.Option("--max-calls", min=1, help="Model calls it may take.")] = None,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", min=1, help="Tokens it may take.")] = None,
    max_seconds: Annotated[float | None, typer.Option("--max-seconds", min=0.1, help="Time it may take.")] = None,
    max_cost: Annotated[float | None, typer.Option("--max-cost", help="What it may cost.")] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Research a question over a collection, and answer it with evidence.

    A budget that is reached ends the research with what is known so far.

    Exit code 0 if the research came to its end, be it an answer or the finding that the documents hold none
    (`status` tells which); 1 if it failed or was cancelled.

    Example: candor ask "Which of these pumps works below -20 °C, and where does it say so?" -c papers
    """
    from api.asking import make_request, run_question

    candor = _candor(home)
    request = make_request(
        _not_empty(question, "question"),
        {"mode": mode, "agent": agent, "template": plan, "samples": samples},
        {"model_calls": max_calls, "tokens": max_tokens, "seconds": max_seconds, "cost": max_cost},
        candor.settings.research.budget,
    )
    answer = run_question(candor, request, collection, progress=not as_json)
    if as_json:
        _print_json(answer.model_dump(mode="json"))
    else:
        from api.rendering import show_answer

        show_answer(_console(), answer, home)
    if answer.status.value in ("failed", "cancelled"):
        raise typer.Exit(1)


@app.command()
def trace(
    run_id: Annotated[str, typer.Argument(help="The run, or the beginning of its id.")],
    prompts: Annotated[bool, typer.Option("--prompts", help="Every prompt and response in full, too.")] = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Show the whole reasoning of a run, step by step.

    Example: candor trace run_3f2a --prompts
    """
    kept = _candor(home).trace
    run = kept.run(run_id)
    happened = kept.events(run.run_id)
    calls = kept.journal_entries(run.run_id) if prompts else []
    if as_json:
        value: dict[str, Any] = {"run": run.model_dump(mode="json"), "events": [_plain(event) for event in happened]}
        _print_json({**value, "calls": [_plain(call) for call in calls]} if prompts else value)
        return
    from api.rendering import show_call, show_event

    console = _console()
    for event in happened:
        show_event(console, event)
    for call in calls:
        show_call(console, call)


@app.command()
def runs(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="The latest so many.")] = 20,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """List the latest runs, newest first.

    Example: candor runs --limit 5
    """
    found = _candor(home).trace.runs(limit)
    if as_json:
        _print_json([_plain(run) for run in found])
        return
    from api.rendering import show_table

    rows = [(run.run_id, run.status, f"{run.started_at:%Y-%m-%d %H:%M}", run.collection, run.question) for run in found]
    show_table(_console(), ("run", "status", "started (UTC)", "collection", "question"), rows)


plans_app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)
app.add_typer(plans_app, name="plans")


@plans_app.callback()
def plans(context: typer.Context, as_json: Json = False, home: Home = None) -> None:
    """List the plans that were saved under a name.

    The planner is shown them as examples; `candor ask --plan NAME` follows one.

    Example: candor plans save weekly run_3f2a
    """
    if context.invoked_subcommand:
        return
    found = _candor(home).plans.list()
    if as_json:
        _print_json([_plain(each) for each in found])
        return
    from api.rendering import show_table

    rows = [
        (each.name, " → ".join(", ".join(step.agents) for step in each.plan.steps), each.question) for each in found
    ]
    show_table(_console(), ("plan", "steps", "made for the question"), rows)


@plans_app.command("save")
def save_plan(
    name: Annotated[str, typer.Argument(help="What to call it.")],
    run_id: Annotated[str, typer.Argument(help="The run whose last plan it is, or the beginning of its id.")],
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Save the plan of a run under a name.

    Example: candor plans save weekly run_3f2a
    """
    from api.plans import plan_of

    candor = _candor(home)
    question, plan = plan_of(candor, run_id)
    candor.plans.save(name, plan, question)
    if as_json:
        _print_json({"saved": name, "plan": _plain(plan)})
    else:
        _say(f"Saved {name}: {len(plan.steps)} steps.")


@plans_app.command("rm")
def remove_plan(
    name: Annotated[str, typer.Argument(help="The plan to forget.")], as_json: Json = False, home: Home = None
) -> None:
    """Forget a saved plan.

    Example: candor plans rm weekly
    """
    _candor(home).plans.delete(name)
    if as_json:
        _print_json({"removed": name})
    else:
        _say(f"Forgot {name}.")


documents_app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)
app.add_typer(documents_app, name="documents")


@documents_app.callback()
def documents(
    context: typer.Context,
    collection: CollectionOption = None,
    state: Annotated[str | None, typer.Option("--state", help="Only those in this state, such as failed.")] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """List the documents of a collection with their states, and why some failed.

    Example: candor documents --collection papers --state failed
    """
    from api.documents import list_documents

    if context.invoked_subcommand:
        return
    found = list_documents(_candor(home), collection, state)
    if as_json:
        _print_json([document.model_dump(mode="json") for document in found])
        return
    from api.rendering import show_documents

    show_documents(_console(), found)


@documents_app.command("rm")
def remove(
    document: Annotated[str, typer.Argument(help="Its id or the beginning of it, its path, or its name.")],
    collection: CollectionOption = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Take a document out of its collection. Its file stays, and is read in again if it is ingested again.

    Example: candor documents rm report.pdf
    """
    from api.documents import remove_document

    removed = remove_document(_candor(home), document, collection)
    if as_json:
        _print_json({"removed": removed.id, "name": removed.name, "chunks": removed.chunks})
    else:
        _say(f"Removed {removed.name} ({removed.chunks} passages).")


@app.command()
def show(
    document: Annotated[str, typer.Argument(help="Its id or the beginning of it, its path, or its name.")],
    text: Annotated[bool, typer.Option("--text", help="The parsed text, into which all spans point.")] = False,
    collection: CollectionOption = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Show what is known of a document, or its parsed text.

    Example: candor show report.pdf --text
    """
    from api.documents import find_document

    candor = _candor(home)
    found = find_document(candor, document, collection)
    parsed = candor.ledger.text(found.collection, found.id).text if text else None
    if as_json:
        _print_json(found.model_dump(mode="json") | ({"text": parsed} if text else {}))
    elif parsed is not None:
        sys.stdout.write(parsed)
    else:
        from api.rendering import show_document

        show_document(_console(), found)


@app.command()
def drop(
    collection: Annotated[str, typer.Argument(help="The collection to delete.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Delete a collection and what is known of its documents. The files themselves and past runs stay.

    Example: candor drop papers
    """
    if not yes:
        typer.confirm(f"Delete the collection {collection!r}?", abort=True, err=True)
    _candor(home).drop(collection)
    if as_json:
        _print_json({"dropped": collection})
    else:
        _say(f"Deleted {collection}.")


@app.command()
def doctor(as_json: Json = False, home: Home = None) -> None:
    """Print the settings in force, and check store, embedding model and language model.

    Example: candor doctor
    """
    from api.doctor import examine

    diagnosis = examine(_candor(home))
    if as_json:
        _print_json(diagnosis.model_dump(mode="json"))
    else:
        from api.rendering import show_diagnosis

        show_diagnosis(_console(), diagnosis)
    if not diagnosis.ok:
        raise typer.Exit(1)


@app.command()
def serve(
    host: Annotated[str | None, typer.Option("--host", help="Address of this machine itself; 127.0.0.1.")] = None,
    port: Annotated[
        int | None, typer.Option("--port", "-p", min=0, max=65535, help="8484; 0 takes any that is free.")
    ] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Serve the web page and the REST API, until Ctrl-C.

    It listens to this machine alone. Runs that are under way when it ends are cancelled.

    Example: candor serve --port 8484
    """
    from api.serving import serve as run_service

    given = {name: value for name, value in {"host": host, "port": port}.items() if value is not None}

    def tell(url: str) -> None:
        if as_json:
            _print_json({"url": url})
            sys.stdout.flush()
        else:
            _say(f"Candor serves {url} (OpenAPI: {url}openapi.json). Ctrl-C ends it.")

    run_service(_candor(home, **({"service": given} if given else {})), tell)


@app.command()
def demo(
    live: Annotated[bool, typer.Option("--live", help="Ask your own model instead of the recording.")] = False,
    record: Annotated[
        Path | None, typer.Option("--record", help="With --live: write the model's responses to this file.")
    ] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Ingest the sample documents and answer three questions about them.

    Example: candor demo
    """
    from api.demo import run_demo

    if record and not live:
        raise UsageError("--record goes with --live: a replay has nothing new to record.")
    result = run_demo(home, live=live, record=record, progress=not as_json)
    if as_json:
        _print_json(result.model_dump(mode="json"))
    if any(answer.status.value in ("failed", "cancelled") for answer in result.answers):
        raise typer.Exit(1)


def main() -> None:
    """Run the command line: 0 done, 1 could not, 2 wrong use; an error is one paragraph, not a traceback."""
    as_json = "--json" in sys.argv
    try:
        app()
    except UsageError as error:
        _fail(str(error), type(error).__name__, as_json, 2)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has seen enough, as in `candor runs | head`
    except Exception as error:
        if not isinstance(error, _expected()):
            raise
        _fail(in_words(error), type(error).__name__, as_json, 1)


def _expected() -> tuple[type[Exception], ...]:
    """Errors that have a message for the user; anything else is a defect and keeps its traceback."""
    from sqlalchemy.exc import SQLAlchemyError

    from ingest.errors import IngestError
    from multi_agent.errors import AgentError
    from vectorstore.errors import StoreError

    return (HomeError, IngestError, AgentError, StoreError, SQLAlchemyError)


def _fail(message: str, kind: str, as_json: bool, code: int) -> None:
    if as_json:
        _print_json({"error": {"type": kind, "message": message}})
    _say(f"candor: {message}")
    sys.exit(code)


def _candor(home: Path | None, **overrides: Any) -> Candor:
    from api.bootstrap import Candor
    from api.settings import load_settings

    return Candor(load_settings(home, **overrides))


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False)


def _not_empty(text: str, what: str) -> str:
    if not text.strip():
        raise UsageError(f"The {what} is empty; write one, in quotation marks.")
    return text


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json")


def _print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main()
