"""All settings in one tree, and the only place that reads the environment.

From weakest to strongest: defaults, ``candor.toml`` in the home folder, ``candor.toml`` in the working folder,
``CANDOR_…`` variables (``CANDOR_LLM__MODEL`` is ``model`` under ``[llm]``), the command line. Unknown keys are refused.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, ClassVar

import platformdirs
from pydantic import Field, SecretStr, StringConstraints, ValidationError, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource
from pydantic_settings.exceptions import SettingsError as SourceError

from api.errors import SettingsError
from ingest.settings import IngestSettings
from multi_agent.llm.settings import EndpointSettings
from multi_agent.settings import ResearchSettings
from multi_agent.toolbox.settings import ToolSettings
from vectorstore.settings import SettingsGroup, VectorStoreSettings

PREFIX = "CANDOR_"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
FILE = "candor.toml"


EndpointName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


class ServiceSettings(SettingsGroup):
    """Where the service listens, and how much it does at once."""

    renamed: ClassVar[dict[str, str]] = {"runs": "concurrent_runs", "ingests": "concurrent_ingests"}

    host: str = Field(default="127.0.0.1", description="where it listens; elsewhere than here only with keys")
    port: int = Field(default=8484, ge=0, le=65535, description="0 takes any that is free")
    concurrent_runs: int = Field(default=8, ge=1, description="runs at once; further runs wait in a fair queue")
    research_process: bool = Field(default=True, description="research in a process of its own, so that many runs keep "
                                   "nobody waiting who searches or reads")  # fmt: skip
    concurrent_ingests: int = Field(default=1, ge=1, description="ingest jobs at once")
    request_bytes: int = Field(default=8 * 2**20, gt=0, description="of the body of a request that is no upload")
    upload_bytes: int = Field(default=2 * 2**30, gt=0, description="of one upload, all its files together")
    upload_files: int = Field(default=2000, gt=0, description="of one upload")
    ingest_roots: tuple[Path, ...] = Field(default=(), description="folders of this machine whose files may be "
                                           "ingested through the service; none: only what is uploaded")  # fmt: skip
    require_key: bool = Field(default=False, description="also from this machine; elsewhere one is always needed")
    audit_days: int = Field(default=365, ge=0, description="how long the audit keeps an entry; 0 keeps all")
    hosts: tuple[str, ...] = Field(
        default=(), description="names that it answers to, beside its addresses: candor.example.com, or with a port"
    )
    certfile: Path | None = Field(default=None, description="certificate of TLS, and those it rests on, as PEM")
    keyfile: Path | None = Field(default=None, description="private key of the certificate, as PEM")

    @property
    def local(self) -> bool:
        """Whether nobody but this machine is to reach it, not even by way of another program."""
        return self.host in LOOPBACK and not self.hosts

    @property
    def needs_key(self) -> bool:
        """Whether nobody may do anything without a key."""
        return self.require_key or not self.local


class Settings(BaseSettings):
    """Everything that can be set."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True)

    home: Path = Field(description="folder of all data")
    database_url: SecretStr | None = Field(
        default=None, description="of Postgres; none means SQLite in the home folder"
    )
    llm: EndpointSettings = EndpointSettings()
    llms: dict[EndpointName, EndpointSettings] = Field(
        default={}, description="further models by name, for agents and questions that name one"
    )
    research: ResearchSettings = ResearchSettings()
    ingest: IngestSettings = IngestSettings()
    store: VectorStoreSettings = VectorStoreSettings()
    service: ServiceSettings = ServiceSettings()
    tools: ToolSettings = ToolSettings()

    @field_validator("llms")
    @classmethod
    def _know_their_place(cls, value: dict[str, EndpointSettings]) -> dict[str, EndpointSettings]:
        """So that messages name the settings of the endpoint that they are about."""
        return {name: settings.in_table(f"llms.{name}") for name, settings in value.items()}

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource, dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:  # fmt: skip
        home = init_settings()["home"]
        files = (TomlConfigSettingsSource(settings_cls, folder / FILE) for folder in (Path.cwd(), home))
        return (init_settings, env_settings, *files)


def load_settings(home: Path | None = None, **overrides: Any) -> Settings:
    """The settings in force. ``home`` is ``--home``, else ``CANDOR_HOME``, else the user's data folder.

    Raises SettingsError naming every unknown key and wrong value.
    """
    _refuse_unknown_variables()
    folder = home or Path(os.environ.get(f"{PREFIX}HOME") or platformdirs.user_data_path("candor"))
    try:
        return Settings(home=folder.expanduser().absolute(), **overrides)
    except ValidationError as error:
        faults = "; ".join(f"{_place(each['loc'])}: {_explain(each)}" for each in error.errors())
        raise SettingsError(f"{faults}. Settings come from {FILE} and {PREFIX}… variables.") from error
    except (SourceError, ValueError) as error:  # not TOML, or not the JSON that a variable has to hold
        raise SettingsError(f"The settings in {FILE} or a {PREFIX}… variable cannot be read: {error}.") from error


def _refuse_unknown_variables() -> None:
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    unknown = sorted(
        name for name in os.environ if name.startswith(PREFIX) and name.upper().split("__")[0] not in known
    )
    if unknown:
        raise SettingsError(f"Unknown variables {', '.join(unknown)}; there are {', '.join(sorted(known))} (and …__…).")


def _place(location: tuple[int | str, ...]) -> str:
    path = ".".join(str(part) for part in location)
    return f"{path} ({PREFIX}{'__'.join(str(part) for part in location).upper()})"


def _explain(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        return "there is no such setting"
    return f"{error['msg']}, not {error['input']!r}"
