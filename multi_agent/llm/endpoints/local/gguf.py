"""The header of a GGUF file: which model it holds, without loading it.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO, NamedTuple

from multi_agent.llm.endpoints.local.engine import EngineError

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_LONGEST = 1 << 24  # bytes of one string; a larger length means a damaged file


class Header(NamedTuple):
    """What the header of a model file says."""

    architecture: str
    context_length: int | None
    """Maximum tokens that the model was trained for."""


def read_header(path: Path) -> Header:
    """Read the header of a model file. Raises EngineError if there is none."""
    try:
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise EngineError(f"{path} is not a GGUF file. Download the model in this format (file name *.gguf).")
            return _read(file)
    except FileNotFoundError:
        raise EngineError(f"There is no file {path}.") from None
    except OSError as error:
        raise EngineError(f"{path} cannot be read: {error.strerror}.") from error
    except (struct.error, ValueError) as error:
        raise EngineError(f"{path} is damaged or incomplete ({error}). Download it again.") from error


def _read(file: BinaryIO) -> Header:
    _version, _tensors, entries = struct.unpack("<IQQ", file.read(20))
    found: dict[str, object] = {}
    for _ in range(entries):
        key = _string(file)
        found[key] = _value(file, *struct.unpack("<I", file.read(4)))
        architecture = str(found.get("general.architecture", ""))
        if architecture and isinstance(length := found.get(f"{architecture}.context_length"), int):
            return Header(architecture, length)
    if not found.get("general.architecture"):
        raise ValueError("it names no architecture")
    return Header(str(found["general.architecture"]), None)


def _value(file: BinaryIO, kind: int) -> object:
    if kind == _STRING:
        return _string(file)
    if kind == _ARRAY:
        inner, length = struct.unpack("<IQ", file.read(12))
        for _ in range(length):
            _value(file, inner)
        return None
    if kind not in _NUMBERS:
        raise ValueError(f"unknown type {kind}")
    form = "<" + _NUMBERS[kind]
    return struct.unpack(form, file.read(struct.calcsize(form)))[0]


def _string(file: BinaryIO) -> str:
    (length,) = struct.unpack("<Q", file.read(8))
    if length > _LONGEST:
        raise ValueError(f"a string of {length} bytes")
    return file.read(length).decode("utf-8", "replace")
