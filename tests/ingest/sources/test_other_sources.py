"""Reads file systems through fsspec, and readers of LlamaIndex."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem

from ingest.errors import SourceFailed
from ingest.source import Item, Known, Source
from ingest.sources.file_system import FileSystemSource, LlamaIndexSource

READER = "llama_index:llama_index.core.readers.SimpleDirectoryReader"
NOTHING: Mapping[str, Known] = {}


def read(source: Source, known: Mapping[str, Known] = NOTHING) -> dict[str, Item]:
    return {item.address: item for item in source.items(known)}


def remembered(items: Mapping[str, Item], folder: Path) -> dict[str, Known]:
    return {address: Known(folder / item.name, item.version) for address, item in items.items()}


def files(address: str, **options: object) -> FileSystemSource:
    return FileSystemSource(address, dict(options), _judge, max_bytes=1000)  # type: ignore[arg-type]


def _judge(name: str) -> str:
    return "a draft" if name.startswith("drafts/") else ""


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    folder = tmp_path / "shelf"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.md").write_text("# A")
    (folder / "sub/b.md").write_text("# B")
    return folder


def test_a_folder_is_read_and_only_changed_files_again(shelf: Path) -> None:
    address = f"file://{shelf}"
    first = read(files(address))
    assert {item.name: item.content for item in first.values()} == {"a.md": b"# A", "sub/b.md": b"# B"}
    (shelf / "a.md").write_text("# Changed")
    (shelf / "sub/b.md").chmod(0o644)
    again = read(files(address), remembered(first, shelf))
    assert again[f"{address}/a.md"].content == b"# Changed"


def test_a_file_system_in_memory_and_an_archive_are_read(shelf: Path) -> None:
    fsspec.filesystem("memory").pipe("/papers/c.md", b"# C")
    found = read(files("memory://papers"))
    assert [(item.name, item.content) for item in found.values()] == [("c.md", b"# C")]
    assert [item.is_unchanged for item in read(files("memory://papers"), remembered(found, shelf)).values()] == [True]
    with zipfile.ZipFile(shelf / "z.zip", "w") as archive:
        archive.write(shelf / "sub/b.md", "deep/b.md")
    assert [item.name for item in read(files("zip://", fo=str(shelf / "z.zip"))).values()] == ["deep/b.md"]


def test_the_documents_of_a_folder_that_cannot_be_listed_stay(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address, list_folder = f"file://{shelf}", LocalFileSystem.ls
    first = read(files(address))

    def fail(self: LocalFileSystem, path: str, **options: object) -> object:
        if path.endswith("/sub"):
            raise PermissionError("not allowed")
        return list_folder(self, path, **options)

    monkeypatch.setattr(LocalFileSystem, "ls", fail)
    again = read(files(address), remembered(first, shelf))
    assert "/sub cannot be read: not allowed" in again.pop(f"{address}/sub").error
    assert {name: item.is_unchanged for name, item in again.items()} == dict.fromkeys(first, True)
    with pytest.raises(SourceFailed, match="not allowed"):
        read(files(f"{address}/sub"))


def test_a_file_that_is_left_out_is_not_transferred(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shelf / "drafts").mkdir()
    (shelf / "drafts/c.md").write_text("# C")
    transferred: list[str] = []
    read_file = LocalFileSystem.cat_file
    monkeypatch.setattr(
        LocalFileSystem, "cat_file", lambda self, path: transferred.append(Path(path).name) or read_file(self, path)
    )
    found = read(files(f"file://{shelf}"))
    assert (found[f"file://{shelf}/drafts/c.md"].skipped, sorted(transferred)) == ("a draft", ["a.md", "b.md"])


def test_a_single_file_is_read(shelf: Path) -> None:
    assert [item.content for item in read(files(f"file://{shelf}/a.md")).values()] == [b"# A"]


def test_a_large_file_is_an_error_and_is_not_read(shelf: Path) -> None:
    (shelf / "large.txt").write_text("x" * 2000)
    assert "1,000 bytes" in read(files(f"file://{shelf}"))[f"file://{shelf}/large.txt"].error


@pytest.mark.parametrize(
    ("address", "words"),
    [("gs://bucket/papers", "gcsfs"), ("nothing://x", "Protocol not known"), ("zip:///no.zip", "cannot be read")],
)
def test_a_file_system_that_cannot_be_opened_is_an_error(address: str, words: str) -> None:
    with pytest.raises(SourceFailed, match=words):
        read(files(address))


def test_a_reader_of_llama_index_gives_its_documents(shelf: Path) -> None:
    source = LlamaIndexSource(READER, {"input_dir": str(shelf), "recursive": True})
    first = read(source)
    assert sorted(item.content for item in first.values()) == [b"# A", b"# B"]
    assert all(item.name.endswith(("/a.md.txt", "/sub/b.md.txt")) for item in first.values())
    (shelf / "a.md").write_text("# New")
    again = read(source, remembered(first, shelf))
    assert sorted(item.is_unchanged for item in again.values()) == [False, True]


def test_documents_that_get_another_id_with_each_call_are_known_by_their_text(shelf: Path) -> None:
    def texts(*given: str) -> LlamaIndexSource:
        path = "llama_index:llama_index.core.readers.StringIterableReader"
        return LlamaIndexSource(path, {"load": {"texts": list(given)}})

    first = read(texts("A", "B"))
    again = read(texts("A", "C"), remembered(first, shelf))
    assert [(item.is_unchanged, item.content) for item in again.values()] == [(True, b""), (False, b"C")]
    assert next(iter(again)) == next(iter(first))


def test_a_reader_of_a_package_gives_its_documents(shelf: Path) -> None:
    pytest.importorskip("llama_index.readers.json", reason="pip install llama-index-readers-json")
    (shelf / "a.json").write_text('{"pump": "Borea"}')
    path, load = "llama_index:llama_index.readers.json.JSONReader", {"input_file": str(shelf / "a.json")}
    source = LlamaIndexSource(path, {"levels_back": 0, "load": load})
    first = read(source)
    assert [item.content for item in first.values()] == [b"pump Borea"]
    assert [item.is_unchanged for item in read(source, remembered(first, shelf)).values()] == [True]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("llama_index:subprocess.Popen", "not a reader"),
        ("llama_index:no_such_package.Reader", "Install its package"),
        ("llama_index:Reader", "correct the class path"),
    ],
)
def test_what_is_no_reader_is_refused(path: str, words: str) -> None:
    with pytest.raises(SourceFailed, match=words):
        read(LlamaIndexSource(path, {"args": "true"}))


def test_the_error_of_a_reader_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceFailed, match="ValueError"):
        read(LlamaIndexSource(READER, {"input_dir": str(tmp_path / "none")}))
