"""The large packages do what docs/architecture.md says, seen by an import hook in the processes of real commands."""

from __future__ import annotations

from pathlib import Path

from benchmarks.seen.__main__ import USES, watch
from support.qdrant import needs_qdrant

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"


@needs_qdrant
def test_real_commands_call_each_package(tmp_path: Path) -> None:
    seen = watch(tmp_path)
    assert [use for use in USES if (use.command, use.call) not in seen] == []
    parsers = {use for use in USES if use.package in ("kreuzberg", "llama-index-core", "unstructured")}
    for use in parsers:
        assert all(call.worker for call in seen[use.command, use.call]), f"{use} reads files in a worker process"


def test_the_page_names_each_package() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    for use in USES:
        assert any(f"`{use.package}`" in row for row in rows), use.package
