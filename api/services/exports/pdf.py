"""Renders an answer as a PDF with links from the marks to the evidence. ``pdf.typ`` is its layout."""

import unicodedata
from pathlib import Path
from typing import Any

from api.errors import UsageError
from api.services.exports.export import NOT_SHOWN, Report
from base.typesetting import missing_letters, typeset
from multi_agent.storage.trace import RunSummary

_MISSING = "□"
_SHOWN = 10


def render(run: RunSummary, report: Report) -> bytes:
    """Return the PDF. Raises UsageError if its letters cannot be shown."""
    pictures = {mark: f"{mark}.png" if picture else "" for mark, picture in report.pictures.items()}
    files = {f"{mark}.png": picture for mark, picture in report.pictures.items() if picture}
    unknown = _unknown_symbols(report.model_dump_json())
    if unknown:
        report = Report.model_validate_json(
            report.model_dump_json().translate(dict.fromkeys(map(ord, unknown), _MISSING))
        )
    note = f"{_MISSING} replaces symbols that no font on this computer has." if unknown else ""
    return typeset(Path(__file__).with_suffix(".typ"), _data(run, report, note) | {"pictures": pictures}, files=files)


def _unknown_symbols(text: str) -> list[str]:
    """Return the symbols that no font has. Raises UsageError for such letters."""
    missing = missing_letters(text)
    if letters := [each for each in missing if unicodedata.category(each)[0] in "LMN"]:
        lacking = " ".join(letters[:_SHOWN])
        raise UsageError(
            f"No font on this computer has {lacking}. Install one that has them, such as Noto. Choose docx or html."
        )
    return missing


def _data(run: RunSummary, report: Report, note: str) -> dict[str, Any]:
    day = run.started_at
    return {
        **report.model_dump(mode="json"),
        "shown": [source.shown for source in report.sources],
        "contents": report.contents,
        "not_shown": NOT_SHOWN,
        "note": note,
        "date": {"year": day.year, "month": day.month, "day": day.day},
    }
