"""``candor models``: what is chosen, what other sources fix, and where a key may go."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from api.bootstrap import Candor
from api.errors import UsageError
from api.settings import MODELS_FILE, Settings, SettingsError, load_settings
from support.serving import serving


def test_a_choice_counts_from_the_next_command_on(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("typer.prompt", lambda *_, **__: "sesame")
    chosen = run("models", "use", "llm", "big", "--provider", "openai", "--url", "https://a.example/v1", "--key")
    assert chosen.code == 0, chosen.err
    shown = run("models", "--json")
    assert (shown.json[0]["kind"], shown.json[0]["model"]) == ("llm", "big")
    assert shown.json[0]["has_key"]
    assert "sesame" not in chosen.out + chosen.err + shown.out + run("models").out
    settings = load_settings()
    assert settings.llm.api_key
    assert settings.llm.api_key.get_secret_value() == "sesame"
    run(
        "models",
        "use",
        "llm",
        "big",
        "--provider",
        "openai",
        "--url",
        "https://a.example/v1",
        "--context-window",
        "8192",
    )
    assert load_settings().llm.api_key, "the address is the same"
    assert load_settings().research.tokens_per_call < settings.research.tokens_per_call
    run("models", "use", "llm", "big", "--provider", "openai", "--url", "https://b.example/v1")
    assert not load_settings().llm.api_key, "a key stays with its address"
    assert run("models", "use", "llm").code == 0
    assert load_settings().llm.model == "qwen3:8b"


def test_what_a_variable_or_a_file_sets_is_named_and_kept(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    run("models", "use", "llm", "big", "--provider", "openai", "--url", "https://evil.example/v1")
    monkeypatch.setenv("CANDOR_LLM__API_KEY", "sesame")
    settings = load_settings()
    assert (settings.llm.provider, settings.llm.model) == ("ollama", "big"), "the key goes to no chosen address"
    refused = run("models", "use", "llm", "big", "--url", "https://evil.example/v1")
    assert refused.code == 2
    assert "CANDOR_LLM__API_KEY sets `base_url`" in refused.err
    home = Path(os.environ["CANDOR_HOME"])
    (home / "candor.toml").write_text('[research.rerank]\nprovider = "local"\nmodel = "m"\n')
    fixed = run("models", "--json").json[2]["fixed"]
    assert fixed["model"] == str(home / "candor.toml")


def test_a_wrong_choice_changes_nothing(run) -> None:  # type: ignore[no-untyped-def]
    for arguments, message in (
        (("cook", "x"), "no kind of model 'cook'"),
        (("embedding", "--provider", "ollama"), "needs the name of its model"),
        (("llm", "x", "--url", "http://ann:secret@a.example"), "without a user name or password"),
        (("embedding", "x.Class", "--provider", "llama_index"), "provider"),
    ):
        refused = run("models", "use", *arguments)
        assert (refused.code, "secret" in refused.err) == (2, False)
        assert message in refused.err
    home = Path(os.environ["CANDOR_HOME"])
    assert not (home / MODELS_FILE).exists()
    with serving(home / "collections"):
        assert (
            "A service runs on this data folder" in run("models", "use", "embedding", "m", "--provider", "ollama").err
        )
    (home / MODELS_FILE).write_text('{"llm": {"api_key": 5, "colour": "sesame"}}')
    with pytest.raises(SettingsError, match="Delete the file") as raised:
        load_settings()
    assert "sesame" not in str(raised.value)


def test_a_service_names_the_invalid_file_of_chosen_models(tmp_path: Path) -> None:
    candor = Candor(Settings(home=tmp_path))
    (tmp_path / "models.json").write_text('{"rerank": {"provider": "ollama"}}')
    with pytest.raises(UsageError, match=r"models\.json' is invalid: provider"):
        candor.refresh()
