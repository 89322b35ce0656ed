"""Settings of tools: which there are, how far they may go, and where they find what they need."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, SecretStr, model_validator

from vectorstore.settings import SettingsGroup


class McpServer(SettingsGroup):
    """An MCP server whose tools agents can be granted: one that is started here, or one that is reached by its URL."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,63}$", description="its tools are known as NAME.TOOL")
    command: str = Field(default="", description="the program that is started for a run")
    args: tuple[str, ...] = ()
    env: dict[str, SecretStr] = Field(default_factory=dict, description="variables beside a few usual ones")
    url: str = Field(default="", description="of a server over HTTP")
    headers: dict[str, SecretStr] = Field(default_factory=dict, description="of each request to it, such as a key")
    safe: tuple[str, ...] = Field(default=(), description="its tools that no person has to approve")

    @model_validator(mode="after")
    def _one_way(self) -> McpServer:
        if bool(self.command) == bool(self.url):
            raise ValueError(f"the MCP server {self.name!r} needs a command or a url, and not both")
        return self


class ToolSettings(SettingsGroup):
    """What the tools of agents may do."""

    packages: tuple[str, ...] = Field(default=(), description="further Python packages whose modules hold tools")
    disabled: tuple[str, ...] = Field(default=(), description="tools that no agent may use")
    rounds: int = Field(default=8, ge=1, description="how often an agent may call tools and read what they gave")
    calls_per_round: int = Field(default=4, ge=1, description="calls that an agent may make side by side")
    timeout_s: float = Field(default=60, gt=0, description="seconds that a call may take")
    result_characters: int = Field(
        default=8000, ge=500, description="of a call's result that are shown to the model; it can ask for the rest"
    )
    approval_timeout_s: float = Field(
        default=3600, gt=0, description="seconds that a dangerous call waits for a person; then it is refused"
    )
    web_search_url: str | None = Field(
        default=None, description="search endpoint of a SearXNG instance, such as 'http://127.0.0.1:8888/search'"
    )
    allow_private_addresses: bool = Field(
        default=False, description="whether tools may fetch from this machine and from private networks"
    )
    web_bytes: int = Field(default=5_000_000, ge=1, description="of a web page that is read")
    download_bytes: int = Field(default=50_000_000, ge=1, description="of a file that is downloaded")
    fonts: dict[str, Path] = Field(
        default_factory=dict, description="TrueType files for PDFs, by name; the first one is the usual one"
    )
    mcp_servers: tuple[McpServer, ...] = ()
    sandbox_bytes: int = Field(default=200_000_000, ge=1, description="of all files in the sandbox of a run")
