"""Tools of MCP servers. A run connects when an agent first needs a server, and disconnects when the run ends.

The tool ``read`` of the server ``files`` is named ``files.read``. A grant of ``files.*`` covers all its tools. Each
call needs approval unless the settings list the tool as safe. Statements of a server about the safety of its own
tools are ignored.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import TYPE_CHECKING, Any, ClassVar, TextIO

from pydantic import GetJsonSchemaHandler, RootModel, SecretStr, ValidationError, model_validator
from pydantic_core import CoreSchema

from multi_agent.errors import ToolError, ToolServerFailed
from multi_agent.settings.tools import McpServer, ToolSettings
from multi_agent.tool import Tool, ToolCard, ToolResult, excerpt
from vectorstore.settings import without_password

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import Tool as Described

ALL = "*"
_STDERR_EXCERPT = 500
_MAX_DEPTH = 20


class McpServers:
    """The connections of one run. Belongs to one event loop."""

    def __init__(self, settings: ToolSettings) -> None:
        self._settings = settings
        self._open: dict[str, _Connection] = {}

    async def tools(self, server: str, tool: str) -> list[Tool]:
        """Return a tool of a server, or all its tools for ``*``. Raises ToolServerFailed, even for an unknown tool."""
        connection = self._connection(server)
        described = await connection.describe()
        chosen = [each for each in described if tool in (ALL, each.name)]
        if not chosen:
            there = ", ".join(f"{server}.{each.name}" for each in described)
            raise ToolServerFailed(f"The MCP server {server!r} has no tool {tool!r}. Its tools: {there or 'none'}.")
        return [McpTool(connection, each) for each in chosen]

    async def close(self) -> None:
        """Close all connections and stop the servers that were started for them."""
        for connection in self._open.values():
            await connection.close()
        self._open.clear()

    def _connection(self, name: str) -> _Connection:
        if name not in self._open:
            named = {server.name: server for server in self._settings.mcp_servers}
            if name not in named:
                known = ", ".join(named) or "none"
                raise ToolServerFailed(f"There is no MCP server {name!r} in `tools.mcp_servers`. The servers: {known}.")
            self._open[name] = _Connection(named[name], self._settings)
        return self._open[name]


async def ask_server(settings: ToolSettings, server: str, tool: str) -> list[ToolCard]:
    """Connect to a server and return the card of a tool, or of all its tools for ``*``. Raises ToolServerFailed."""
    servers = McpServers(settings)
    try:
        return [each.card for each in await servers.tools(server, tool)]
    finally:
        await servers.close()


class McpTool:
    """One tool of an MCP server."""

    def __init__(self, connection: _Connection, described: Described) -> None:
        self._connection, self._name = connection, described.name
        server, inputs = connection.server, arguments_type(described.name, described.input_schema)
        try:
            self.card = ToolCard(
                name=f"{server.name}.{described.name}",
                description=described.description or described.title or described.name,
                inputs=inputs,
                dangerous=described.name not in server.safe,
            )
        except ValidationError as error:
            raise ToolServerFailed(
                f"The MCP server {server.name!r} has a tool named {described.name!r}. A name may have letters, digits, "
                "'_', '.', '/' and '-'. Grant its other tools one by one."
            ) from error

    async def __call__(self, given: McpArguments) -> ToolResult:
        return await self._connection.call(self._name, given.root)


class McpArguments(RootModel[dict[str, Any]]):
    """Arguments that follow a JSON schema, set by a subclass."""

    json_schema: ClassVar[Mapping[str, Any]] = {"type": "object"}

    @model_validator(mode="after")
    def _fits(self) -> McpArguments:
        from jsonschema import Draft202012Validator

        for error in Draft202012Validator(self.json_schema).iter_errors(self.root):
            raise ValueError(f"{'.'.join(map(str, error.absolute_path))}: {error.message}")
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return deepcopy(dict(cls.json_schema))


def arguments_type(tool: str, schema: Mapping[str, Any]) -> type[McpArguments]:
    """Return a type of arguments that follow the schema. Raises ToolServerFailed for a recursive or invalid schema."""
    from jsonschema import Draft202012Validator, SchemaError

    own = {key: value for key, value in schema.items() if key not in ("$schema", "$defs", "definitions", "title")}
    inlined = _inlined(own, schema, tool, 0)
    try:
        Draft202012Validator.check_schema(inlined, format_checker=Draft202012Validator.FORMAT_CHECKER)
    except SchemaError as error:
        reason = f"The arguments of the MCP tool {tool!r} have no valid JSON schema: {error.message}."
        raise ToolServerFailed(f"{reason} Grant the other tools of its server one by one.") from error
    return type("Arguments", (McpArguments,), {"json_schema": inlined})


def _inlined(part_of: Any, schema: Mapping[str, Any], tool: str, depth: int) -> Any:
    """Replace references with their targets, which would be missing in the schema of a model's response."""
    if depth > _MAX_DEPTH:
        raise ToolServerFailed(f"The arguments of the MCP tool {tool!r} are recursive, which models do not support.")
    if isinstance(part_of, list):
        return [_inlined(each, schema, tool, depth) for each in part_of]
    if not isinstance(part_of, dict):
        return part_of
    if isinstance(reference := part_of.get("$ref"), str):
        target: Any = schema
        for step in reference.removeprefix("#/").split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            target = target.get(name, {}) if isinstance(target, Mapping) else {}
        if not isinstance(target, Mapping):  # True and False are schemas, too
            return target
        rest = {key: value for key, value in part_of.items() if key != "$ref"}
        return _inlined({**target, **rest}, schema, tool, depth + 1)
    return {key: _inlined(value, schema, tool, depth) for key, value in part_of.items()}


class _Connection:
    """The connection to one server, opened on first use. The same task opens and closes it, as the client requires."""

    def __init__(self, server: McpServer, settings: ToolSettings) -> None:
        self.server, self._settings = server, settings
        self._open_lock = asyncio.Lock()
        self._closing = asyncio.Event()
        self._client: Client | None = None
        self._holder: asyncio.Task[None] | None = None
        self._stderr: TextIO | None = None

    async def describe(self) -> Sequence[Described]:
        """Return all tools of the server. Raises ToolServerFailed."""
        from mcp import MCPError

        client = await self._get_client()
        found: list[Described] = []
        cursor: str | None = None
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                while True:
                    page = await client.list_tools(cursor=cursor)
                    found += page.tools
                    cursor = page.next_cursor
                    if not cursor:
                        return found
        except TimeoutError:
            raise self._failed(
                TimeoutError(f"it takes over {self._settings.timeout_s:g} s to list its tools")
            ) from None
        except MCPError as error:
            raise self._failed(error) from error

    async def call(self, tool: str, arguments: dict[str, Any]) -> ToolResult:
        """Call a tool and return its result as text. Raises ToolError."""
        from mcp import MCPError

        try:
            result = await (await self._get_client()).call_tool(tool, arguments)
        except (MCPError, ToolServerFailed) as error:
            raise ToolError(str(self._failed(error))) from error
        text = "\n".join(map(_as_text, result.content))
        if not text and result.structured_content is not None:
            text = json.dumps(result.structured_content, ensure_ascii=False)
        shown = excerpt(self._hide(text), 0, self._settings.result_characters)
        if result.is_error:
            raise ToolError(shown or "The tool failed without a message.")
        return ToolResult(text=shown)

    async def close(self) -> None:
        """Close the connection. Idempotent."""
        self._closing.set()
        if self._holder:
            await asyncio.wait({self._holder})
        if self._stderr:
            self._stderr.close()

    async def _get_client(self) -> Client:
        async with self._open_lock:
            if self._client is None:
                ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
                self._holder = asyncio.create_task(self._hold(ready), name=f"MCP server {self.server.name}")
                self._client = await ready
            return self._client

    async def _hold(self, ready: asyncio.Future[Client]) -> None:
        try:
            async with asyncio.timeout(self._settings.timeout_s) as limit, self._connected() as client:
                limit.reschedule(None)
                ready.set_result(client)
                await self._closing.wait()
        # Servers are third-party code, and connections fail in many ways.
        except Exception as error:  # noqa: BLE001
            if not ready.done():
                ready.set_exception(self._failed(error))

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client
        from mcp.client.streamable_http import streamable_http_client
        from mcp.shared._httpx_utils import create_mcp_http_client

        server, timeout_s = self.server, self._settings.timeout_s
        if server.url:
            headers = _values(server.headers) | self._key()
            async with (
                create_mcp_http_client(headers=headers) as http,
                Client(streamable_http_client(server.url, http_client=http), read_timeout_seconds=timeout_s) as client,
            ):
                yield client
            return
        self._stderr = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - see close
        env = _values(server.env) | self._key()
        parameters = StdioServerParameters(command=server.command, args=list(server.args), env=env)
        async with Client(stdio_client(parameters, self._stderr), read_timeout_seconds=timeout_s) as client:
            yield client

    def _key(self) -> dict[str, str]:
        """Return the header or the environment variable with the server's key. Empty if it has no key."""
        server = self.server
        if server.key_as:
            return {server.key_as: self._settings.key(server.key)} if server.key else {}
        return self._settings.bearer(server.key)

    def _hide(self, text: str) -> str:
        """Replace the secrets of the connection in a text, because results and errors may contain them."""
        secrets = [
            *_values(self.server.headers).values(),
            *([self._settings.key(self.server.key)] if self.server.key else []),
        ]
        for secret in filter(None, secrets):
            text = text.replace(secret, "[key]")
        return without_password(text)

    def _failed(self, error: BaseException) -> ToolServerFailed:
        if isinstance(error, ToolServerFailed):
            return error
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        where = without_password(self.server.url) or " ".join([self.server.command, *self.server.args])
        cause = str(error) or type(error).__name__
        reason = self._hide(f"{cause}.{self._stderr_excerpt()}")
        return ToolServerFailed(
            f"The MCP server {self.server.name!r} ({where}) cannot be used: {reason} Check it, and `tools.mcp_servers`."
        )

    def _stderr_excerpt(self) -> str:
        """Return the end of the standard error of a server that Candor started."""
        if self._stderr is None or self._stderr.closed:
            return ""
        self._stderr.seek(0)
        text = self._stderr.read()[-_STDERR_EXCERPT:].strip()
        return f" It said: {text}." if text else ""


def _values(secrets: Mapping[str, SecretStr]) -> dict[str, str]:
    return {name: value.get_secret_value() for name, value in secrets.items()}


def _as_text(block: Any) -> str:
    """Return a block of a result as text, or a description of a block that is not text."""
    if block.type == "text":
        return str(block.text)
    if block.type == "resource" and hasattr(block.resource, "text"):
        return str(block.resource.text)
    if block.type == "resource_link":
        return f"({block.name}: {block.uri})"
    kind = getattr(block, "mime_type", None) or block.type
    return f"(something of the type {kind}, which is not shown)"
