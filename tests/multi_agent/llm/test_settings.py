"""Settings of an endpoint: defaults, validation and import time."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pydantic import ValidationError

from multi_agent.llm.endpoints.transport import endpoint_unreachable, wrong_protocol
from multi_agent.llm.settings import EndpointSettings
from vectorstore.settings import without_password


def test_the_default_is_ollama_on_localhost() -> None:
    assert EndpointSettings().base_url == "http://127.0.0.1:11434"
    assert EndpointSettings(provider="openai").base_url == "https://api.openai.com/v1"


def test_messages_name_the_file_of_a_local_model_and_the_address_of_others() -> None:
    assert EndpointSettings(provider="local", model="a.gguf").name == "local model 'a.gguf'"
    assert EndpointSettings(model="qwen3:8b").name == "model 'qwen3:8b' at http://127.0.0.1:11434"


@pytest.mark.parametrize(
    "wrong",
    [{"provider": "oracle"}, {"base_url": "localhost:11434"}, {"parallel": 0}, {"colour": "blue"}, {"model": ""}],
    ids=str,
)
def test_an_invalid_value_is_rejected_by_name(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        EndpointSettings.model_validate(wrong)


def test_no_temperature_means_no_sampling_temperature() -> None:
    assert EndpointSettings().sampling_temperature == 0.7
    assert EndpointSettings(temperature=None).sampling_temperature is None
    assert EndpointSettings(temperature=None, sampling_temperature=1.0).sampling_temperature == 1.0


def test_a_key_is_never_printed() -> None:
    assert "sesame" not in repr(EndpointSettings.model_validate({"api_key": "sesame"}))


def test_messages_name_variable_and_key_of_a_setting() -> None:
    default, small = EndpointSettings(), EndpointSettings().in_table("llms.small")
    assert default.setting("base_url") == (
        "CANDOR_LLM__BASE_URL (or `candor models use llm`, or `base_url` under [llm] in candor.toml)"
    )
    assert default.setting("temperature") == "CANDOR_LLM__TEMPERATURE (or `temperature` under [llm] in candor.toml)"
    assert small.setting("model") == "CANDOR_LLMS__SMALL__MODEL (or `model` under [llms.small] in candor.toml)"
    with pytest.raises(KeyError):
        default.setting("colour")


def test_imports_do_not_load_slow_clients() -> None:
    """Most commands call no model."""
    modules = "multi_agent.llm.models, multi_agent.llm.probe, multi_agent.llm.wrappers.replay"
    slow = "{'openai', 'instructor', 'ollama', 'httpx'}"
    code = f"import sys, {modules}; sys.exit(str({slow} & sys.modules.keys()) if {slow} & sys.modules.keys() else 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_message_contains_a_password_of_the_address() -> None:
    settings = EndpointSettings(provider="openai", base_url="http://ann:hunter2@127.0.0.1:9/v1", model="m")
    assert settings.base_url == "http://ann:hunter2@127.0.0.1:9/v1", "requests need it"
    assert settings.address == "http://***@127.0.0.1:9/v1"
    assert settings.name == "model 'm' at http://***@127.0.0.1:9/v1"
    assert "hunter2" not in f"{endpoint_unreachable(settings)} {wrong_protocol(settings, 'x')}"
    for wrong in ("htp://ann:hunter2@host", "ann:hunter2@host/v1"):
        with pytest.raises(ValidationError) as raised:
            EndpointSettings(base_url=wrong)
        assert "hunter2" not in raised.value.errors()[0]["msg"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://ann:pw@host:80/v1", "http://***@host:80/v1"),
        ("ann:pw@host", "***@host"),
        ("error for 'https://ann:p#w?@host/a' and http://other", "error for 'https://***@host/a' and http://other"),
        ("http://host/ann@mail", "http://host/ann@mail"),
        ("Ask ann@host: now", "Ask ann@host: now"),
    ],
)
def test_passwords_in_addresses_are_masked(text: str, shown: str) -> None:
    assert without_password(text) == shown
