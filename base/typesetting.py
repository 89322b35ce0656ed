"""Typesets PDFs with Typst, in DejaVu Sans (which matplotlib includes) and the fonts of this computer."""

import json
import os
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

_FOLDERS = (
    "/usr/share/fonts", "/usr/local/share/fonts", "~/.fonts", "~/.local/share/fonts", "/Library/Fonts",
    "/System/Library/Fonts", "~/Library/Fonts",
)  # fmt: skip
_SUFFIXES = {".ttf", ".otf", ".ttc"}


def typeset(
    template: Path, data: Mapping[str, Any], font: Path | None = None, files: Mapping[str, bytes] | None = None
) -> bytes:
    """Return the PDF of a template, which reads ``data`` as JSON from ``sys.inputs.data``, and ``files`` by name.

    ``data.font`` is the family of ``font`` or of DejaVu Sans. Letters that it lacks are taken from other fonts.
    Raises FontError.
    """
    import typst

    chosen = font or _bundled()
    folders = [folder for folder in (chosen.parent, _bundled().parent, *_folders()) if folder.is_dir()]
    fonts = typst.Fonts(include_system_fonts=False, font_paths=folders)
    given = json.dumps({"font": _Font(chosen).family, **data})
    with TemporaryDirectory(prefix="candor-") as folder:
        for name, content in {template.name: template.read_bytes(), **(files or {})}.items():
            Path(folder, name).write_bytes(content)
        return typst.compile(Path(folder, template.name), font_paths=fonts, sys_inputs={"data": given})


def missing_letters(text: str, font: Path | None = None) -> list[str]:
    """Return the letters and symbols that the font lacks; without one, those that no font has. Raises FontError."""
    missing = set(filter(str.isprintable, text)) - _Font(font or _bundled()).letters
    for path in _system_fonts() if missing and not font else ():
        try:
            missing -= _Font(path).letters
        except FontError:  # not the font of the text
            continue
        if not missing:
            break
    return sorted(missing)


class FontError(Exception):
    """A file cannot be read as a font."""


class _Font:
    """The family and the letters of a font file."""

    def __init__(self, path: Path) -> None:
        from fontTools.ttLib import TTFont, TTLibError

        try:
            with TTFont(path, fontNumber=0, lazy=True) as font:
                self.family: str = font["name"].getBestFamilyName() or ""
                self.letters = set(map(chr, font.getBestCmap() or ()))
        except (OSError, TTLibError) as error:
            raise FontError(f"{str(path)!r} cannot be read as a font: {error}") from error


def _bundled() -> Path:
    spec = find_spec("matplotlib")
    if spec is None or spec.origin is None:
        raise FontError("The fonts of matplotlib are missing. Install Candor again.")
    return Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf"


def _folders() -> Iterator[Path]:
    yield from (Path(folder).expanduser() for folder in _FOLDERS)


def _system_fonts() -> Iterator[Path]:
    for folder in _folders():
        for parent, _, names in sorted(os.walk(folder)):
            yield from (Path(parent, name) for name in sorted(names) if Path(name).suffix.lower() in _SUFFIXES)
