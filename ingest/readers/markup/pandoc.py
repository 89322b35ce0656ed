"""All use of the program pandoc: it turns markup into HTML, which is read like a web page.

pandoc reads no other file here and runs no code of a document. ``pandoc.lua`` keeps what its HTML would leave out.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

LIBRARY = "pypandoc_binary"
_OPTIONS = ("--sandbox", "--standalone", "--to=html", "--wrap=none", "--syntax-highlighting=none", "--quiet")
_FOLDER = Path(__file__).parent
_TIMEOUT_S = 30  # pandoc takes about 0.02 s
_MEMORY = ("+RTS", "-M768m", "-RTS")
_HEAP_EXHAUSTED = 251  # exit status
_COMMA = re.compile(r"(?<=\d),[\u2002-\u200a](?=\d)")  # in numbers of formulas: 1,000
_NARROW_BLANKS = dict.fromkeys([*range(0x2002, 0x200B), 0x202F, 0x205F], " ")  # pandoc writes them in formulas

Message = Mapping[str, Any]
"""An entry of pandoc's log, such as what it skipped."""


class Refused(ValueError):
    """pandoc cannot read the source. The text says why."""


class Page(NamedTuple):
    """What pandoc made of a document."""

    html: str
    log: Sequence[Message]

    @property
    def other_files(self) -> list[str]:
        """The files that the document includes, without style sheets of LaTeX."""
        found = (each["path"] for each in self.log if each["type"] == "CouldNotLoadIncludeFile")
        return [path for path in found if not path.endswith((".sty", ".cls"))]


def to_html(source: str, markup: str) -> Page:
    """Return the document as HTML. ``markup`` is pandoc's name of its format. Raises Refused."""
    command = [str(files("pypandoc") / "files" / "pandoc"), *_MEMORY, *_OPTIONS, f"--from={markup}"]
    command += [f"--data-dir={_FOLDER}", f"--lua-filter={_FOLDER / 'pandoc.lua'}", "--log=/dev/stderr"]
    try:
        done = subprocess.run(
            command, input=source.encode("utf-8", "replace"), capture_output=True, check=False, timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        raise Refused(f"it takes more than {_TIMEOUT_S} s") from None
    output = done.stderr.decode("utf-8", "replace")
    if done.returncode == _HEAP_EXHAUSTED:
        raise Refused("it takes too much memory")
    if done.returncode != 0:
        raise Refused(" ".join(output.partition("\n[")[0].split())[:200] or f"status {done.returncode}")
    html = done.stdout.decode("utf-8", "replace").replace("<title>-</title>", "", 1)  # of a document without a title
    return Page(_COMMA.sub(",", html).translate(_NARROW_BLANKS), json.loads(output[output.find("[\n") :]))
