"""What an ingest of a folder leaves out, and how it is had back."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from ingest.errors import InvalidRule
from ingest.pipeline.discovery import FoundFile, SkippedFile, discover
from support.workplace import BREAD, PUMPS, Workplace


def write(folder: Path, *names: str, **texts: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts.get("text", PUMPS))
    return folder


def found(folder: Path, **options: Any) -> set[str]:
    return {each.name for each in discover([folder], **options) if isinstance(each, FoundFile)}


def left_out(folder: Path, **options: Any) -> dict[str, tuple[str, str]]:
    entries = [each for each in discover([folder], **options) if isinstance(each, SkippedFile)]
    return {each.name: (each.reason, each.rule) for each in entries}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(
        tmp_path / "project",
        "README.md", "docs/key.pem", "docs/guide.md", "src/__pycache__/a.pyc", "web/node_modules/lib/README.md", ".env",
        ".venv/lib/site-packages/x/LICENSE", "id_rsa", "prod.env", "slides.key", "Icon\r", "DESK.ini",
    )  # fmt: skip


def test_what_no_one_means_is_left_out_with_its_reason_and_rule(project: Path) -> None:
    assert found(project) == {"README.md", "docs/guide.md", "slides.key", "DESK.ini"}
    packages, secret = "of a package manager or a cache", "a key or a secret"
    assert left_out(project) == {
        "docs/key.pem": (secret, "*.pem"),
        "src/__pycache__": (packages, "__pycache__/"),
        "web/node_modules": (packages, "node_modules/"),
        ".env": (secret, "*.env"),
        ".venv": (packages, ".venv/"),
        "id_rsa": (secret, "id_rsa"),
        "prod.env": (secret, "*.env"),
        "Icon\\r": ("no document: written by a program about open files or folders", "Icon[\r]"),
    }


@pytest.mark.parametrize(
    ("include", "more"),
    [
        ("*.pem", {"docs/key.pem"}),
        ("node_modules", {"web/node_modules/lib/README.md"}),
        ("web/node_modules/lib/README.md", {"web/node_modules/lib/README.md"}),
        (".venv/", {".venv/lib/site-packages/x/LICENSE"}),
    ],
)
def test_what_is_left_out_can_be_had_back(project: Path, include: str, more: set[str]) -> None:
    assert found(project, include=(include,)) - found(project) == more


def test_the_folders_around_an_included_file_stay_left_out(project: Path) -> None:
    write(project, "web/node_modules/other/README.md", "web/node_modules/lib/LICENSE")
    there = found(project, include=("web/node_modules/lib/README.md",))
    assert [name for name in there if "node_modules" in name] == ["web/node_modules/lib/README.md"]


def test_excluded_entries_and_those_of_a_candorignore_are_left_out(project: Path) -> None:
    (project / ".candorignore").write_text("# not these\nslides.*\n!docs/key.pem\n")
    (project / "docs/.candorignore").write_text("/guide.md\n")
    assert found(project, exclude=("DESK.*",)) == {"README.md", "docs/key.pem"}
    assert left_out(project, exclude=("DESK.*",)).items() >= {
        ("DESK.ini", ("excluded", "DESK.*")),
        ("slides.key", ("named in .candorignore", "slides.*")),
        ("docs/guide.md", ("named in .candorignore", "/guide.md")),
    }
    assert found(project, include=("slides.key",)) >= {"slides.key"}


def test_a_gitignore_counts_only_in_a_repository(project: Path) -> None:
    write(project, "build/out.md", "docs/build.md")
    (project / ".gitignore").write_text("build/\n")
    assert "build/out.md" in found(project)
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    assert left_out(project)["build"] == ("named in .gitignore", "build/")
    assert "docs/build.md" in found(project)
    write(project, "docs/build/more.md")
    assert found(project / "docs") == {"guide.md", "build.md"}, "the rules of the repository around the folder count"
    assert found(project / "build") == {"out.md"}, "a folder that is named is meant"


def test_a_path_that_names_a_file_is_meant(project: Path) -> None:
    assert found(project / "docs/key.pem") == {"key.pem"}


def test_a_hidden_folder_around_the_ingested_one_does_not_count(tmp_path: Path) -> None:
    assert found(write(tmp_path / ".hidden/node_modules", "a.md")) == {"a.md"}


def test_links_that_lead_out_of_the_folder_are_followed_only_on_request(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", "a.md", "b.md")
    folder = write(tmp_path / "folder", "in.md", "sub/deep.md")
    (folder / "link").symlink_to(outside)
    (folder / "file.md").symlink_to(outside / "a.md")
    (folder / "inner").symlink_to(folder / "sub")
    inside = {"in.md", "sub/deep.md", "inner/deep.md"}
    assert found(folder) == inside
    assert {reason for reason, _ in left_out(folder).values()} == {
        "a link that leads out of the folder (--follow-links)"
    }
    assert found(folder, follow_links=True) == inside | {"link/a.md", "link/b.md", "file.md"}


@pytest.mark.parametrize("pattern", ["/", "a/***"])
def test_an_invalid_pattern_is_an_error_that_names_the_file(project: Path, pattern: str) -> None:
    if pattern == "/":
        (project / ".candorignore").write_text("/\n!\n")
    with pytest.raises(InvalidRule, match="invalid pattern"):
        found(project, exclude=("!",))


def test_sync_removes_documents_that_are_left_out_now(workplace: Workplace) -> None:
    workplace.write("pumps.md", PUMPS)
    secret = workplace.write("node_modules/bread.md", BREAD)
    workplace.ingest(secret, workplace.documents)
    assert workplace.ingest().removed == ()
    assert workplace.ingest(sync=True).removed == ("bread.md",)
    assert workplace.searched("bread") == ["pumps.md"]
    assert workplace.ingest(sync=True).removed == ()
