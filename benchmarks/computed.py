"""Compare the values that Candor computes for formulas with those that Excel stored.

    pip download --no-deps --no-binary :all: xlcalculator==0.5.0   # its tests hold workbooks that Excel saved
    python -m benchmarks.computed xlcalculator-0.5.0 DATA/formats

Formulas without a stored value are left out. "Not computed" are those for which Candor shows the formula.
"""

from __future__ import annotations

import argparse
import time
from math import isclose
from pathlib import Path

from ingest.readers.sheets.computed import Computed


def main() -> None:
    import openpyxl

    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folders", type=Path, nargs="+")
    right = other = 0
    lacking = [0, 0]
    seconds = 0.0
    for path in sorted(path for folder in options.parse_args().folders for path in folder.rglob("*.xls[xm]")):
        formulas, values = (openpyxl.load_workbook(path, data_only=only) for only in (False, True))
        computed = Computed(path.read_bytes())
        for sheet in formulas.worksheets:
            for cell in (cell for row in sheet.iter_rows() for cell in row if cell.data_type == "f"):
                stored = values[sheet.title][cell.coordinate]
                if stored.value is None:
                    continue
                started = time.process_time()
                value = computed.value(sheet.title, (cell.row - 1, cell.column - 1))
                seconds += time.process_time() - started
                same = value is not None and _same(value, stored)
                if value is None:
                    lacking[str(stored.value).startswith("#")] += 1
                elif not same:
                    print(f"{path.name}\t{cell.coordinate}\t{cell.value}\t{stored.value}\t{value[1]}")
                right, other = right + same, other + (value is not None and not same)
    print(
        f"{right} as Excel, {other} otherwise, {lacking[False]} not computed, {lacking[True]} not computed that are "
        f"errors in Excel too; {seconds:.1f} s of CPU time"
    )


def _same(value: tuple[str, str], stored: object) -> bool:
    from openpyxl.utils.datetime import to_excel

    expected = stored.value  # type: ignore[attr-defined]
    if value[0] == "str" or isinstance(expected, str):
        return value[1] == str(expected)
    number = expected if isinstance(expected, bool | int | float) else to_excel(expected)
    return isclose(float(value[1]), float(number), rel_tol=1e-9, abs_tol=1e-9)


if __name__ == "__main__":
    main()
