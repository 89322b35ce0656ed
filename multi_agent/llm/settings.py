"""Settings of one model endpoint. ``api`` reads them from the environment and from candor.toml."""

from typing import Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, PrivateAttr, SecretStr, field_validator, model_validator

from vectorstore.settings import DEFAULT_URLS, SettingsGroup, check_http_url, without_password

Provider = Literal["ollama", "openai", "local"]
Engine = Literal["auto", "openvino", "llama_cpp"]
Vision = Literal["auto", "on", "off"]
ResponseForm = Literal["json_schema", "guided_json", "tools", "json_object", "none"]
SAMPLING_TEMPERATURE = 0.7


def _default_url(given: dict[str, Any]) -> str:
    return DEFAULT_URLS[given["provider"]]


def _default_output(given: dict[str, Any]) -> int:
    """Return a quarter of the context window, at most 4,096 tokens, to leave room for prompts."""
    return min(4_096, int(given["context_window"]) // 4)


def _default_parallel(given: dict[str, Any]) -> int:
    """Return 1 for a local model, so that processes that load the same file compute in turn."""
    return 1 if given["provider"] == "local" else 4


def _default_sampling(given: dict[str, Any]) -> float | None:
    """Return None if the endpoint chooses the temperature itself."""
    return None if given["temperature"] is None else SAMPLING_TEMPERATURE


class EndpointSettings(SettingsGroup):
    """The address of a model and options for its requests."""

    renamed: ClassVar[dict[str, str]] = {"reasks": "response_retries"}
    constants: ClassVar[tuple[str, ...]] = ("connect_timeout_s",)
    connect_timeout_s: ClassVar[float] = 10
    """Maximum seconds to connect. A busy machine can take seconds even to itself."""

    provider: Provider = Field(
        default="ollama",
        description="`ollama`, `openai` for any server with OpenAI's API, or `local` for a file that Candor loads",
    )
    base_url: str = Field(
        default_factory=_default_url,
        description="address of the server; for `openai`, the part before `/chat/completions`; unused for `local`",
    )
    api_key: SecretStr | None = Field(default=None, description="API key, sent as bearer token")
    model: str = Field(
        default="qwen3:8b", min_length=1, description="name of the model; for `local` the path of a GGUF file"
    )
    engine: Engine = Field(default="auto", description="library that loads a `local` model; `auto` chooses an "
                           "installed one that supports the file")  # fmt: skip
    threads: int | None = Field(
        default=None, ge=1, description="threads of a `local` model; the engine chooses by default"
    )
    context_window: int = Field(
        default=16_384, ge=512, description="maximum tokens of prompt and response together; sent to Ollama "
        "(num_ctx) with every request, because Ollama silently truncates longer prompts")  # fmt: skip
    max_output_tokens: int = Field(
        default_factory=_default_output,
        ge=1,
        description="maximum tokens of a response, including thinking; by default a quarter of `context_window`, at "
        "most 4,096")  # fmt: skip
    think: bool | Literal["low", "medium", "high"] | None = Field(
        default=None, description="whether, or how much, the model thinks before it answers: `false`, `true`, `low`, "
        "`medium` or `high`; without it, the endpoint decides. Sent to Ollama as `think`, to `openai` as "
        "`reasoning_effort`")  # fmt: skip
    extra_body: dict[str, Any] = Field(
        default={}, description="more fields for each request to an `openai` endpoint, such as "
        "`chat_template_kwargs = {enable_thinking = false}` for vLLM and llama.cpp")  # fmt: skip
    temperature: float | None = Field(
        default=0.0, ge=0, le=2, description="temperature; None uses the endpoint's, as some reasoning models require"
    )
    sampling_temperature: float | None = Field(
        default_factory=_default_sampling, ge=0, le=2, description="temperature if several answers to a question are "
        "compared; by default 0.7, or the endpoint's own if `temperature` is None")  # fmt: skip
    stream: bool = Field(
        default=True, description="stream responses, so that claims appear while they are written and responses that "
        "hang or repeat themselves are stopped; false for endpoints that cannot stream token counts")  # fmt: skip
    response_format: Literal["auto"] | ResponseForm = Field(
        default="auto", description="form in which an `openai` endpoint gets the schema of a response; `auto` uses the "
        "first form that the endpoint accepts, and caches it")  # fmt: skip
    vision: Vision = Field(
        default="auto", description="send pictures of pages to the model; `auto` shows the model a picture of a number "
        "once, and caches whether it names it; `on` is an error if the endpoint rejects pictures")  # fmt: skip
    timeout_s: float = Field(
        default=300, gt=0, description="maximum seconds without new text; without streaming, for the whole response"
    )
    total_timeout_s: float = Field(default=1800, gt=0, description="maximum seconds of one request")
    response_retries: int = Field(default=2, ge=0, description="retries after a response that violates the schema")
    retries: int = Field(default=3, ge=0, description="retries after a timeout, a broken connection, 429 or 5xx")
    parallel: int = Field(
        default_factory=_default_parallel,
        ge=1,
        description="maximum concurrent requests; by default 4, and 1 for `local`",
    )
    prompt_price: float = Field(default=0.0, ge=0, description="price per million prompt tokens")
    completion_price: float = Field(default=0.0, ge=0, description="price per million completion tokens")
    _table: str = PrivateAttr(default="llm")

    @field_validator("api_key")
    @classmethod
    def _without_line_break(cls, value: SecretStr | None) -> SecretStr | None:
        """Remove the white space around a key, such as the line break of a file."""
        return value and SecretStr(value.get_secret_value().strip())

    @field_validator("base_url")
    @classmethod
    def _is_http(cls, value: str) -> str:
        return check_http_url(value)

    @model_validator(mode="after")
    def _may_see(self) -> Self:
        if self.provider == "local" and self.vision == "on":
            raise ValueError("vision must be 'auto' or 'off', because a `local` model does not support pictures")
        return self

    @property
    def effort(self) -> str | None:
        """The value of ``reasoning_effort`` for ``think``. Plain true has none."""
        return "none" if self.think is False else self.think if isinstance(self.think, str) else None

    @property
    def name(self) -> str:
        """Model and address, for messages."""
        if self.provider == "local":
            return f"local model {self.model!r}"
        return f"model {self.model!r} at {self.address}"

    @property
    def address(self) -> str:
        """The address without user name and password, for messages and records."""
        return without_password(self.base_url)

    @property
    def identity(self) -> str:
        """Provider, address and model, which processes that share the endpoint have in common. Without secrets."""
        url = urlsplit(self.base_url)
        return "\n".join((self.provider, url.scheme, url.netloc.rpartition("@")[2], url.path, self.model))

    @property
    def table(self) -> str:
        """Name of the table in candor.toml: `llm` or `llms.NAME`."""
        return self._table

    def in_table(self, table: str) -> Self:
        """Return a copy of these settings that belongs to another table."""
        copy = self.model_copy()
        copy._table = table
        return copy

    def setting(self, field: str) -> str:
        """Return the environment variable of a field, its command if it has one, and its key in candor.toml."""
        if field not in type(self).model_fields:
            raise KeyError(field)
        variable = "__".join([*self.table.split("."), field]).upper()
        has_command = self.table == "llm" and field in ("provider", "base_url", "model", "api_key")
        command = "`candor models use llm`, or " if has_command else ""
        return f"CANDOR_{variable} (or {command}`{field}` under [{self.table}] in candor.toml)"
