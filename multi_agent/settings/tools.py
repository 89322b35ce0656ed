"""Settings of tools: packages, limits, servers and resources."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, PrivateAttr, SecretStr, field_validator, model_validator

from vectorstore.settings import SettingsGroup


class McpServer(SettingsGroup):
    """An MCP server with tools for agents, which is either a command that Candor starts or a URL."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,63}$", description="prefix of its tools: NAME.TOOL")
    command: str = Field(default="", description="program that a run starts")
    args: tuple[str, ...] = ()
    env: dict[str, SecretStr] = Field(
        default_factory=dict, description="environment variables, in addition to a few common ones"
    )
    url: str = Field(default="", description="URL of a server over HTTP")
    headers: dict[str, SecretStr] = Field(default_factory=dict, description="headers of each request, such as a key")
    key: str = Field(default="", description="name of the server's key in the table `[keys]`")
    key_as: str = Field(
        default="", description="header or environment variable that carries the key; for a URL, by default the header "
        "Authorization, as a bearer token")  # fmt: skip
    safe: tuple[str, ...] = Field(default=(), description="tools of the server that need no approval")

    @model_validator(mode="after")
    def _one_way(self) -> McpServer:
        if bool(self.command) == bool(self.url):
            raise ValueError(f"the MCP server {self.name!r} needs a command or a url, and not both")
        if self.key and self.command and not self.key_as:
            raise ValueError(f"the MCP server {self.name!r} has a key, so set its environment variable in `key_as`")
        return self


class ToolSettings(SettingsGroup):
    """Limits and resources of the tools of agents."""

    constants: ClassVar[tuple[str, ...]] = (
        "rounds", "calls_per_round", "browser_seconds", "browser_bytes", "sandbox_bytes"
    )  # fmt: skip
    rounds: ClassVar[int] = 8
    """Rounds of tool calls that an agent may make in a step."""
    calls_per_round: ClassVar[int] = 4
    """Maximum concurrent calls in one round."""
    browser_seconds: ClassVar[float] = 20
    """Maximum seconds for loading a page in the browser."""
    browser_bytes: ClassVar[int] = 20_000_000
    """Maximum size of everything that a page loads in the browser."""
    sandbox_bytes: ClassVar[int] = 200_000_000
    """Maximum size of all files in the sandbox of a run."""

    packages: tuple[str, ...] = Field(default=(), description="additional Python packages with tools in their modules")
    disabled: tuple[str, ...] = Field(default=(), description="tools that no agent may use")
    timeout_s: float = Field(default=60, gt=0, description="maximum seconds of a call")
    result_characters: int = Field(
        default=8000, ge=500, description="maximum characters of a result in a prompt; the model can request the rest"
    )
    approval_timeout_s: float = Field(
        default=3600, gt=0, description="seconds to wait for the approval of a dangerous call before it is refused"
    )
    web_search: Literal["off", "searxng", "ddgs"] = Field(
        default="off", description="search engine of web_search: a SearXNG instance, or the library ddgs, which asks "
        "public search engines; if only `web_search_url` is set, 'searxng'")  # fmt: skip
    web_search_url: str | None = Field(
        default=None, description="search endpoint of a SearXNG instance, such as 'http://127.0.0.1:8888/search'"
    )
    web_search_engines: tuple[str, ...] = Field(
        default=(), description="engines that ddgs may ask, such as 'duckduckgo'; by default, ddgs chooses"
    )
    web_search_key: str = Field(
        default="", description="name of the search endpoint's key in the table `[keys]`; sent as bearer token"
    )
    allow_private_addresses: bool = Field(
        default=False, description="allow tools to fetch from localhost and from private networks"
    )
    allowed_sites: tuple[str, ...] = Field(
        default=(), description="sites whose pages agents may read without approval even if the model wrote the "
        "URL, such as 'wikipedia.org', including subdomains; '*' for all sites")  # fmt: skip
    web_bytes: int = Field(default=5_000_000, ge=1, description="maximum size of a web page")
    browser: Literal["auto", "off"] = Field(
        default="auto", description="read pages that need JavaScript with headless Chromium, if Playwright is "
        "installed (extra `browser`)")  # fmt: skip
    browser_path: Path | None = Field(
        default=None, description="path of Chromium or Chrome, such as '/usr/bin/chromium'; by default Playwright's"
    )
    download_bytes: int = Field(default=50_000_000, ge=1, description="maximum size of a download")
    fonts: dict[str, Path] = Field(
        default_factory=dict, description="TrueType files for PDFs, by name; the first one is the default"
    )
    mcp_servers: tuple[McpServer, ...] = Field(
        default=(), description="MCP servers whose tools agents can be granted: `name`, and `command` or `url`"
    )

    @model_validator(mode="after")
    def _search_is_complete(self) -> ToolSettings:
        if self.web_search == "searxng" and not self.web_search_url:
            raise ValueError("`web_search` is 'searxng', but `web_search_url` does not name a SearXNG instance")
        return self

    @field_validator("allowed_sites")
    @classmethod
    def _names_hosts(cls, sites: tuple[str, ...]) -> tuple[str, ...]:
        if wrong := [site for site in sites if site != "*" and (not site.strip(".") or set(site) & set("*/:@ "))]:
            raise ValueError(f"{wrong[0]!r} is not the name of a site, write a host such as 'wikipedia.org', or '*'")
        return sites

    @property
    def search_engine(self) -> Literal["off", "searxng", "ddgs"]:
        """The engine for web searches. SearXNG if only the URL is set."""
        chosen = "web_search" in self.model_fields_set
        return "searxng" if self.web_search_url and not chosen else self.web_search

    _keys: dict[str, SecretStr] = PrivateAttr(default_factory=dict)

    def with_keys(self, keys: Mapping[str, SecretStr]) -> Self:
        """Return a copy with these keys. Raises ValueError if a setting names another key."""
        named = (self.web_search_key, *(server.key for server in self.mcp_servers))
        if unknown := sorted({name for name in named if name} - keys.keys()):
            known = ", ".join(sorted(keys)) or "none"
            raise ValueError(f"there is no key {unknown[0]!r} in the table [keys], which contains: {known}")
        copy = self.model_copy()
        copy._keys = dict(keys)
        return copy

    def bearer(self, name: str) -> dict[str, str]:
        """Return the header with this key as bearer token. Empty without a name."""
        return {"Authorization": f"Bearer {self.key(name)}"} if name else {}

    def key(self, name: str) -> str:
        """Return the value of a key that a setting names."""
        return self._keys[name].get_secret_value()
