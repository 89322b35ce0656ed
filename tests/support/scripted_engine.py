"""An engine for the child process of a local model that does what the last message says, and a model file for it."""

from __future__ import annotations

import os
import signal
import struct
import time
from pathlib import Path
from typing import Self

from multi_agent.llm.endpoints.local.engine import EngineError, Generated, Generation, KeepOn, ModelOptions

SCRIPTED = "support.scripted_engine:ScriptedEngine"
UNREADABLE = "support.scripted_engine:UnreadingEngine"
MISSING = "support.scripted_engine:MissingEngine"


def write_model_file(path: Path, architecture: str = "qwen2", context_length: int = 32_768) -> Path:
    """Write the header of a GGUF file."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    tags = text("general.tags") + struct.pack("<IIQ", 9, 8, 2) + text("small") + text("test")
    kind = text("general.architecture") + struct.pack("<I", 8) + text(architecture)
    scale = text("rope.scale") + struct.pack("<If", 6, 0.5)
    length = text(f"{architecture}.context_length") + struct.pack("<II", 4, context_length)
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 4) + tags + kind + scale + length)
    return path


class ScriptedEngine:
    """Understands: ``say TEXT``, ``write endlessly``, ``be silent``, ``refuse``, ``stop at the limit``, ``die``."""

    name = "scripted"

    @classmethod
    def load(cls, options: ModelOptions) -> Self:
        engine = cls()
        engine._log = options.path.with_suffix(".log")
        engine._log.open("a").write("loaded\n")
        return engine

    def generate(self, request: Generation, keep_on: KeepOn) -> Generated:
        command = request.messages[-1][1]
        pieces = 0
        match command.split(" ", 1):
            case ["say", text]:
                pieces = sum(1 for word in text.split(" ") if keep_on(word))
            case ["write", _]:
                while keep_on("x"):
                    pieces += 1
                    time.sleep(0.01)
                self._log.open("a").write("stopped\n")
            case ["be", _]:
                time.sleep(3600)
            case ["refuse"]:
                raise EngineError("The scripted engine refuses.")
            case ["die"]:
                os.kill(os.getpid(), signal.SIGKILL)
        return Generated(command.startswith("stop"), prompt_tokens=100, cached_tokens=60, completion_tokens=pieces)


class UnreadingEngine(ScriptedEngine):
    """Cannot read any file."""

    @classmethod
    def load(cls, options: ModelOptions) -> Self:
        raise EngineError("The scripted engine cannot read this file.")


class MissingEngine(ScriptedEngine):
    """Is not installed."""

    @classmethod
    def load(cls, options: ModelOptions) -> Self:
        import no_such_engine  # type: ignore[import-not-found]

        return no_such_engine
