"""Settings of one endpoint. Plain values: where they come from (environment, file) is the business of ``api``."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, PrivateAttr, SecretStr, field_validator

from vectorstore.settings import SettingsGroup

Provider = Literal["ollama", "openai"]
DEFAULT_URLS: dict[str, str] = {"ollama": "http://127.0.0.1:11434", "openai": "https://api.openai.com/v1"}
SAMPLING_TEMPERATURE = 0.7


def _default_url(given: dict[str, Any]) -> str:
    return DEFAULT_URLS[given["provider"]]


def _default_sampling(given: dict[str, Any]) -> float | None:
    """An endpoint that demands to be left its temperature is left this one, too."""
    return None if given["temperature"] is None else SAMPLING_TEMPERATURE


class EndpointSettings(SettingsGroup):
    """Where a model answers, and how it is asked."""

    renamed: ClassVar[dict[str, str]] = {"reasks": "response_retries"}

    provider: Provider = Field(default="ollama", description="`ollama`, or `openai` for anything that speaks its API")
    base_url: str = Field(
        default_factory=_default_url, description="address; for `openai` the part before `/chat/completions`"
    )
    api_key: SecretStr | None = Field(default=None, description="sent as bearer token")
    model: str = Field(default="qwen3:8b", min_length=1, description="name of the model, as the endpoint calls it")
    context_window: int = Field(
        default=16_384, ge=512, description="tokens that prompt and response may take together; Ollama is told it "
        "(num_ctx) on every request, so that it cuts nothing off in silence")  # fmt: skip
    max_output_tokens: int = Field(default=4_096, ge=1, description="tokens a response may have, thinking included")
    temperature: float | None = Field(
        default=0.0, ge=0, le=2, description="None leaves it to the endpoint, as some reasoning models demand"
    )
    sampling_temperature: float | None = Field(
        default_factory=_default_sampling, ge=0, le=2, description="where several answers to one question are wanted, "
        "to see whether they agree; None leaves it to the endpoint")  # fmt: skip
    stream: bool = Field(
        default=True, description="whether a response that holds the answer is streamed, for its claims to be seen as "
        "they are written; false for an endpoint that cannot, or does not tell the tokens of a stream")  # fmt: skip
    timeout_s: float = Field(default=180, gt=0, description="seconds that one request may take")
    connect_timeout_s: float = Field(default=3, gt=0, description="seconds that connecting may take")
    response_retries: int = Field(default=2, ge=0, description="retries after a response that breaks the schema")
    retries: int = Field(default=3, ge=0, description="retries after a time-out, a broken connection, 429 or 5xx")
    parallel: int = Field(default=4, ge=1, description="requests under way at once")
    prompt_price: float = Field(default=0.0, ge=0, description="price of a million prompt tokens")
    completion_price: float = Field(default=0.0, ge=0, description="price of a million completion tokens")
    _place: str = PrivateAttr(default="llm")

    @field_validator("base_url")
    @classmethod
    def _is_http(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{value!r} is not an address such as http://127.0.0.1:11434")
        return value.rstrip("/")

    @property
    def name(self) -> str:
        """Model and address, as messages name them."""
        return f"model {self.model!r} at {self.base_url}"

    @property
    def place(self) -> str:
        """The table of the settings that it stands in: `llm`, or `llms.NAME`."""
        return self._place

    def at(self, place: str) -> Self:
        """The same settings, as they stand in that table."""
        moved = self.model_copy()
        moved._place = place
        return moved

    def setting(self, field: str) -> str:
        """How a message tells the user which setting to change."""
        if field not in type(self).model_fields:
            raise KeyError(field)
        variable = "__".join([*self.place.split("."), field]).upper()
        return f"CANDOR_{variable} (or `{field}` under [{self.place}] in candor.toml)"
