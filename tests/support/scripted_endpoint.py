"""A model endpoint with scripted behaviour: a real HTTP server on a free port of localhost.

It speaks OpenAI's protocol (under ``/v1``) and Ollama's (under ``/api``), answers with the replies of a responder,
fails like real endpoints, and records every request with its time. It runs one event loop in its own thread, so that
hundreds of requests can wait at once.

    with ScriptedEndpoint(in_turn(server_error(), '{"city": "Graz"}')) as endpoint:
        llm = build_llm(endpoint.settings("ollama"))
        ...
    assert len(endpoint.requests) == 2

``replies.py`` creates the replies.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from aiohttp import web

from multi_agent.llm.settings import EndpointSettings, ResponseForm
from support.replies import Protocol, Reply, Request, Responder, as_reply, fail, unauthorised
from support.wire_formats import (
    form_of,
    ollama_body,
    ollama_parts,
    openai_body,
    openai_chunks,
    pictures_in,
    without_pictures,
)


class ScriptedEndpoint:
    """The server.

    ``requests`` has all chat requests, ``connections`` the addresses that they came from, and ``peak`` the maximum of
    concurrent ones.
    """

    def __init__(
        self,
        responder: Responder,
        *,
        models: tuple[str, ...] = ("scripted",),
        context_length: int = 32_768,
        api_key: str | None = None,
        listing_hangs: bool = False,
        listing: str = "",
        accepts: ResponseForm | None = None,
        sees: bool = False,
        refusal: int = 400,
        port: int = 0,
    ) -> None:
        """Configure the server. With ``port`` 0, the system chooses one.

        With ``sees``, it accepts images; otherwise it rejects them with the status ``refusal``. With ``accepts``, it
        behaves like vLLM: it supports only this form of a schema, rejects others with 400, and lists the context length
        of its models as vLLM does. Otherwise it lists the context length as llama.cpp does. ``listing`` replaces the
        JSON of the list of models.
        """
        self.requests: list[Request] = []
        self.connections: set[tuple[str, int]] = set()
        self.peak = 0
        self._responder = responder
        self._models = models
        self._context_length = context_length
        self._api_key = api_key
        self._listing_hangs, self._listing = listing_hangs, listing
        self._accepts = accepts
        self._sees, self._refusal = sees, refusal
        self._active = 0
        self._wanted_port = port
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="scripted-endpoint", daemon=True)

    def accept(self, form: ResponseForm) -> None:
        """Support another form of a schema from now on."""
        self._accepts = form

    def see(self) -> None:
        """Accept images from now on."""
        self._sees = True

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def url(self, protocol: Protocol) -> str:
        """Return the base URL for a client."""
        root = f"http://127.0.0.1:{self._port}"
        return f"{root}/v1" if protocol == "openai" else root

    def settings(self, protocol: Protocol, **overrides: Any) -> EndpointSettings:
        """Return settings for an LLM of this endpoint."""
        given = {"provider": protocol, "base_url": self.url(protocol), "model": self._models[0], **overrides}
        return EndpointSettings.model_validate(given)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        # For aiohttp, a timeout of 0 means no limit: hanging requests would outlive the test.
        runner = web.AppRunner(self._app(), handler_cancellation=True, shutdown_timeout=0.01, access_log=None)
        self._loop.run_until_complete(self._start(runner))
        # Not earlier: a stop before run_forever() would be lost, and __exit__ would wait for ever.
        self._loop.call_soon(self._started.set)
        self._loop.run_forever()
        self._loop.run_until_complete(runner.cleanup())
        self._loop.close()

    async def _start(self, runner: web.AppRunner) -> None:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self._wanted_port, backlog=1024)
        await site.start()
        self._port: int = runner.addresses[0][1]

    def _app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 2**20, middlewares=[self._check_key])
        app.add_routes(
            [
                web.post("/v1/chat/completions", self._chat_openai),
                web.get("/v1/models", self._list_openai),
                web.post("/api/chat", self._chat_ollama),
                web.get("/api/tags", self._list_ollama),
                web.get("/api/version", self._version_ollama),
                web.post("/api/show", self._show_ollama),
                web.post("/api/pull", self._pull_ollama),
            ]
        )
        return app

    @web.middleware
    async def _check_key(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if self._api_key and request.headers.get("Authorization") != f"Bearer {self._api_key}":
            return _error("openai" if request.path.startswith("/v1") else "ollama", unauthorised())
        response: web.StreamResponse = await handler(request)
        return response

    async def _chat_openai(self, http: web.Request) -> web.StreamResponse:
        body = await http.json()
        limit = body.get("max_tokens", body.get("max_completion_tokens"))
        form, schema = form_of(body)
        request = self._record("openai", http, body, schema, body.get("temperature"), limit, form)
        if self._accepts and form not in (self._accepts, "none"):
            return _error("openai", fail(400, f"{form}: extra inputs are not permitted"))
        if request.pictures and not self._sees:
            return _error("openai", fail(self._refusal, "image input is not supported"))
        return await self._answer(request, http, openai_body)

    async def _chat_ollama(self, http: web.Request) -> web.StreamResponse:
        body = await http.json()
        options = body.get("options") or {}
        schema = body.get("format") if isinstance(body.get("format"), dict) else None
        request = self._record("ollama", http, body, schema, options.get("temperature"), options.get("num_predict"))
        return await self._answer(request, http, ollama_body)

    def _record(
        self,
        protocol: Protocol,
        http: web.Request,
        body: dict[str, Any],
        schema: dict[str, Any] | None,
        temperature: float | None,
        max_tokens: int | None,
        form: ResponseForm = "none",
    ) -> Request:
        request = Request(
            number=len(self.requests) + 1,
            protocol=protocol,
            model=body.get("model", ""),
            messages=[without_pictures(message) for message in body.get("messages", [])],
            schema=schema,
            temperature=temperature,
            max_tokens=max_tokens,
            form=form,
            body=body,
            headers=dict(http.headers),
            at=time.monotonic(),
            pictures=[picture for message in body.get("messages", []) for picture in pictures_in(message)],
        )
        self.requests.append(request)
        assert http.transport is not None
        self.connections.add(http.transport.get_extra_info("peername"))
        return request

    async def _answer(
        self, request: Request, http: web.Request, form: Callable[[Request, Reply], tuple[str, str]]
    ) -> web.StreamResponse:
        with self._count_active():
            try:
                reply = as_reply(self._responder(request))
                await _wait_for(reply.held if not reply.held_after else None)
                await asyncio.sleep(float("inf") if reply.hang else reply.delay)
                if reply.drip:
                    await _drip(http)
                if reply.status == 200 and reply.raw is None and not reply.drop and _streams(request):
                    return await _stream(http, request, reply)
            except (asyncio.CancelledError, ConnectionResetError):
                request.abandoned = True
                raise
        if reply.drop and http.transport:
            http.transport.abort()
        if reply.status != 200 and reply.raw is None:
            return _error(request.protocol, reply)
        text, content_type = form(request, reply) if reply.raw is None else (reply.raw, reply.kind)
        return web.Response(text=text, content_type=content_type, status=reply.status, headers=reply.headers)

    @contextmanager
    def _count_active(self) -> Iterator[None]:
        self._active += 1
        self.peak = max(self.peak, self._active)
        try:
            yield
        finally:
            self._active -= 1

    async def _list_openai(self, _: web.Request) -> web.StreamResponse:
        await self._maybe_hang()
        length = self._context_length
        limits = {"max_model_len": length} if self._accepts else {"meta": {"n_ctx": length}}
        models = [{"id": name, "object": "model", "created": 0, "owned_by": "tests", **limits} for name in self._models]
        return web.Response(text=self._listing or json.dumps({"data": models}), content_type="application/json")

    async def _list_ollama(self, _: web.Request) -> web.StreamResponse:
        await self._maybe_hang()
        tagged = [name if ":" in name else f"{name}:latest" for name in self._models]
        models = [{"name": name, "model": name, "size": 1} for name in tagged]
        return web.Response(text=self._listing or json.dumps({"models": models}), content_type="application/json")

    async def _maybe_hang(self) -> None:
        if self._listing_hangs:
            await asyncio.sleep(float("inf"))

    async def _version_ollama(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"version": "0.12.0"})

    async def _pull_ollama(self, http: web.Request) -> web.StreamResponse:
        """Fetch every model except one named ``unknown``."""
        name = (await http.json())["model"]
        known = [{"status": "pulling 9f86d081", "total": 4_000, "completed": 1_000}, {"status": "success"}]
        parts = [{"error": "file does not exist"}] if name == "unknown" else known
        if name != "unknown":
            self._models = (*self._models, name)
        return web.Response(text="\n".join(map(json.dumps, parts)), content_type="application/x-ndjson")

    async def _show_ollama(self, _: web.Request) -> web.StreamResponse:
        info = {"general.architecture": "test", "test.context_length": self._context_length}
        capabilities = ["completion", "vision"] if self._sees else ["completion"]
        return web.json_response({"details": {}, "model_info": info, "capabilities": capabilities})


async def _wait_for(event: threading.Event | None) -> None:
    while event and not event.is_set():  # noqa: ASYNC110 - a thread sets it
        await asyncio.sleep(0.01)


def _streams(request: Request) -> bool:
    """Return whether to stream. Ollama streams by default, OpenAI does not."""
    return bool(request.body.get("stream", request.protocol == "ollama"))


async def _stream(http: web.Request, request: Request, reply: Reply) -> web.StreamResponse:
    """Stream the parts of a reply and end the stream as the reply says."""
    kind, form, parts, garbled = (
        ("text/event-stream", "data: {}\n\n", openai_chunks(request, reply), "data: {]\n\n")
        if request.protocol == "openai"
        else ("application/x-ndjson", "{}\n", ollama_parts(request, reply), "{]\n")
    )
    response = web.StreamResponse(headers={"Content-Type": kind})
    await response.prepare(http)
    for number, part in enumerate(parts):
        if number > reply.held_after:
            await _wait_for(reply.held)
        await response.write(form.format(json.dumps(part)).encode())
        await asyncio.sleep(reply.pause)
    request.streamed = time.monotonic()
    if reply.ending == "silent":
        await asyncio.sleep(float("inf"))
    if reply.ending == "dropped" and http.transport:
        http.transport.abort()
    if reply.ending == "garbled":
        await response.write(garbled.encode())
    if reply.ending == "failed":
        error: Any = {"message": "out of memory"} if request.protocol == "openai" else "out of memory"
        await response.write(form.format(json.dumps({"error": error})).encode())
    if request.protocol == "openai" and reply.ending in ("whole", "uncounted", "endless"):
        await response.write(b"data: [DONE]\n\n")
    if reply.ending == "endless":
        await asyncio.sleep(float("inf"))
    return response


async def _drip(http: web.Request) -> None:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(http)
    while True:
        await response.write(b" ")
        await asyncio.sleep(0.05)


def _error(protocol: Protocol, reply: Reply) -> web.Response:
    error = {"message": reply.text, "type": "error", "code": None} if protocol == "openai" else reply.text
    return web.json_response({"error": error}, status=reply.status, headers=reply.headers)
