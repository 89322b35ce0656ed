"""The wheel: everything of the packages is in it, and what is installed from it works without the repository.

The environment is fresh but for the libraries, which it finds where they are installed already: to install them takes
minutes, and tells nothing about Candor.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("api", "ingest", "multi_agent", "sample_docs", "vectorstore")
NOT_PACKED = ("*.pyc", "__pycache__", "*.egg-info")
STATUSES = ["answered", "answered", "insufficient"]
"""Of the demo's questions."""
MEDIA_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def files_of(*packages: str) -> set[str]:
    """Every file of the packages in the repository, by its path there; what begins with a dot is for git."""
    paths = (path for package in packages for path in (ROOT / package).rglob("[!.]*") if path.is_file())
    return {path.relative_to(ROOT).as_posix() for path in paths if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: setuptools leaves its own files in the folder that it builds from."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns(*NOT_PACKED))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", built, source)
    return next(built.glob("candor-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `candor` of an environment in which Candor is from the wheel alone."""
    environment = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    pip("--python", environment / "bin" / "python", "install", "--no-deps", "--no-index", wheel)
    libraries = sysconfig.get_path("purelib")
    its_own = Path(sysconfig.get_path("purelib", vars={"base": str(environment), "platbase": str(environment)}))
    (its_own / "libraries.pth").write_text(f"{libraries}\n")  # found after its own; what is editable there is not
    return environment / "bin" / "candor"


@pytest.fixture(scope="module")
def demo(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home folder that `candor demo` filled; it has researched its questions, of which one has no answer."""
    home = tmp_path_factory.mktemp("demo")
    ran = run(installed, "demo", "--json", "--home", home)
    assert [answer["status"] for answer in json.loads(ran)["answers"]] == STATUSES
    return home


@pytest.fixture(scope="module")
def service(installed: Path, demo: Path) -> Iterator[httpx.Client]:
    """A client of `candor serve`."""
    command = [installed, "serve", "--json", "--port", "0", "--home", demo]
    with subprocess.Popen(command, cwd=demo, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        told = "".join(iter(process.stdout.readline, "}\n")) + "}"
        with httpx.Client(base_url=json.loads(told)["url"], timeout=60, trust_env=False) as client:
            yield client
        process.terminate()


def test_every_file_of_the_packages_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        missing = files_of(*PACKAGES) - set(packed.namelist())
    assert not missing


def test_what_runs_is_the_wheel_and_not_the_repository(installed: Path) -> None:
    code = f"import {', '.join(PACKAGES)}; print(*(each.__file__ for each in ({', '.join(PACKAGES)})))"
    for file in run(installed.with_name("python"), "-c", code).split():
        assert Path(file).is_relative_to(installed.parent.parent)


def test_the_page_and_all_its_files_are_served_as_what_they_are(service: httpx.Client) -> None:
    page = service.get("/")
    assert (page.status_code, page.headers["content-type"].split(";")[0]) == (200, "text/html")
    viewer = sorted(files_of("api/viewer"))
    assert viewer
    for file in viewer:
        answer = service.get(file.removeprefix("api"))
        assert answer.status_code == 200, file
        assert answer.headers["content-type"].split(";")[0] == MEDIA_TYPES[Path(file).suffix], file
        assert answer.content == (ROOT / file).read_bytes()


def test_the_demos_documents_are_searched_over_http(service: httpx.Client) -> None:
    found = service.post("/v1/search", json={"query": "refrigerant of the Borea 12", "limit": 3})
    assert found.status_code == 200
    assert "R290" in " ".join(passage["text"] for passage in found.json())


def test_the_demos_runs_are_shown_with_their_answers(service: httpx.Client) -> None:
    runs = service.get("/v1/runs").json()
    assert [run["status"] for run in reversed(runs)] == STATUSES
    assert service.get(f"/v1/runs/{runs[-1]['run_id']}").json()["answer"]["claims"]


def pip(*arguments: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], check=True)


def run(program: Path, *arguments: str | Path) -> str:
    """What it prints; it must not fail."""
    return subprocess.run(
        [program, *arguments], cwd=program.parent, env=environment(), stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def environment() -> dict[str, str]:
    """Ours without what would lead to the repository or to somebody's settings."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CANDOR_"))}
