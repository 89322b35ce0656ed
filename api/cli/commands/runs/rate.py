"""``candor rate``: rate the answer of a run."""

from __future__ import annotations

from typing import Annotated

import typer

from api.cli.common import Home, Json, RunId, command, make_candor, print_result
from api.errors import UsageError

app = command()


@app.command()
def rate(
    run_id: RunId,
    rating: Annotated[str, typer.Argument(help="up, down, or none to remove the rating.")],
    note: Annotated[str, typer.Option("--note", help="Reason for the rating, such as the right answer.")] = "",
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Rate the answer of a run. A new rating replaces the earlier one.

    `candor runs --rating down` lists rated runs. `candor eval from-ratings` creates a question set from them.

    Example: candor rate run_3f2a down --note "It is -20 °C, see page 3."
    """
    from pydantic import ValidationError

    from api.auth.permissions import LOCAL_CALLER
    from api.errors import fault_list
    from api.services.research.runs import RatingRequest, rate_run
    from multi_agent.storage.run_filter import Rating

    if rating not in ("none", *Rating):
        raise UsageError(f"Unknown rating {rating!r}. Choose from up, down and none.")
    try:
        given = RatingRequest(rating=None if rating == "none" else Rating(rating), note=note)
    except ValidationError as error:
        raise UsageError(f"Invalid rating: {fault_list(error)}.") from error
    run = rate_run(make_candor(home).trace, run_id, given, LOCAL_CALLER)
    print_result(
        run, f"{run.run_id}: {f'rated {run.rating.value}' if run.rating else 'not rated'}. {run.question}", as_json
    )
