"""Marks for ``benchmarks.hops``. Python imports this module at the start of a process that has its folder on the path.

Writes a line of JSON to the file ``PYTHON_HOPS`` each time the function ``LEAVES`` of a process is called: the process,
and the project's functions on the way to it. The way goes through tasks and threads: whoever starts one leaves its
own way there.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from types import FrameType
from typing import Any

_PACKAGES = tuple(f"/{name}/" for name in ("api", "base", "ingest", "multi_agent", "vectorstore"))
_ROOT = os.environ["PYTHON_HOPS_ROOT"]
_LEAVES = frozenset(os.environ["PYTHON_HOPS_LEAVES"].split())
_task_way: ContextVar[tuple[str, ...]] = ContextVar("way", default=())
_thread = threading.local()


def _way() -> tuple[str, ...]:
    return max(_task_way.get(), getattr(_thread, "way", ()), key=len)


def _frames(frame: FrameType | None) -> tuple[str, ...]:
    found = []
    while frame:
        path = frame.f_code.co_filename
        if path.startswith(_ROOT) and path[len(_ROOT) :].startswith(_PACKAGES):
            found.append(f"{path[len(_ROOT) + 1 :]}:{frame.f_code.co_qualname}")
        frame = frame.f_back
    return tuple(reversed(found))


def _here(depth: int = 2) -> tuple[str, ...]:
    return _continued(sys._getframe(depth))


def _continued(frame: FrameType) -> tuple[str, ...]:
    """Return the way to this frame. The functions below a thread's event loop are on the way of each of its tasks."""
    before = _way()
    return (*before, *(each for each in _frames(frame) if each not in before))


def _mark(frame: FrameType, event: str, _: Any) -> None:
    if event != "call" or frame.f_code.co_qualname not in _LEAVES or not frame.f_code.co_filename.startswith(_ROOT):
        return
    line = {"pid": os.getpid(), "leaf": frame.f_code.co_qualname, "way": _continued(frame)}
    with open(os.environ["PYTHON_HOPS"], "a", encoding="utf-8") as marks:
        marks.write(json.dumps(line) + "\n")


def _from_here(run: Any, way: tuple[str, ...]) -> Any:
    def started(*arguments: Any, **options: Any) -> Any:
        _thread.way = way  # not in the context, which others rely on
        return run(*arguments, **options)

    return started


def _submit(self: Any, run: Any, /, *arguments: Any, **options: Any) -> Any:
    return _plain_submit(self, _from_here(run, _here()), *arguments, **options)


def _create_task(self: Any, coroutine: Any, **options: Any) -> Any:
    given = options.pop("context", None)
    context = copy_context() if given is None else given  # an empty context is false
    context.run(_task_way.set, _here())
    return _plain_create_task(self, coroutine, context=context, **options)


_plain_submit = ThreadPoolExecutor.submit
_plain_create_task = asyncio.BaseEventLoop.create_task
ThreadPoolExecutor.submit = _submit  # type: ignore[method-assign]
asyncio.BaseEventLoop.create_task = _create_task  # type: ignore[method-assign,assignment]
sys.setprofile(_mark)
threading.setprofile(_mark)
