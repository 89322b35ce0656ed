"""``candor models``: choose the language model, the embedding model and the reranker."""

from typing import Annotated

import typer

from api.cli.common import Cli, command_group
from api.cli.given import valid_request
from api.errors import UsageError

app = command_group("models", "Choose the language model, the embedding model and the reranker.")


@app.command("list")
def list_all(cli: Cli) -> None:
    """List the models. Keys are never shown.

    Example: candor models
    """
    from api.services.models import shown_models

    shown = shown_models(cli.make_candor().settings)
    listed = [{"kind": kind, **each.model_dump(mode="json")} for kind, each in shown.items()]
    cli.print_list(listed, ("kind", "model", "provider", "address", "key", "fixed by"), lambda each: (
        each["kind"], each["model"] or each["provider"], each["provider"], each["base_url"],
        "set" if each["has_key"] else "", ", ".join(sorted(set(each["fixed"].values()))),
    ))  # fmt: skip


@app.command()
def use(
    cli: Cli,
    kind: Annotated[str, typer.Argument(help="llm, embedding or rerank.")],
    model: Annotated[str | None, typer.Argument(help="Name of the model. Without one, the default.")] = None,
    provider: Annotated[
        str | None, typer.Option("--provider", help="ollama, openai, local; for rerank local, endpoint, llm or none.")
    ] = None,
    url: Annotated[str | None, typer.Option("--url", help="Address of the endpoint.")] = None,
    key: Annotated[bool, typer.Option("--key", help="Ask for the API key, or read it from standard input.")] = False,
    context_window: Annotated[int | None, typer.Option("--context-window", min=512, help="Tokens (llm).")] = None,
) -> None:
    """Choose a model, in place of an earlier choice. A running service uses it for the next question.

    The page can do the same.

    Example: candor models use llm qwen3:14b --provider ollama
    """
    from api.services.models import choose_model, shown_models
    from api.settings import MODEL_TABLES, ModelChoice
    from vectorstore.remote.address import read_address

    if kind not in MODEL_TABLES:
        raise UsageError(f"There is no kind of model {kind!r}. Known: {', '.join(MODEL_TABLES)}.")
    candor, table = cli.make_candor(creates=True), kind
    if kind == "embedding" and read_address(candor.settings.home / "collections"):
        raise UsageError("A service runs on this data folder. Choose the embedding model in its page, or stop it.")
    secret = typer.prompt("API key", hide_input=True, err=True) if key else None
    choice = valid_request(
        ModelChoice, provider=provider, base_url=url, api_key=secret, model=model, context_window=context_window
    )
    choose_model(candor.settings, table, choice)
    candor.refresh()
    shown = shown_models(candor.settings)[table]
    cli.print_result(shown, f"The {kind} model is now {shown.model or shown.provider} ({shown.provider}).")
