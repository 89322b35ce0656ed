"""Runs Tesseract on pictures of pages and returns hOCR.

Tesseract is the program, if a person has installed it with the wanted languages, or the library tesserocr, whose
languages come from the packages ``tessdata.…``. Both read equally well. Nothing is downloaded.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree

from ingest.errors import CorruptDocument

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

HOCR = "{http://www.w3.org/1999/xhtml}"
_ORIENTATION = "osd"
_NO_LANGUAGES = (_ORIENTATION, "equ")  # other data of Tesseract
_MAX_DEFAULT_LANGUAGES = 4  # more languages make recognition slower and less accurate
_INSTALL = "Tesseract is not installed (`apt-get install tesseract-ocr`, `brew install tesseract`)"


class Tesseract(NamedTuple):
    """A way to run Tesseract. ``read`` returns the hOCR of an image of the file, which has a resolution in dpi."""

    languages: tuple[str, ...]
    read: Callable[[bytes, Path, Sequence[str], int], Element]

    @property
    def usual_languages(self) -> Sequence[str]:
        """All installed languages, or only English if there are many."""
        languages = sorted(set(self.languages).difference(_NO_LANGUAGES), key=lambda code: (code != "eng", code))
        return languages if len(languages) <= _MAX_DEFAULT_LANGUAGES else languages[:1]


def find_tesseract(wanted: Sequence[str]) -> Tesseract | None:
    """Return the first way to run Tesseract that has the wanted languages, or any language if none is wanted."""
    return next((each for each in find_all() if not _missing(each, wanted)), None)


def describe_lack(wanted: Sequence[str]) -> str:
    """Return why no way to run Tesseract has the wanted languages, and what to install."""
    if not (installed := find_all()):
        return _INSTALL
    missing = _missing(installed[0], wanted)
    packages = [f"tesseract-ocr-{code.lower().replace('_', '-')}" for code in missing]
    program = [] if shutil.which("tesseract") else ["tesseract-ocr"]
    command = " ".join(["apt-get install", *program, *packages])
    return f"Tesseract lacks the data of the language {', '.join(missing)} (`{command}`)"


def _missing(tesseract: Tesseract, wanted: Sequence[str]) -> list[str]:
    needed = wanted or tesseract.usual_languages or ["eng"]
    return [code for code in needed if code not in tesseract.languages]


def find_all() -> list[Tesseract]:
    """Return the ways to run Tesseract: the program first, because a person chose its languages."""
    program, data = shutil.which("tesseract"), _data_folder()
    found = [Tesseract(_listed(program), _run_program)] if program else []
    if data and find_spec("tesserocr"):
        found.append(Tesseract(tuple(sorted(file.stem for file in data.glob("*.traineddata"))), _run_library))
    return found


@cache
def _listed(program: str) -> tuple[str, ...]:
    listed = subprocess.run([program, "--list-langs"], capture_output=True, text=True, check=True).stdout
    return tuple(sorted(listed.split("\n")[1:-1]))


def _data_folder() -> Path | None:
    """Return the folder into which pip installs language data."""
    schemes = (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user"))
    folders = (Path(sysconfig.get_path("data", scheme), "share", "tessdata") for scheme in schemes)
    return next((folder for folder in folders if folder.is_dir()), None)


def _run_program(image: bytes, path: Path, languages: Sequence[str], dpi: int) -> Element:
    """Use one core, because several parsers run in parallel."""
    segmentation = "1" if _ORIENTATION in _listed(shutil.which("tesseract") or "") else "3"  # 1 rotates pages if needed
    command = ["env", "OMP_THREAD_LIMIT=1", "tesseract", "stdin", "stdout", "-l", "+".join(languages)]
    command += ["--psm", segmentation, "--dpi", str(dpi), "hocr"]
    result = subprocess.run(command, input=image, capture_output=True, check=False)
    if result.returncode != 0:
        output = result.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
        raise CorruptDocument(
            f"Tesseract cannot read a page image of {path}: {output[-1]}. Save the file again, as PNG or PDF."
        )
    return ElementTree.fromstring(result.stdout)


def _run_library(image: bytes, path: Path, languages: Sequence[str], dpi: int) -> Element:
    from PIL import Image
    from tesserocr import PSM, LeptLogLevel, PyTessBaseAPI, set_leptonica_log_level

    set_leptonica_log_level(LeptLogLevel.NONE)  # its messages would break the display of progress
    with PyTessBaseAPI(path=str(_data_folder()), lang="+".join(languages), psm=PSM.AUTO_OSD) as tesseract:
        tesseract.SetVariable("debug_file", os.devnull)
        tesseract.SetVariable("user_defined_dpi", str(dpi))
        tesseract.SetImage(Image.open(BytesIO(image)))
        hocr = tesseract.GetHOCRText(0)
    return ElementTree.fromstring(f'<html xmlns="{HOCR.strip("{}")}">{hocr}</html>')
