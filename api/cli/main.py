"""The command line. Each command says what it does with an example; results go to standard output, all else to
standard error. Heavy modules are imported where they are used: ``candor --help`` has to be quick.
"""

from __future__ import annotations

import sys

import typer

from api.cli.commands import (
    agents,
    approvals,
    audit,
    documents,
    evaluation,
    export,
    keys,
    mcp,
    memories,
    plans,
    research,
    service,
    skills,
    tools,
)
from api.cli.common import print_json, say
from api.errors import HomeError, KeyNotFound, UsageError, in_words

app = typer.Typer(
    name="candor",
    help="Cited, checked and explained answers from your own documents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for commands in (documents, research, export, service, mcp):
    app.add_typer(commands.app)
app.add_typer(agents.app, name="agents")
app.add_typer(skills.app, name="skills")
app.add_typer(memories.app, name="memories")
app.add_typer(tools.app, name="tools")
app.add_typer(plans.app, name="plans")
app.add_typer(approvals.app, name="approvals")
app.add_typer(evaluation.app, name="eval")
app.add_typer(keys.app, name="keys")
app.add_typer(audit.app, name="audit")


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

    return (HomeError, KeyNotFound, IngestError, AgentError, StoreError, SQLAlchemyError)


def _fail(message: str, kind: str, as_json: bool, code: int) -> None:
    if as_json:
        print_json({"error": {"type": kind, "message": message}})
    say(f"candor: {message}")
    sys.exit(code)


if __name__ == "__main__":
    main()
