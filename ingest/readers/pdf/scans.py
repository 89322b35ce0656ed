"""Prepares the picture of a page for text recognition: turns it level, and finds the lines that are drawn on it."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

from ingest.readers.pdf.drawing import Drawing, Rule, connect

if TYPE_CHECKING:
    from PIL.Image import Image

_SMALL = 500  # pixels: width of the picture on which the angle is measured
_MOST, _STEP, _LEAST = 2.0, 0.1, 0.15  # degrees: largest angle, steps, and the smallest angle that is corrected
_DPI = 150  # of the picture on which lines are looked for
_DARK = 180  # grey values below this are ink
_LENGTH = 0.45  # inches: minimum length of a drawn line
_SOLID = 0.9  # share of its pixels that are ink
_BESIDE = 3  # pixels from a line to the rows above and below it
_LITTLE, _NO_INK = 0.3, 0.02  # share of these rows that is ink; the second beside one of two lines
_THICKEST = 0.05  # inches


def level_with_lines(image: bytes, dpi: int) -> tuple[Image, Drawing]:
    """Return the picture and the lines drawn on it. If these are frames, it is turned so that they are level.

    Otherwise it stays as it is: Tesseract finds rows better on a slightly turned picture than on a turned back one.
    """
    from PIL import Image

    picture = Image.open(BytesIO(image)).convert("L")
    small = picture.resize((_SMALL, max(1, round(picture.height * _SMALL / picture.width))))
    angles = [step * _STEP for step in range(round(-_MOST / _STEP), round(_MOST / _STEP) + 1)]
    angle = max(angles, key=lambda each: (_contrast(small, each), -abs(each)))
    if abs(angle) >= _LEAST:
        turned = picture.rotate(angle, Image.Resampling.BICUBIC, fillcolor=255)
        if (drawing := drawn_lines(turned, dpi)).vertical_lines:
            return turned, drawing
    return picture, drawn_lines(picture, dpi)


def _contrast(picture: Image, angle: float) -> float:
    """Return how much the rows of pixels differ from their neighbours, which is most when the text is level."""
    from PIL import Image

    turned = picture.rotate(angle, Image.Resampling.BILINEAR, fillcolor=255)
    rows = np.asarray(turned, dtype=np.float32).mean(axis=1)
    return float((np.diff(rows) ** 2).sum())


def drawn_lines(picture: Image, dpi: int) -> Drawing:
    """Return the lines drawn on the picture, in points from its lower left corner."""
    factor = max(1, round(dpi / _DPI))
    ink = np.asarray(picture.reduce(factor)) < _DARK
    scale, height = 72 * factor / dpi, picture.height * 72 / dpi
    length, thickest = round(_LENGTH * dpi / factor), round(_THICKEST * dpi / factor)
    across = [(height - at * scale, start * scale, end * scale) for at, start, end in _lines(ink, length, thickest)]
    upright = [
        (at * scale, height - end * scale, height - start * scale) for at, start, end in _lines(ink.T, length, thickest)
    ]
    return connect(upright, across)


def _lines(ink: np.ndarray, length: int, thickest: int) -> Iterator[Rule]:
    """Yield the level lines of ink: the middle of each, its start and its end, in pixels."""
    open_lines: list[list[int]] = []  # first row, last row, start, end
    stepped = ink.copy()
    stepped[1:] |= ink[:-1]  # a line that is not quite level has steps
    for row, start, end in _runs(stepped, length):
        line = next((each for each in open_lines if row - each[1] <= 1 and start < each[3] and each[2] < end), None)
        if line is None:
            open_lines.append([row, row, start, end])
        else:
            line[1:] = row, min(line[2], start), max(line[3], end)
    for first, last, start, end in open_lines:
        if last - first < thickest and _is_apart(ink[:, start:end], first, last):
            yield (first + last) / 2, float(start), float(end)


def _is_apart(ink: np.ndarray, first: int, last: int) -> bool:
    """Return whether rows of ink are a line, and no part of letters: there is little ink above and below them."""
    beside = [ink[row].mean() for row in (first - _BESIDE, last + _BESIDE) if 0 <= row < len(ink)]
    return max(beside, default=0.0) < _LITTLE or min(beside) < _NO_INK


def _runs(ink: np.ndarray, length: int) -> Iterator[tuple[int, int, int]]:
    """Yield the row, the start and the end of each run of ink, which may have small gaps."""
    if ink.shape[1] <= length:
        return
    sums = np.cumsum(ink, axis=1, dtype=np.int32)
    solid = sums[:, length:] - sums[:, :-length] >= _SOLID * length
    for row in np.flatnonzero(solid.any(axis=1)):
        edges = np.flatnonzero(np.diff(solid[row].astype(np.int8), prepend=0, append=0))
        yield from ((int(row), int(start), int(end) + length) for start, end in edges.reshape(-1, 2))
