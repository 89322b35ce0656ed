"""Settings come from files, the environment and the command line. Errors name the setting."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from api.cli.given import read_data
from api.errors import SettingsError
from api.settings import load_settings
from multi_agent.catalog.entries import CustomAgent
from multi_agent.catalog.store import read_file
from multi_agent.errors import AgentError
from vectorstore.settings import SettingsGroup


def _groups(base: type[SettingsGroup]) -> list[type[SettingsGroup]]:
    return [each for group in base.__subclasses__() for each in (group, *_groups(group))]


def test_later_sources_override_earlier_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, config = tmp_path / "home", tmp_path / "team.toml"
    home.mkdir()
    (home / "candor.toml").write_text('[llm]\nmodel = "from home"\nparallel = 2\n[research]\npassages = 9\n')
    config.write_text('[llm]\nmodel = "from config"\nresponse_retries = 5\n')
    monkeypatch.setenv("CANDOR_CONFIG", str(config))
    monkeypatch.setenv("CANDOR_LLM__RESPONSE_RETRIES", "7")
    settings = load_settings(home)
    assert (settings.llm.model, settings.llm.parallel, settings.llm.response_retries) == ("from config", 2, 7)
    assert settings.research.passages == 9


def test_a_file_in_the_working_folder_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CANDOR_LLM__API_KEY", "sesame")
    (tmp_path / "candor.toml").write_text('[llm]\nbase_url = "https://attacker.example/v1"\nprovider = "openai"\n')
    with pytest.warns(FutureWarning, match=r"candor --config candor\.toml"):
        assert "attacker" not in load_settings(tmp_path / "home").llm.model_dump_json()
    monkeypatch.setenv("CANDOR_CONFIG", "missing.toml")
    with pytest.raises(SettingsError, match=r"no settings file 'missing\.toml'"):
        load_settings(tmp_path / "home")


@pytest.mark.parametrize("table", ["llm", "llms.small"])
def test_a_key_is_not_sent_to_an_address_of_another_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    config, variable = tmp_path / "team.toml", f"CANDOR_{table.upper().replace('.', '__')}__"
    config.write_text(f'[{table}]\nprovider = "openai"\nmodel = "m"\nbase_url = "https://team.example/v1/"\n')
    monkeypatch.setenv("CANDOR_CONFIG", str(config))
    assert load_settings(tmp_path / "home").config == config  # no key, no risk
    monkeypatch.setenv(f"{variable}API_KEY", "sesame")
    with pytest.raises(SettingsError, match=rf"`base_url` under \[{table}\] is set in .*team\.toml"):
        load_settings(tmp_path / "home")
    monkeypatch.setenv(f"{variable}BASE_URL", "https://own.example/v1")
    assert load_settings(tmp_path / "home").home == tmp_path / "home"
    monkeypatch.delenv(f"{variable}API_KEY")
    monkeypatch.delenv(f"{variable}BASE_URL")
    config.write_text(config.read_text() + 'api_key = "sesame"\n')
    assert load_settings(tmp_path / "home").config == config


def test_files_may_begin_with_a_byte_order_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "candor.toml").write_bytes(b'\xef\xbb\xbf[llm]\nmodel = "from home"\n')
    assert load_settings(tmp_path).llm.model == "from home"
    monkeypatch.setenv("CANDOR_CONFIG", str(tmp_path / "candor.toml"))
    assert load_settings(tmp_path / "home").llm.model == "from home"
    assert read_data(tmp_path / "candor.toml") == {"llm": {"model": "from home"}}
    (tmp_path / "critic.toml").write_bytes(b'\xef\xbb\xbfname = "Critic"\n')
    with pytest.raises(AgentError, match="is not a valid agent"):
        read_file(tmp_path / "critic.toml", CustomAgent)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("[llm]\n".encode("utf-16"), "candor.toml is not in UTF-8. Save it in this encoding."),
        (b"a = " + b"[" * 3000, "candor.toml is not valid TOML: "),
        (None, "candor.toml: Is a directory."),
    ],
)
def test_an_unreadable_file_is_named(tmp_path: Path, content: bytes | None, expected: str) -> None:
    if content is None:
        (tmp_path / "candor.toml").mkdir()
    else:
        (tmp_path / "candor.toml").write_bytes(content)
    with pytest.raises(SettingsError, match=re.escape(f"{tmp_path}/{expected}")):
        load_settings(tmp_path)


@pytest.mark.parametrize(
    ("toml", "named"),
    [
        ("colour = 'red'", "colour"),
        ("[llm]\ncolour = 'red'", "llm.colour"),
        ("[llm]\nparallel = 0", "llm.parallel"),
        ("[store.embedding]\nprecision = 'low'", "store.embedding.precision"),
        ("[llm\n", "candor.toml"),
    ],
)
def test_an_invalid_key_in_a_file_is_named(tmp_path: Path, toml: str, named: str) -> None:
    (tmp_path / "candor.toml").write_text(toml)
    with pytest.raises(SettingsError, match=named):
        load_settings(tmp_path)


@pytest.mark.parametrize(
    ("variable", "named"),
    [
        ("CANDOR_COLOUR", "CANDOR_COLOUR"),
        ("CANDOR_LLM__COLOUR", "CANDOR_LLM__COLOUR"),
        ("CANDOR_LLM__TIMEOUT_S", "CANDOR_LLM__TIMEOUT_S"),
    ],
)
def test_an_invalid_variable_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, named: str
) -> None:
    monkeypatch.setenv(variable, "red")
    with pytest.raises(SettingsError, match=named):
        load_settings(tmp_path)


def test_all_invalid_settings_are_named_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANDOR_LLM__PARALLEL", "none")
    monkeypatch.setenv("CANDOR_RESEARCH__PASSAGES", "-1")
    with pytest.raises(SettingsError, match=r"llm\.parallel.*research\.passages"):
        load_settings(tmp_path)


def test_defaults_of_an_invalid_setting_are_no_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANDOR_LLM__BASE_URL", "")
    with pytest.raises(SettingsError) as raised:
        load_settings(tmp_path)
    assert str(raised.value).count("CANDOR_LLM__") == 1, raised.value


def test_the_data_folder_is_the_option_or_the_variable(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "given").home == tmp_path / "given"
    assert load_settings().home == tmp_path / "home"


def test_named_models_are_set_in_files_and_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "candor.toml").write_text(
        '[llms.small]\nmodel = "qwen3:4b"\n[research.agent_models]\nExtractor = "small"\n'
    )
    monkeypatch.setenv("CANDOR_LLMS__SMALL__API_KEY", "sesame")
    settings = load_settings(tmp_path)
    small = settings.llms["small"]
    assert (small.model, small.api_key and small.api_key.get_secret_value()) == ("qwen3:4b", "sesame")
    assert small.setting("model").startswith("CANDOR_LLMS__SMALL__MODEL")
    assert settings.research.agent_models == {"Extractor": "small"}
    (tmp_path / "candor.toml").write_text('[llms."Not a name"]\nmodel = "x"\n')
    with pytest.raises(SettingsError, match="Not a name"):
        load_settings(tmp_path)


def test_old_setting_names_are_read_with_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CANDOR_LLM__REASKS", "7")
    with pytest.warns(FutureWarning, match="'reasks' is now called 'response_retries'"):
        assert load_settings(tmp_path).llm.response_retries == 7


def test_former_settings_are_read_with_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CANDOR_RESEARCH__SQL_ROWS", "7")
    (tmp_path / "candor.toml").write_text("[tools]\nrounds = 2\n")
    with pytest.warns(FutureWarning) as warned:
        settings = load_settings(tmp_path)
    assert (settings.research.sql_rows, settings.tools.rounds) == (100, 8)
    assert sorted(str(each.message) for each in warned) == [
        "'rounds' is no longer a setting, its value is 8. Remove it.",
        "'sql_rows' is no longer a setting, its value is 100. Remove it.",
    ]


@pytest.mark.parametrize("group", _groups(SettingsGroup), ids=lambda group: group.__name__)
def test_every_former_setting_has_a_value(group: type[SettingsGroup]) -> None:
    assert [name for name in group.constants if name in group.model_fields or not hasattr(group, name)] == []


def test_old_and_new_name_together_are_rejected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CANDOR_SERVICE__RUNS", "1")
    monkeypatch.setenv("CANDOR_SERVICE__CONCURRENT_RUNS", "2")
    with pytest.raises(SettingsError, match="'runs' is the old name of 'concurrent_runs'"):
        load_settings(tmp_path)


@pytest.mark.parametrize(
    ("toml", "tokens", "passages"),
    [
        ("", 2730, 10),
        ("[llm]\ncontext_window = 32768", 5461, 20),
        ("[llm]\ncontext_window = 200000", 16_000, 59),
        ("[llm]\ncontext_window = 32768\n[llms.small]\ncontext_window = 8192", 5461, 20),
        ('[llms.small]\ncontext_window = 8192\n[research.agent_models]\nReader = "small"', 1365, 5),
        ("[llm]\ncontext_window = 32768\n[research]\ntokens_per_call = 500", 500, 1),
        ("[research]\nreader_passages = 3", 2730, 3),
    ],
)
def test_a_call_reads_a_share_of_the_context_window(tmp_path: Path, toml: str, tokens: int, passages: int) -> None:
    (tmp_path / "candor.toml").write_text(toml)
    research = load_settings(tmp_path).research
    assert (research.tokens_per_call, research.reader_passages) == (tokens, passages)
