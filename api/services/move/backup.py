"""Writes the files of a data folder into one archive, while a service may use them, and restores them.

The archive is a ZIP file. It has copies of the SQLite databases as of one moment, the embedded collections with their
vectors, and all other files. ``backup.json`` in it lists the files with their checksums.
"""

import hashlib
import shutil
import sqlite3
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO, Literal

import sqlalchemy as sql
from pydantic import Field, ValidationError

from api.errors import HomeError, UsageError
from api.services.move.collections import OnPassages, copy_collection
from api.services.move.move import stored_collections
from api.settings import MODELS_FILE, Settings
from api.storage.home import DATABASE, create_home
from api.storage.upgrade import newest_version
from base.installation import own_version
from base.models import FrozenModel
from ingest.ledger.lock import ingest_lock
from vectorstore.models import CollectionSpec
from vectorstore.store import VectorStore

_MANIFEST = "backup.json"
_COLLECTIONS = "collections"
_SPECIAL = ("*.db", "*.db-*", "*.lock", MODELS_FILE)
_UNFINISHED = ".incoming"  # uploads
_PIECE = 1 << 20
_OF_PROCESSES = ("ingests_under_way", "processes")
"""Tables with what running processes store."""


class Manifest(FrozenModel):
    """What an archive contains."""

    kind: Literal["candor backup"] = "candor backup"
    format: Literal[1] = 1
    candor: str = Field(description="version that wrote it")
    schema_version: str = Field(description="of the database")
    created_at: datetime
    home: str = Field(description="data folder; paths of uploaded documents begin with it")
    collections: dict[str, int] = Field(description="number of passages of each")
    left_out: tuple[str, ...] = Field(description="data that is not in the archive, one sentence each")
    files: dict[str, str] = Field(description="SHA-256 of each file")


def back_up(
    settings: Settings,
    engine: sql.Engine,
    store: VectorStore,
    make_store: Callable[[Path], VectorStore],
    file: Path,
    on_collection: Callable[[str], OnPassages],
) -> Manifest:
    """Write the archive. Searches, questions and uploads continue, and ingests wait until it is complete.

    ``make_store`` returns the embedded store of another data folder. Raises UsageError if the file exists or is in the
    data folder, HomeError, IngestUnderWay, StoreError.
    """
    file, home = file.absolute(), settings.home
    if file.exists():
        raise UsageError(f"{str(file)!r} exists already. Name a new file.")
    if file.resolve().is_relative_to(home.resolve()):
        raise UsageError(f"{str(file)!r} is in the data folder. Name a file outside of it.")
    with _disk_errors(file), TemporaryDirectory(prefix=".candor-", dir=file.parent) as made, ExitStack() as locks:
        copies, part = Path(made), Path(made, "part")
        specs = list(stored_collections(engine, store)) if settings.store.url is None else []
        for name in sorted({spec.collection for spec in specs}):
            locks.enter_context(ingest_lock(engine, name))
        _copy_databases(home, copies)
        collections = _copy_collections(specs, store, make_store(copies), on_collection)
        part.touch(0o600)  # it has the documents and the hashes of passwords
        copied = [path for each in ("*.db", f"{_COLLECTIONS}/*/**/*") for path in copies.glob(each) if path.is_file()]
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            files = dict(_add(archive, copies, copied))
            files |= _add(archive, home, (path for path in sorted(home.rglob("*")) if _is_copied(home, path)))
            manifest = Manifest(
                candor=own_version(), schema_version=newest_version(), created_at=datetime.now(UTC),
                home=str(home.absolute()), collections=collections, left_out=tuple(_left_out(settings)), files=files,
            )  # fmt: skip
            archive.writestr(_MANIFEST, manifest.model_dump_json())
        part.replace(file)
    return manifest


def restore(file: Path, home: Path) -> Manifest:
    """Restore an archive into a new or empty data folder, after a check of all its files.

    Raises UsageError if the folder has files, or the archive is damaged, foreign or of a newer Candor, HomeError.
    """
    if any(create_home(home).iterdir()):
        raise UsageError(f"The data folder {str(home)!r} is not empty. Name a new one with --home.")
    with _disk_errors(home), _readable(file) as archive:
        manifest = _read_manifest(archive, file)
        _check(archive, manifest, file)
        try:
            archive.extractall(home, manifest.files)
            if DATABASE in manifest.files:
                _relocate(home, manifest.home)
        except BaseException:
            shutil.rmtree(home, ignore_errors=True)
            raise
    return manifest


def _copy_databases(home: Path, copies: Path) -> None:
    """Copy the SQLite databases while others write. The jobs come first: a job that has ended is only ended again."""
    for path in sorted(home.glob("*.db"), reverse=True):
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copies / path.name)) as copy:
            source.backup(copy)
            if path.name == DATABASE:
                with copy:
                    for table in _OF_PROCESSES:
                        copy.execute(f"DELETE FROM {table}")


def _copy_collections(
    specs: Iterable[CollectionSpec], store: VectorStore, target: VectorStore, on: Callable[[str], OnPassages]
) -> dict[str, int]:
    copied = {}
    for spec in specs:
        with store.open(spec.name) as source, target.create(spec) as copy:
            copied[spec.name] = copy_collection(source, copy, on(spec.name))
    return copied


def _is_copied(home: Path, path: Path) -> bool:
    """Return whether to copy a file of the data folder as it is: no database, collection, lock, unfinished upload or
    key of a model."""
    first, *others = path.relative_to(home).parts
    special = first == _COLLECTIONS or (not others and any(map(PurePosixPath(first).match, _SPECIAL)))
    return path.is_file() and not (special or path.is_symlink() or _UNFINISHED in others)


def _left_out(settings: Settings) -> Iterator[str]:
    """Yield what the data folder does not contain."""
    if settings.database_url is not None:
        yield "The database is in Postgres: back it up with `pg_dump`."
    if settings.store.url is not None:
        yield "The collections are on the Qdrant server: back them up with its snapshots."
    if not settings.uploads_folder.is_relative_to(settings.home):
        yield f"Uploaded files are in {str(settings.uploads_folder)!r}: copy this folder."
    if (settings.home / MODELS_FILE).exists():
        yield "The models chosen in the page are left out, because they have keys: choose them again."
    for path in settings.home.rglob("*"):
        if path.is_symlink():
            yield f"{str(path)!r} is a link: copy what it names."


def _add(archive: zipfile.ZipFile, folder: Path, files: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Add files of a folder. Yield their names and checksums."""
    for path in files:
        name = path.relative_to(folder).as_posix()
        with suppress(FileNotFoundError), path.open("rb") as source:  # its document was removed meanwhile
            with archive.open(name, "w", force_zip64=True) as target:
                digest = _copy(source, target)
            yield name, digest


def _copy(source: IO[bytes], target: IO[bytes] | None = None) -> str:
    """Copy a file, or only read it. Return its checksum."""
    digest = hashlib.sha256()
    while piece := source.read(_PIECE):
        digest.update(piece)
        if target:
            target.write(piece)
    return digest.hexdigest()


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    """Translate OSError and sqlite3.OperationalError to HomeError."""
    try:
        yield
    except (OSError, sqlite3.OperationalError) as error:
        reason = getattr(error, "strerror", None) or error
        raise HomeError(
            f"Cannot write {str(path)!r}: {reason}. Check the folder, its permissions and space."
        ) from error


@contextmanager
def _readable(file: Path) -> Iterator[zipfile.ZipFile]:
    """Open an archive. Raises UsageError for what is missing or damaged in it."""
    if not file.is_file():
        raise UsageError(f"There is no file {str(file)!r}.")
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise UsageError(f"{str(file)!r} is damaged, or no backup of Candor ({error}). Use another backup.") from error


def _read_manifest(archive: zipfile.ZipFile, file: Path) -> Manifest:
    """Return what the archive contains. Raises UsageError if it is none of Candor, or of a newer one."""
    try:
        manifest = Manifest.model_validate_json(archive.read(_MANIFEST))
    except (KeyError, ValidationError) as error:
        raise UsageError(f"{str(file)!r} is no backup of Candor, or one of a newer version.") from error
    if manifest.schema_version > newest_version():
        raise UsageError(
            f"{str(file)!r} was written by Candor {manifest.candor}, which is newer. Upgrade Candor first."
        )
    if set(archive.namelist()) != {*manifest.files, _MANIFEST}:
        raise UsageError(f"{str(file)!r} is damaged: it does not have the files that it lists. Use another backup.")
    return manifest


def _check(archive: zipfile.ZipFile, manifest: Manifest, file: Path) -> None:
    """Raise UsageError if the content of a file is not what was written."""
    for name, expected in manifest.files.items():
        with archive.open(name) as source:
            if _copy(source) != expected:
                raise UsageError(f"{str(file)!r} is damaged: {name!r} has changed. Use another backup.")


def _relocate(home: Path, former: str) -> None:
    """Replace the data folder in the paths of documents. They keep their ids, and with them their citations."""
    with closing(sqlite3.connect(home / DATABASE)) as connection, connection:
        for column in ("path", "container"):
            connection.execute(
                f"UPDATE documents SET {column} = ? || substr({column}, ?) WHERE substr({column}, 1, ?) = ?",
                (f"{home.absolute()}/", len(former) + 2, len(former) + 1, f"{former}/"),
            )
