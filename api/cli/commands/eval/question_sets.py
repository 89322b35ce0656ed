"""``candor eval init``, ``draft`` and ``from-ratings``: create a question set."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from api.cli.common import Cli, CollectionOption, command, print_message
from api.errors import UsageError

app = command()


@app.command()
def init(cli: Cli, path: Annotated[Path, typer.Argument(help="File to write: .jsonl or .csv.")]) -> None:
    """Write an example question set.

    Example: candor eval init questions.csv
    """
    if path.suffix not in (".jsonl", ".csv"):
        raise UsageError(f"A question set must be a .jsonl or .csv file, not {str(path)!r}.")
    text = files("sample_docs").joinpath(f"question_set{path.suffix}").read_text(encoding="utf-8")
    message = f"Wrote {path}. Replace the questions with your own, then run: candor eval run {path} --collection NAME"
    cli.write(path, text, message, new=True)


@app.command()
def draft(
    cli: Cli,
    output: Annotated[Path, typer.Argument(help="File to write: .jsonl.")],
    collection: CollectionOption = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="Number of passages to ask about.")] = 20,
    seed: Annotated[int, typer.Option("--seed", help="Random seed for choosing the passages.")] = 1,
) -> None:
    """Let the model propose questions about a collection.

    Each question has an answer and the quote that supports it. Review and correct each question, then remove its tag
    'draft'. `candor eval run` warns about remaining drafts.

    Example: candor eval draft questions.jsonl --collection papers --count 30
    """
    if output.suffix != ".jsonl":
        raise UsageError(f"Drafts are written to a new .jsonl file, not {str(output)!r}.")
    candor = cli.make_candor()
    name = candor.collections.resolve(collection)
    try:
        file = output.open("x", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"Cannot write {str(output)!r}: {error.strerror}.") from error
    try:
        with file:
            written = candor.evaluations.draft_questions(name, count, seed, output=file, on_skip=print_message)
    finally:
        if not output.stat().st_size:
            output.unlink()
    if not written:
        raise UsageError("The model proposed no question, so no file was written. Try another --seed.")
    message = f"Wrote {written} drafts to {output}. Check each one: the model wrote both question and answer."
    cli.print_written(output, message)


@app.command("from-ratings")
def from_ratings(
    cli: Cli,
    output: Annotated[Path, typer.Argument(help="File to write: .jsonl.")],
    collection: CollectionOption = None,
) -> None:
    """Write the questions whose answers you have rated (with `candor rate` or on the web page) as a question set.

    An answer that is rated up becomes the accepted answer, and its documents become the gold documents. A question
    whose answer is rated down gets the note of the rating. Add the right answer to it.

    Example: candor eval from-ratings questions.jsonl --collection papers
    """
    from api.services.evaluation.evaluations import rated_questions
    from multi_agent.evaluation.question_set import dump_questions

    if output.suffix != ".jsonl":
        raise UsageError(f"Rated questions are written to a new .jsonl file, not {str(output)!r}.")
    candor = cli.make_candor()
    known = candor.collections.require(candor.collections.resolve(collection))
    found = rated_questions(candor.trace, candor.ledger, known.collection).questions
    if not found:
        raise UsageError("No answer from this collection is rated. Rate one first, such as `candor rate RUN up`.")
    without = sum(each.answerable is None for each in found)
    gaps = f" Without a known answer: {without}. Add one to measure whether an answer is right." if without else ""
    cli.write(output, dump_questions(found), f"Wrote {len(found)} rated questions to {output}.{gaps}", new=True)
