"""The documentation matches the code: relative links, and the generated page of settings."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    page.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/*.md", "benchmarks/*.md", "sample_docs/*.md")
    for page in sorted(ROOT.glob(pattern))
]
PATH = re.compile(r"`((?:api|benchmarks|docs|ingest|multi_agent|sample_docs|tests|vectorstore)/[\w./]*)`")
SETTING = re.compile(r"`((?:llm|research|ingest|store|service|tools)\.[a-z_.]+)(?: = [^`]*)?`")
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")


@pytest.mark.parametrize("page", PAGES)
def test_relative_links_lead_to_files(page: str) -> None:
    path = ROOT / page
    targets = [match[1] for match in LINK.finditer(path.read_text(encoding="utf-8"))]
    missing = [target for target in targets if "://" not in target and not (path.parent / target).exists()]
    assert not missing


def test_the_configuration_page_is_up_to_date() -> None:
    built = runpy.run_path(str(ROOT / "docs" / "build_configuration.py"))
    page: Path = built["PAGE"]
    assert page.read_text(encoding="utf-8") == built["page"](), "run: python docs/build_configuration.py"


@pytest.mark.parametrize("page", PAGES)
def test_mentioned_paths_exist(page: str) -> None:
    mentioned = {match[1] for match in PATH.finditer((ROOT / page).read_text(encoding="utf-8"))}
    assert not {path for path in mentioned if "NAME" not in path and not (ROOT / path).exists()}


@pytest.mark.parametrize("page", [page for page in PAGES if page != "CHANGELOG.md"])
def test_mentioned_settings_exist(page: str) -> None:
    mentioned = {match[1] for match in SETTING.finditer((ROOT / page).read_text(encoding="utf-8"))}
    assert mentioned <= set(settings())


@pytest.mark.parametrize("page", PAGES)
def test_commands_name_endpoints_that_the_page_defines(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"candor agents give .*--model (\w+)", text))
    assert named <= set(re.findall(r"^\[llms\.(\w+)\]", text, re.MULTILINE))


def settings() -> Iterator[str]:
    """Yield the name of each table and each setting in configuration.md."""
    table = ""
    for line in (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"## `\[(.+)\]`", line):
            yield (table := heading[1])
        elif row := re.match(r"\| `(\w+)` \|", line):
            yield f"{table}.{row[1]}"
