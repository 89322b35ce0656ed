"""The folders that an ingest of the service may read, also when somebody changes them meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.errors import UnreadableFile
from ingest.pipeline.boundary import Boundary, Outside
from ingest.pipeline.discovery import FoundFile
from ingest.pipeline.read_ahead import Copies


@pytest.fixture
def boundary(tmp_path: Path) -> Boundary:
    """A root with a folder and a file, Candor's data with an upload, and a file outside both."""
    for name in ("root/inner", "home/uploads/papers", "outside"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("root/inner/a.txt", "home/uploads/papers/u.txt", "home/candor.toml", "outside/a.txt"):
        (tmp_path / name).write_text(name)
    return Boundary((tmp_path / "root",), tmp_path / "home", tmp_path / "home" / "uploads" / "papers")


def _read(boundary: Boundary, path: Path, *, known: bool = False) -> str:
    with os.fdopen(boundary.open(path, known=known)) as file:
        return file.read()


def _copied(boundary: Boundary, path: Path, folder: Path, *, known: bool = False) -> FoundFile:
    folder.mkdir(exist_ok=True)
    file = FoundFile(path=path, document=str(path), name=path.name)
    return Copies(boundary, folder).take(file, known=known, max_file_mb=1)


def test_files_in_the_roots_and_uploads_are_opened(boundary: Boundary, tmp_path: Path) -> None:
    for name in ("root/inner/a.txt", "home/uploads/papers/u.txt"):
        assert _read(boundary, tmp_path / name) == name
    for name in ("outside/a.txt", "home/candor.toml", "root/../outside/a.txt"):
        with pytest.raises(Outside):
            boundary.open(tmp_path / name)


def test_candors_data_inside_a_root_stays_closed(boundary: Boundary, tmp_path: Path) -> None:
    wide = Boundary((tmp_path,), boundary.own, boundary.uploads)
    assert _read(wide, tmp_path / "outside" / "a.txt")
    for known in (False, True):
        with pytest.raises(Outside):
            wide.open(tmp_path / "home" / "candor.toml", known=known)


def test_a_shared_folder_of_uploads_lies_outside_the_data_folder(boundary: Boundary, tmp_path: Path) -> None:
    for collection in ("papers", "letters"):
        (tmp_path / "shared" / collection).mkdir(parents=True)
        (tmp_path / "shared" / collection / "u.txt").write_text(collection)
    shared = Boundary(boundary.roots, boundary.own, tmp_path / "shared" / "papers")
    assert _read(shared, tmp_path / "shared" / "papers" / "u.txt") == "papers"
    with pytest.raises(Outside):
        shared.open(tmp_path / "shared" / "letters" / "u.txt")


def _swap(path: Path, target: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to(target)


@pytest.mark.parametrize("swapped", ["root/inner", "root/inner/a.txt"])
def test_a_link_put_there_after_the_check_is_refused(
    boundary: Boundary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swapped: str
) -> None:
    resolve: Callable[..., str] = os.path.realpath
    target = tmp_path / swapped.replace("root/inner", "outside")
    path = tmp_path / "root" / "inner" / "a.txt"

    def resolved(asked: Path, **options: bool) -> str:
        found = resolve(asked, **options)
        if asked == path:
            _swap(tmp_path / swapped, target)
        return found

    monkeypatch.setattr(os.path, "realpath", resolved)
    with pytest.raises(Outside):
        boundary.open(path)


def test_a_known_document_outside_is_read_only_at_its_own_place(boundary: Boundary, tmp_path: Path) -> None:
    path = tmp_path / "outside" / "a.txt"
    assert _read(boundary, path, known=True) == "outside/a.txt"
    (tmp_path / "alias").symlink_to(tmp_path / "outside")
    with pytest.raises(Outside):
        boundary.open(tmp_path / "alias" / "a.txt", known=True)


def test_a_copy_has_content_and_time_of_the_file_and_is_removed(boundary: Boundary, tmp_path: Path) -> None:
    path = tmp_path / "root" / "inner" / "a.txt"
    taken = _copied(boundary, path, tmp_path / "copies")
    assert (taken.path.read_text(), taken.path.name) == ("root/inner/a.txt", "a.txt")
    assert taken.path.stat().st_mtime_ns == path.stat().st_mtime_ns
    Copies(boundary, tmp_path / "copies").drop(taken)
    assert list((tmp_path / "copies").iterdir()) == []


def test_a_pipe_in_a_root_does_not_stop_the_ingest(boundary: Boundary, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "root" / "pipe.txt")
    with pytest.raises(UnreadableFile, match="not a regular file"):
        _copied(boundary, tmp_path / "root" / "pipe.txt", tmp_path / "copies")
