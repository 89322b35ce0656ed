"""What the command says about files that an ingest leaves out or cannot read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def make_project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    for name in ("a", "b", "c", "d", "e"):
        (project / name / "node_modules").mkdir(parents=True)
        (project / f"{name}.bin").write_bytes(b"\x00\x01\x02" * 50)
    (project / "readme.md").write_text("# Read me\n\nThe pump is in the cellar.\n")
    (project / "key.pem").write_text("secret")
    return project


def test_the_end_of_an_ingest_groups_by_reason(run: Callable, tmp_path: Path) -> None:
    project = make_project(tmp_path)
    told = run("ingest", project).err
    assert "left out: 5: of a package manager or a cache (a/node_modules, b/node_modules, c/node_modules, …" in told
    assert f"left out: {project}/key.pem: a key or a secret\n" in told
    assert "(a.bin, b.bin, c.bin, …; --details lists them)" in told
    assert "failed: 5: it contains no text. " in told
    assert "--include GLOB reads what a rule leaves out." in told
    listed = run("ingest", project, "--details").err
    assert (listed.count("failed: "), listed.count("node_modules: ")) == (5, 5)


def test_a_dry_run_shows_what_each_rule_leaves_out(run: Callable, tmp_path: Path) -> None:
    told = run("ingest", make_project(tmp_path), "--dry-run", "--exclude", "*.bin").err
    assert "left out: 5: of a package manager or a cache (node_modules/) (a/node_modules" in told
    assert "key.pem: a key or a secret (*.pem)\n" in told
    assert "left out: 5: excluded (*.bin) (a.bin, b.bin, c.bin, …; --details lists them)" in told


def test_included_files_are_read(run: Callable, tmp_path: Path) -> None:
    report = run("ingest", make_project(tmp_path), "--include", "*.pem", "--exclude", "*.bin", "--json").json
    assert (report["indexed"], len(report["failed"])) == (2, 0)


def test_counts_name_only_files_that_failed_and_were_selected(run: Callable, tmp_path: Path) -> None:
    project = make_project(tmp_path)
    run("ingest", project)
    assert "in 1 of 1 document. 5 files could not be read." in run("search", "--count", "pump").out
    assert run("search", "--count", "pump", "--document", "read*").out.rstrip().endswith("in 1 of 1 document.")


def test_a_folder_without_files_says_which_documents_stay(run: Callable, tmp_path: Path) -> None:
    project = make_project(tmp_path)
    run("ingest", project)
    for path in (*project.glob("*.bin"), project / "readme.md", project / "key.pem"):
        path.unlink()
    told = run("ingest", project, "--sync")
    assert told.code == 1
    assert "1 document from there can still be searched: nothing is removed, because no file was left" in told.err
    assert "`candor documents rm` removes documents." in told.err
    assert "cellar" in run("search", "pump").out


def test_a_document_without_text_says_why(run: Callable, tmp_path: Path) -> None:
    run("ingest", make_project(tmp_path))
    told = run("show", "a.bin", "--text")
    assert told.code == 1
    assert "Document 'a.bin' in collection 'project' has no parsed text: " in told.err
    assert "a.bin contains no text." in told.err
