"""Compare engines of text recognition: seconds per page, and the words that they find.

    python -m benchmarks.recognition report.pdf letter.pdf --pages 3

The text of the PDFs is the truth. Each page is read as it is, then tilted by 1.2 degrees, pale and covered with noise,
as a worn scanner does it. Words are compared without their order; each Chinese or Japanese character is a word.
Engines: the program Tesseract, the library of Candor, and RapidOCR after `pip install rapidocr onnxruntime`. All use
one core.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy
import pypdfium2
from PIL import Image

from ingest.readers.pdf.tesseract import Tesseract, find_all

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")
_LEAST_WORDS = 40  # of a page
Engine = Callable[[Image.Image, int], str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--pages", type=int, default=1, help="pages of each file, evenly spaced")
    parser.add_argument("--dpi", type=int, default=200)
    given = parser.parse_args()
    pages = [page for file in given.files for page in _pages(file, given.pages, given.dpi)]
    words = sum(truth.total() for _, truth in pages)
    print(f"{len(pages)} pages, {words} words, {given.dpi} dpi\n\n| engine | pages | s per page | found | right |")
    print("| --- | --- | --- | --- | --- |")
    for name, engine in _engines():
        for kind, changed in (("clean", lambda image: image), ("worn", _worn)):
            seconds, found, read = 0.0, 0, 0
            for image, truth in pages:
                picture = changed(image)
                started = time.perf_counter()
                text = engine(picture, given.dpi)
                seconds += time.perf_counter() - started
                got = _words(text)
                found, read = found + (got & truth).total(), read + got.total()
            print(f"| {name} | {kind} | {seconds / len(pages):.1f} | {found / words:.3f} | {found / read:.3f} |")


def _pages(file: Path, most: int, dpi: int) -> Iterator[tuple[Image.Image, Counter[str]]]:
    """Yield pages with their words."""
    with pypdfium2.PdfDocument(file) as document:
        for number in sorted({round(step * len(document) / most) for step in range(most)}):
            page = document[number]
            truth = _words(page.get_textpage().get_text_range().replace("\ufffe", ""))
            if truth.total() >= _LEAST_WORDS:
                yield page.render(scale=dpi / 72, grayscale=True).to_pil(), truth


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.casefold()))


def _worn(image: Image.Image) -> Image.Image:
    tilted = numpy.asarray(image.rotate(1.2, expand=True, fillcolor=255, resample=Image.Resampling.BICUBIC))
    noise = numpy.random.default_rng(0).normal(20, 25, tilted.shape)
    return Image.fromarray((tilted * 0.85 + noise).clip(0, 255).astype("uint8"))


def _engines() -> Iterator[tuple[str, Engine]]:
    for tesseract in find_all():
        yield f"Tesseract {tesseract.read.__name__.removeprefix('_run_')}", _tesseract(tesseract)
    if find_spec("rapidocr"):
        yield "RapidOCR", _rapidocr()


def _tesseract(tesseract: Tesseract) -> Engine:
    def read(image: Image.Image, dpi: int) -> str:
        written = BytesIO()
        image.save(written, "PPM")
        hocr = tesseract.read(written.getvalue(), Path("page"), tesseract.usual_languages, dpi)
        return " ".join(hocr.itertext())

    return read


def _rapidocr() -> Engine:
    from rapidocr import RapidOCR

    more: dict[str, Any] = {"Global.log_level": "error", "EngineConfig.onnxruntime.intra_op_num_threads": 1}
    engine = RapidOCR(params=more)
    return lambda image, _: "\n".join(engine(numpy.asarray(image.convert("RGB"))).txts or ())


if __name__ == "__main__":
    main()
