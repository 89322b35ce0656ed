"""All settings in one tree. This is the only module that reads the environment.

Later sources override earlier ones: defaults, the models that people have chosen (``models.json`` in the data folder,
see ``Settings.with_models``), ``candor.toml`` in the data folder, the file of ``--config``,
``CANDOR_…`` variables (``CANDOR_LLM__MODEL`` is ``model`` under ``[llm]``), the command line. Unknown keys are errors.

A ``candor.toml`` in the working folder is not read, because the folder may belong to somebody else, and settings
determine the endpoint that gets the API key and the programs that start as MCP servers.
"""

import os
import tomllib
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, TypeVar
from urllib.parse import quote, urlsplit

import platformdirs
from pydantic import (
    BaseModel,
    Field,
    IPvAnyNetwork,
    PrivateAttr,
    SecretStr,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict
from pydantic_settings.exceptions import SettingsError as SourceError

from api.errors import SettingsError, fault_list
from base.models import FrozenModel
from ingest.settings import IngestSettings
from multi_agent.llm.settings import EndpointSettings
from multi_agent.settings.research import ResearchSettings
from multi_agent.settings.tools import ToolSettings
from vectorstore.settings import (
    EmbeddingSettings,
    HttpUrl,
    ModelSettings,
    RerankSettings,
    SettingsGroup,
    VectorStoreSettings,
    without_password,
)

PREFIX = "CANDOR_"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
FILE = "candor.toml"
MODELS_FILE = "models.json"
ModelTable = Literal["llm", "embedding", "rerank"]
MODEL_TABLES: dict[ModelTable, tuple[str, ...]] = {
    "llm": ("llm",),
    "embedding": ("store", "embedding"),
    "rerank": ("research", "rerank"),
}
"""The settings tables of the models that people can choose."""
_ADDRESS = {"provider", "base_url", "api_key"}  # set by one source, so that a key goes only to the address it is for
_Table = TypeVar("_Table", EndpointSettings, EmbeddingSettings, RerankSettings)
AnyModel = TypeVar("AnyModel", bound=ModelSettings)
EndpointName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


class OidcSettings(SettingsGroup):
    """Sign-in by an OpenID Connect provider, such as Keycloak, Entra or Google. Off without `issuer`."""

    issuer: str = Field(default="", description="Address of the provider, as its discovery document names it.")
    client_id: str = Field(default="", description="Id of Candor at the provider.")
    secret: EndpointName | None = Field(default=None, description="Name of the client secret under [keys].")
    groups_claim: str = Field(
        default="", description="Claim with the names of the user's groups. They replace the groups at every sign-in."
    )
    create_users: bool = Field(
        default=False, description="Add everybody whom the provider signs in. Otherwise, an owner adds users, and "
        "their verified e-mail address finds them."
    )  # fmt: skip

    @field_validator("issuer")
    @classmethod
    def _is_safe(cls, value: str) -> str:
        url = urlsplit(value)
        if value and url.scheme != "https" and not (url.scheme == "http" and url.hostname in LOOPBACK):
            raise ValueError("the issuer must be an https:// address")
        return value


class ServiceSettings(SettingsGroup):
    """The address of the service, and its limits."""

    renamed: ClassVar[dict[str, str]] = {"runs": "concurrent_runs", "ingests": "concurrent_ingests"}
    constants: ClassVar[tuple[str, ...]] = ("evaluation_questions", "header_timeout_s", "stall_timeout_s")
    header_timeout_s: ClassVar[float] = 20
    """Seconds in which a client must send the head of a request."""
    evaluation_questions: ClassVar[int] = 1000
    """Maximum number of questions of one evaluation over REST."""
    stall_timeout_s: ClassVar[float] = 60
    """Seconds without data of a request body after which the request is aborted."""

    host: str = Field(
        default="127.0.0.1", description="Address to listen on. Other addresses than localhost need an API key."
    )
    port: int = Field(default=8484, ge=0, le=65535, description="Port to listen on. 0 chooses a free port.")
    concurrent_runs: int = Field(
        default=8, ge=1, description="Maximum number of concurrent runs. Other runs wait in a fair queue."
    )
    research_process: bool = Field(default=True, description="Run research in a separate process, so that searches "
                                   "stay fast during many runs.")  # fmt: skip
    concurrent_ingests: int = Field(
        default=2, ge=1, description="Maximum number of concurrent ingest jobs: one for each collection, and at most "
        "half of them, but at least one, for each key."
    )  # fmt: skip
    request_bytes: int = Field(default=4 * 2**20, gt=0, description="Maximum size of a request body, except uploads.")
    upload_bytes: int = Field(default=2 * 2**30, gt=0, description="Maximum total size of one upload.")
    upload_files: int = Field(default=2000, gt=0, description="Maximum number of files in one upload.")
    ingest_roots: tuple[Path, ...] = Field(default=(), description="Folders on this machine that the service may "
                                           "ingest from. Empty: only uploads.")  # fmt: skip
    uploads_folder: Path | None = Field(
        default=None, description="Folder of uploaded files. If several machines share the jobs, a folder that all of "
        "them can write to, at the same path, such as NFS; without one, each service ingests its own uploads. "
        "Default: `uploads` in the data folder."
    )  # fmt: skip
    takeover_s: float = Field(
        default=15, ge=1, description="Seconds without a heartbeat after which other processes take over the jobs "
        "of a process. Applies with a Postgres database and a Qdrant server."
    )  # fmt: skip
    database_connections: int = Field(
        default=8, ge=8, description="Maximum number of connections of each process to Postgres. Postgres allows 100 "
        "(`max_connections`) by default; a service is two processes."
    )  # fmt: skip
    require_key: bool = Field(
        default=False, description="Require a key for local requests, too. Remote requests always need one."
    )
    connections: int = Field(
        default=1000,
        ge=1,
        description="Maximum number of open connections. The system's limit on open files may lower it.",
    )
    connections_per_address: int = Field(
        default=200, ge=1, description="Maximum number of open connections from one address. Raise it behind a proxy."
    )
    questions_per_minute: int = Field(
        default=10,
        ge=1,
        description="Maximum number of questions a minute from an address with a key that can only ask.",
    )
    audit_days: int = Field(default=365, ge=0, le=36_500, description="Days to keep audit entries. 0 keeps all.")
    bin_days: int = Field(
        default=30, ge=0, le=36_500, description="Days to keep what was deleted in the bin. 0 removes it at once."
    )
    hosts: tuple[str, ...] = Field(
        default=(), description="Host names of the service, for example candor.example.com, optionally with a port."
    )
    root_path: str = Field(
        default="", description="Path of the service at a proxy, such as `/candor`. The proxy may remove it or not."
    )
    public_url: HttpUrl | None = Field(
        default=None, description="Address of the service for its users, such as `https://candor.example.com/candor`, "
        "for invitations and for OIDC. Default: the address of the request."
    )  # fmt: skip
    user_header: str = Field(
        default="", description="Header in which a proxy sends the name of the user whom it has signed in. Every "
        "request then needs a key, a session or this header."
    )  # fmt: skip
    proxies: tuple[IPvAnyNetwork, ...] = Field(
        default=(), description="Addresses or networks of the proxies whose `user_header` counts. They must remove the "
        "header from requests of others."
    )  # fmt: skip
    oidc: OidcSettings = OidcSettings()
    certfile: Path | None = Field(default=None, description="TLS certificate with its chain, as PEM.")
    keyfile: Path | None = Field(default=None, description="Private key of the certificate, as PEM.")

    @field_validator("root_path")
    @classmethod
    def _is_path(cls, value: str) -> str:
        if quote(value, safe="/") != value:
            raise ValueError("root_path must be the path of a URL, such as /candor")
        path = value.strip("/")
        return f"/{path}" if path else ""

    @field_validator("uploads_folder")
    @classmethod
    def _keep_uploads_apart(cls, value: Path | None, found: ValidationInfo) -> Path | None:
        """Reject a folder that overlaps an ingest root, whose users could read the uploads of other collections."""
        if value is None:
            return None
        folder = value.expanduser().absolute()
        for root in found.data.get("ingest_roots", ()):
            real, uploads = root.expanduser().resolve(), folder.resolve()
            if real.is_relative_to(uploads) or uploads.is_relative_to(real):
                raise ValueError(f"the folder overlaps {str(root)!r} of service.ingest_roots; choose a folder apart")
        return folder

    @property
    def database_pools(self) -> tuple[int, int]:
        """The sizes of the pools of Candor's tables and of the queue.

        Three connections are not pooled: two of locks, and one for heartbeats.
        """
        shared = self.database_connections - 3
        return shared - shared // 2, shared // 2

    @property
    def local(self) -> bool:
        """Whether only this machine can reach the service, with no proxy configured."""
        return self.host in LOOPBACK and not self.hosts

    @property
    def needs_key(self) -> bool:
        """Whether every request needs a key."""
        return self.require_key or not self.local or bool(self.user_header)

    def address(self, base: str) -> str:
        """Return the address of the service for its users, without a final slash. ``base`` is the one that is known."""
        return self.public_url or base.rstrip("/") + self.root_path


class OpenTelemetry(NamedTuple):
    """The ``OTEL_…`` variables of the OpenTelemetry specification. They are the same for all programs of a machine."""

    variables: dict[str, str]

    @classmethod
    def read(cls) -> Self:
        """Return the variables of the environment."""
        return cls({name: value for name, value in os.environ.items() if name.startswith("OTEL_")})

    @property
    def enabled(self) -> bool:
        """Whether runs are exported: a variable names a collector, and none turns the export off."""
        off = self._is("OTEL_SDK_DISABLED", "true") or self._is("OTEL_TRACES_EXPORTER", "none")
        return not off and any(self.variables.get(f"OTEL_EXPORTER_OTLP_{name}ENDPOINT") for name in ("", "TRACES_"))

    @property
    def content(self) -> bool:
        """Whether questions, prompts, responses and results of tools are exported, too."""
        return self._is("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")

    @property
    def protocol(self) -> str:
        """The protocol that the variables name. Empty for the default."""
        names = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
        return next(filter(None, map(self.variables.get, names)), "")

    def _is(self, name: str, value: str) -> bool:
        return self.variables.get(name, "").strip().lower() == value


class ModelChoice(FrozenModel):
    """A model that somebody has chosen. Fields that are not set keep the values of the settings."""

    provider: Literal["ollama", "openai", "local", "none", "endpoint", "llm"] | None = Field(
        default=None, description="as in the settings of the model"
    )
    base_url: HttpUrl | None = Field(default=None, description="address of the endpoint")
    api_key: SecretStr | None = Field(
        default=None, description="API key of the endpoint. Without one, the stored key of the same address stays; "
        "an empty one deletes it."
    )  # fmt: skip
    model: str | None = Field(default=None, min_length=1, max_length=500)
    context_window: int | None = Field(default=None, ge=512, description="tokens; only of the language model")

    @field_validator("base_url")
    @classmethod
    def _has_no_password(cls, value: str | None) -> str | None:
        if value and without_password(value) != value:
            raise ValueError("an address without a user name or password; give the key apart")
        return value

    @property
    def given(self) -> dict[str, Any]:
        """The fields that are set."""
        return {name: value for name, value in self if value}


class ChosenModels(FrozenModel):
    """The models that people have chosen in the page or with `candor models`, one for each of ``MODEL_TABLES``."""

    llm: ModelChoice = ModelChoice()
    embedding: ModelChoice = ModelChoice()
    rerank: ModelChoice = ModelChoice()


class Settings(BaseSettings):
    """The root of the settings."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True)

    home: Path = Field(description="Data folder.")
    config: Path | None = Field(
        default=None, description="Additional settings file, also set by `candor --config FILE COMMAND`."
    )
    database_url: SecretStr | None = Field(
        default=None, description="URL of a Postgres database. Default: SQLite in the data folder."
    )
    llm: EndpointSettings = EndpointSettings()
    llms: dict[EndpointName, EndpointSettings] = Field(
        default={}, description="Named model endpoints, for agents and questions that name one."
    )
    research: ResearchSettings = Field(default=ResearchSettings(), validate_default=True)
    ingest: IngestSettings = IngestSettings()
    store: VectorStoreSettings = VectorStoreSettings()
    service: ServiceSettings = ServiceSettings()
    keys: dict[EndpointName, SecretStr] = Field(
        default={}, description="Keys for tools, by name. `env:NAME` reads the key from an environment variable."
    )
    tools: ToolSettings = Field(default=ToolSettings(), validate_default=True)
    _opentelemetry: OpenTelemetry = PrivateAttr(default_factory=OpenTelemetry.read)
    _own: tuple[EndpointSettings, ResearchSettings, VectorStoreSettings] | None = PrivateAttr(default=None)
    _chosen: ChosenModels = PrivateAttr(default_factory=ChosenModels)

    @property
    def opentelemetry(self) -> OpenTelemetry:
        """The variables of OpenTelemetry when the settings were read. The research process gets them with these."""
        return self._opentelemetry

    @property
    def models(self) -> dict[ModelTable, EndpointSettings | EmbeddingSettings | RerankSettings]:
        """The settings of the models that people can choose."""
        return {"llm": self.llm, "embedding": self.store.embedding, "rerank": self.research.rerank}

    @property
    def own_models(self) -> dict[ModelTable, EndpointSettings | EmbeddingSettings | RerankSettings]:
        """The same without what people have chosen."""
        llm, research, store = self._own or (self.llm, self.research, self.store)
        return {"llm": llm, "embedding": store.embedding, "rerank": research.rerank}

    def with_models(self, chosen: ChosenModels) -> Self:
        """Return these settings with the chosen models, where no other source sets them. Raises ValidationError.

        Returns the same object if they have these models already.
        """
        if chosen == self._chosen:
            return self
        own = llm, research, store = self._own or (self.llm, self.research, self.store)
        llm = _choose(llm, chosen.llm)
        research = research.model_copy(update={"rerank": _choose(research.rerank, chosen.rerank)})
        research = _for_windows(research, llm, self.llms)
        store = store.model_copy(update={"embedding": _choose(store.embedding, chosen.embedding)})
        changed = self.model_copy(update={"llm": llm, "research": research, "store": store})
        changed._own, changed._chosen = own, chosen
        return changed

    @property
    def uploads_folder(self) -> Path:
        """The folder of uploaded files."""
        return self.service.uploads_folder or self.home / "uploads"

    @property
    def shares_jobs(self) -> bool:
        """Whether any process with the same database and Qdrant server may run the jobs of this one."""
        return self.database_url is not None and self.store.url is not None

    @field_validator("llms")
    @classmethod
    def _set_tables(cls, value: dict[str, EndpointSettings]) -> dict[str, EndpointSettings]:
        """Pass each endpoint the name of its table, so that its errors name the right settings."""
        return {name: settings.in_table(f"llms.{name}") for name, settings in value.items()}

    @field_validator("research")
    @classmethod
    def _set_amounts_read(cls, value: ResearchSettings, found: ValidationInfo) -> ResearchSettings:
        """Derive the amounts that a call reads from the smallest context window of the panel's models."""
        value = value.model_copy(update={"rerank": _with_variables(value.rerank)})
        if not {"llm", "llms"} <= found.data.keys():  # missing if invalid
            return value
        return _for_windows(value, found.data["llm"], found.data["llms"])

    @field_validator("store")
    @classmethod
    def _read_embedding_key(cls, value: VectorStoreSettings) -> VectorStoreSettings:
        return value.model_copy(update={"embedding": _with_variables(value.embedding)})

    @field_validator("keys")
    @classmethod
    def _read_variables(cls, value: dict[str, SecretStr]) -> dict[str, SecretStr]:
        """Replace `env:NAME` by the value of the variable."""
        return {name: _from_variable(key) for name, key in value.items()}

    @field_validator("tools")
    @classmethod
    def _give_keys(cls, value: ToolSettings, found: ValidationInfo) -> ToolSettings:
        """Pass each tool the key that its settings name."""
        return value.with_keys(found.data["keys"]) if "keys" in found.data else value

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource, dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:  # fmt: skip
        given = init_settings()
        files = [given["config"]] if given.get("config") else []
        files.append(given["home"] / FILE)
        return (init_settings, env_settings, *(InitSettingsSource(settings_cls, _read_file(file)) for file in files))


def load_settings(home: Path | None = None, **overrides: Any) -> Settings:
    """Return the current settings. ``home`` is the value of ``--home``.

    ``CANDOR_CONFIG`` (``--config``) names an additional settings file. Raises SettingsError, which names every unknown
    key and invalid value. Warns (FutureWarning) about renamed keys and about a settings file in the working folder.
    """
    _reject_unknown_variables()
    folder = find_home(home)
    config = _config_file(folder)
    try:
        settings = Settings(home=folder, config=config, **overrides)
        if config:
            _reject_paired_key(settings, config)
        return settings.with_models(read_models(folder))
    except ValidationError as error:
        # If a setting is invalid, a default computed from it is not reported as a second fault.
        own = [each for each in error.errors() if each["type"] != "default_factory_not_called"]
        faults = "; ".join(f"{_setting_name(each['loc'])}: {_explain(each)}" for each in own)
        raise SettingsError(f"{faults}. Settings come from {FILE} and {PREFIX}… variables.") from error
    except SourceError as error:  # invalid JSON in a variable
        raise SettingsError(f"Cannot read the settings in a {PREFIX}… variable: {error}.") from error


def find_home(home: Path | None = None) -> Path:
    """Return the data folder: ``home``, otherwise ``CANDOR_HOME``, otherwise the user's data folder."""
    folder = home or Path(os.environ.get(f"{PREFIX}HOME") or default_home())
    return folder.expanduser().absolute()


def default_home() -> Path:
    """Return the user's data folder."""
    return platformdirs.user_data_path("candor")


def read_models(home: Path) -> ChosenModels:
    """Return the models that people have chosen. Raises SettingsError."""
    file = home / MODELS_FILE
    try:
        return ChosenModels.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        return ChosenModels()
    except (OSError, ValidationError) as error:
        reason = fault_list(error) if isinstance(error, ValidationError) else error
        raise SettingsError(f"Cannot read the chosen models in {file}: {reason}. Delete the file.") from None


def fixed_fields(own: EndpointSettings | ModelSettings) -> set[str]:
    """Return the fields of a model that a file, a variable or a program sets, so that people cannot choose them."""
    fixed = {name for name in own.model_fields_set & ModelChoice.model_fields.keys() if getattr(own, name) is not None}
    return fixed | (_ADDRESS if fixed & _ADDRESS else set())


def find_source(settings: Settings, *path: str) -> str:
    """Return the variable or the file that sets the setting, such as ``"llm", "model"``. Empty if none does."""
    variables = {name.upper() for name in os.environ}
    names = (f"{PREFIX}{'__'.join(path[:end])}".upper() for end in range(len(path), 0, -1))
    if found := next((name for name in names if name in variables), ""):
        return found
    for file in filter(None, (settings.config, settings.home / FILE)):
        value: Any = _read_file(file)
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None:
            return str(file)
    return ""


def _read_file(file: Path) -> dict[str, Any]:
    """Return the values of a settings file, or none if it does not exist."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))  # Windows programs write a byte order mark
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        raise SettingsError(f"{file} is not in UTF-8. Save it in this encoding.") from None
    except OSError as error:
        raise SettingsError(f"Cannot read {file}: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{file} is not valid TOML: {error}.") from None


def _choose(own: _Table, chosen: ModelChoice) -> _Table:
    """Return the settings of a model with the choice. What another source sets stays."""
    free = type(own).model_fields.keys() - fixed_fields(own)
    wanted = {name: value for name, value in chosen.given.items() if name in free}
    return type(own).model_validate({**own.model_dump(include=own.model_fields_set), **wanted}) if wanted else own


def _for_windows(
    research: ResearchSettings, llm: EndpointSettings, llms: Mapping[str, EndpointSettings]
) -> ResearchSettings:
    """Derive the unset limits from the smallest context window of the panel's models, and from that of the planner."""
    named = (llms.get(name) for name in research.agent_models.values())
    planner = llms.get(research.agent_models.get("Planner", ""), llm)
    smallest = min(each.context_window for each in (llm, *named) if each)
    return research.for_window(smallest, planner.context_window - planner.max_output_tokens)


def use_config(file: Path) -> None:
    """Make this process and its children read an additional settings file, as with ``CANDOR_CONFIG``."""
    os.environ[f"{PREFIX}CONFIG"] = str(file)


def _config_file(home: Path) -> Path | None:
    """Return the file of ``--config``. Raises SettingsError if it does not exist. Warns about an unread file."""
    if named := os.environ.get(f"{PREFIX}CONFIG"):
        file = Path(named).expanduser().absolute()
        if not file.is_file():
            raise SettingsError(f"There is no settings file {named!r} (`--config` or {PREFIX}CONFIG).")
        return file
    if Path(FILE).is_file() and Path.cwd() != home:
        warnings.warn(
            f"{FILE} in the working folder is not read. To use it, write `candor --config {FILE} …`.",
            FutureWarning, stacklevel=2,
        )  # fmt: skip
    return None


def _reject_paired_key(settings: Settings, config: Path) -> None:
    """Raise SettingsError if a key from another source would be sent to an address from the file."""
    written = _read_file(config)
    tables: list[tuple[str, dict[str, Any], EndpointSettings | ModelSettings]]
    tables = [("llm", written.get("llm", {}), settings.llm)]
    tables += [(f"llms.{name}", table, settings.llms[name]) for name, table in written.get("llms", {}).items()]
    tables.append(("store.embedding", written.get("store", {}).get("embedding", {}), settings.store.embedding))
    tables.append(("research.rerank", written.get("research", {}).get("rerank", {}), settings.research.rerank))
    for name, table, endpoint in tables:
        if (
            endpoint.api_key
            and "api_key" not in table
            and str(table.get("base_url", "")).rstrip("/") == (endpoint.base_url or "-").rstrip("/")
        ):
            raise SettingsError(
                f"The `base_url` under [{name}] is set in {config}, but its API key is set elsewhere. Candor "
                "sends a key only to an address from the same source. Set both in one file, or both in variables."
            )


def _with_variables(settings: AnyModel) -> AnyModel:
    """Replace `env:NAME` in the key and in the arguments of a model by the value of the variable."""
    arguments = {
        name: _from_variable(SecretStr(each)) if isinstance(each, str) and _is_secret(name, each) else each
        for name, each in settings.arguments.items()
    }
    key = settings.api_key and _from_variable(settings.api_key)
    return settings.model_copy(update={"api_key": key, "arguments": arguments})


def _is_secret(argument: str, value: str) -> bool:
    """Return whether an argument of a class must not be shown."""
    return value.startswith("env:") or any(part in argument for part in ("key", "token", "secret", "password"))


def _from_variable(key: SecretStr) -> SecretStr:
    prefix, _, variable = key.get_secret_value().partition(":")
    if prefix != "env":
        return key
    if not os.environ.get(variable):
        raise ValueError(f"the variable {variable!r}, which should contain a key, is not set")
    return SecretStr(os.environ[variable])


def _reject_unknown_variables() -> None:
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    unknown = sorted(
        name for name in os.environ if name.startswith(PREFIX) and name.upper().split("__")[0] not in known
    )
    if unknown:
        meant = {
            f"{each}__{unknown[0].upper()[len(each) + 1 :]}" for each in known if unknown[0].startswith(f"{each}_")
        }
        hint = f" Did you mean {min(meant)}? Two underscores lead from a table to its key." if meant else ""
        raise SettingsError(
            f"Unknown variables {', '.join(unknown)}.{hint} Known: {', '.join(sorted(known))} (and …__…)."
        )


def _setting_name(location: tuple[int | str, ...]) -> str:
    path = ".".join(str(part) for part in location)
    return f"{path} ({PREFIX}{'__'.join(str(part) for part in location).upper()})"


def _explain(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        return "unknown setting"
    if error["loc"][0] == "keys" or isinstance(error["input"], BaseModel | dict):  # the input may contain a key
        return str(error["msg"])
    return f"{error['msg']}, not {without_password(repr(error['input']))}"
