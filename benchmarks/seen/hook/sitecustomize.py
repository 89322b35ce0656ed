"""An import hook that records calls of functions in every Python process of a command.

Python imports this module at its start when its folder is in PYTHONPATH. ``calls.json`` beside it names the functions
by module. The first call of each in a process is a line of ``seen.jsonl``: the function, the function of Candor that
led to it, and the process. The file is opened at the start, because worker processes may not open files later.
"""

import functools
import json
import os
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FrameType
from typing import Any

HERE = Path(__file__).parent
LAYERS = ("api", "base", "ingest", "multi_agent", "vectorstore")
WORKER = "base.process"  # runs the function of a child process


class Hook:
    """Finds the named modules as Python does, and wraps their functions after they were executed."""

    def __init__(self, calls: dict[str, list[str]], seen: int) -> None:
        self._calls, self._seen = calls, seen

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name in self._calls else None
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                execute(module)
                for function in self._calls[name]:
                    self._wrap(module, function)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def _wrap(self, module: Any, function: str) -> None:
        owner, name = module, function
        if "." in function:
            owner, name = getattr(module, function.partition(".")[0]), function.partition(".")[2]
        found = vars(owner)[name]
        if isinstance(found, classmethod):
            setattr(owner, name, classmethod(self._noting(found.__func__, module.__name__, function)))
        else:
            setattr(owner, name, self._noting(found, module.__name__, function))

    def _noting(self, call: Callable[..., Any], module: str, function: str) -> Callable[..., Any]:
        noted = False

        @functools.wraps(call)
        def wrapped(*args: Any, **options: Any) -> Any:
            nonlocal noted
            if not noted:
                noted = True
                callers = list(_of_candor(sys._getframe(1)))
                line = {"call": f"{module}.{function}", "by": callers[:1], "worker": WORKER in callers}
                os.write(self._seen, (json.dumps(line) + "\n").encode())
            return call(*args, **options)

        return wrapped


def _of_candor(frame: FrameType | None) -> Iterator[str]:
    """Yield the modules of Candor among the callers, the nearest first."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in LAYERS:
            yield module
        frame = frame.f_back


sys.meta_path.insert(
    0,
    Hook(
        json.loads((HERE / "calls.json").read_bytes()),
        os.open(HERE / "seen.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT),
    ),
)
