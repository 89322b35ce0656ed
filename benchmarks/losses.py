"""Show which losses Candor and other readers have on the files of public bug reports, in ``tests/ingest/cases``.

    python -m benchmarks.losses                          Candor alone
    python -m benchmarks.losses --peers VENV/bin/python  and the readers that are installed in another environment

Prints a row per kind of loss (``losses.toml``) and a column per reader: the files that it reads right of those that it
could read. "–": it read none, because of the format or an error. The last column counts the warnings of Candor.
Install the others with their defaults: pip install "markitdown[all]" kreuzberg docling-parse "unstructured[all-docs]".
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from ingest.errors import FileError
from ingest.parser import load_parser

CASES = Path(__file__).parents[1] / "tests" / "ingest" / "cases"
LOSSES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["loss"]
PEERS = {
    "kreuzberg": """
from kreuzberg import extract_file_sync
read = lambda path: extract_file_sync(path).content
""",
    "docling-parse": """
from docling_parse.pdf_parser import DoclingPdfParser
from docling_core.types.doc.page import TextCellUnit
def read(path):
    pages = DoclingPdfParser().load(path).iterate_pages()
    return "\\n".join(cell.text for _, page in pages for cell in page.iterate_cells(TextCellUnit.LINE))
""",
    "unstructured": """
from unstructured.partition.auto import partition
read = lambda path: "\\n".join(element.metadata.text_as_html or element.text for element in partition(path))
""",
    "markitdown": """
from markitdown import MarkItDown
read = lambda path: MarkItDown().convert(path).text_content
""",
}
_LOOP = """
import json, sys
for path in json.loads(sys.stdin.readline()):
    try:
        text = read(path)
    except BaseException as error:
        text = None
    print("\\n@" + json.dumps([path, text]), flush=True)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", help="Python of an environment with other readers")
    arguments = parser.parse_args()
    files = [str(CASES / file) for loss in LOSSES for file in loss["files"]]
    warnings: dict[str, int] = {}
    readers = {"Candor": _read_here(files, warnings)}
    for name, code in PEERS.items() if arguments.peers else ():
        readers[name] = _read_there(arguments.peers, code, files)
    print("| kind of loss |", " | ".join(readers), "| warnings |")
    print("|---|" + "---|" * (len(readers) + 1))
    for loss in LOSSES:
        paths = [str(CASES / file) for file in loss["files"]]
        shares = [_share(loss, [texts.get(path) for path in paths]) for texts in readers.values()]
        print(f"| {loss['kind']} |", " | ".join(shares), f"| {sum(warnings[path] for path in paths)} |")


def _read_here(files: Sequence[str], warnings: dict[str, int]) -> dict[str, str | None]:
    parser = load_parser("default")
    texts: dict[str, str | None] = {}
    for file in files:
        try:
            document = parser.parse(Path(file))
            texts[file], warnings[file] = document.text, len(document.warnings)
        except FileError:
            texts[file], warnings[file] = None, 1
    return texts


def _read_there(python: str, code: str, files: Sequence[str]) -> dict[str, str | None]:
    ran = subprocess.run(
        [python, "-c", code + _LOOP], input=json.dumps(files) + "\n", capture_output=True, text=True, check=False
    )
    if ran.returncode:
        print(ran.stderr[-400:])
    return dict(json.loads(line[1:]) for line in ran.stdout.splitlines() if line.startswith("@"))


def _share(loss: Mapping[str, str], texts: Sequence[str | None]) -> str:
    """Return how many of the texts are right, of those that were read."""
    lines = [" ".join(text.split()) for text in texts if text is not None]
    right = [
        line
        for line in lines
        if re.search(loss["right"], line) and not ("wrong" in loss and re.search(loss["wrong"], line))
    ]
    return f"{len(right)} of {len(lines)}" if lines else "–"


if __name__ == "__main__":
    main()
