"""Tests of the source distribution and its wheel: it has every file of the packages, and works without the repository.

The wheel is installed into a new environment. This environment shares the libraries of the current one, because
installing them takes minutes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from base.installation import DISTRIBUTION, own_version
from support.panel import Panel
from support.scripted_endpoint import ScriptedEndpoint
from support.waiting import LIMIT_S

ROOT = Path(__file__).parent.parent
PACKAGES = ("api", "base", "candor_client", "ingest", "multi_agent", "sample_docs", "vectorstore")
NOT_PACKED = ("*.pyc", "__pycache__", "*.egg-info")
STATUSES = ["answered", "answered", "insufficient"]  # of the questions of `candor demo`
MEDIA_TYPES = {
    ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml",
    ".json": "application/json",
}  # fmt: skip


def files_of(*packages: str) -> set[str]:
    """Return the paths of all files of the packages in the repository, except hidden files."""
    paths = (path for package in packages for path in (ROOT / package).rglob("[!.]*") if path.is_file())
    return {path.relative_to(ROOT).as_posix() for path in paths if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source distribution built from a copy, because setuptools writes files into the source folder."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns(*NOT_PACKED))
    (source / "tests").mkdir()
    for name in ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "constraints.txt", "tests/test_wheel.py"):
        shutil.copy(ROOT / name, source / name)
    code = f"from setuptools.build_meta import build_sdist; build_sdist({str(built)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=source, stdout=subprocess.PIPE, check=True)
    return next(built.glob("candor_documents-*.tar.gz"))


@pytest.fixture(scope="module")
def wheel(sdist: Path) -> Path:
    """A wheel built from the source distribution."""
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", sdist.parent, sdist)
    return next(sdist.parent.glob("candor_documents-*.whl"))


@pytest.fixture
def bare_wheel(wheel: Path, tmp_path: Path) -> Path:
    """The wheel without its requirements, except those of extras, because the libraries are shared."""
    bare = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as packed, zipfile.ZipFile(bare, "w") as copied:
        for member in packed.infolist():
            content = packed.read(member)
            if member.filename.endswith("/METADATA"):
                content = re.sub(rb"Requires-Dist: (?!.*extra ==).*\n", b"", content)
            copied.writestr(member, content)
    return bare


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `candor` command of an environment with the wheel."""
    environment = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    pip("--python", environment / "bin" / "python", "install", "--no-deps", "--no-index", wheel)
    share_libraries(environment)
    return environment / "bin" / "candor"


@pytest.fixture(scope="module")
def demo(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home folder of `candor demo` after its three questions; the last has no answer."""
    home = tmp_path_factory.mktemp("demo")
    printed = run(installed, "demo", "--json", "--home", home)
    assert [answer["status"] for answer in json.loads(printed)["answers"]] == STATUSES
    return home


@pytest.fixture(scope="module")
def service(installed: Path, demo: Path) -> Iterator[httpx.Client]:
    """A client of `candor serve` after the demo."""
    with served(installed, demo, environment()) as client:
        yield client


@contextmanager
def served(program: Path, home: Path, variables: dict[str, str]) -> Iterator[httpx.Client]:
    """A client of `candor serve`, which Ctrl-C stops at the end."""
    command = [program, "serve", "--json", "--port", "0", "--home", home]
    with subprocess.Popen(command, cwd=home, env=variables, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        printed = "".join(iter(process.stdout.readline, "}\n")) + "}"
        with httpx.Client(base_url=json.loads(printed)["url"], timeout=LIMIT_S, trust_env=False) as client:
            yield client
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT_S) == 0


def test_every_file_of_the_packages_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == files_of(*PACKAGES), "nothing is missing, and neither tests nor benchmarks are installed"


def test_the_source_distribution_has_the_tested_versions_and_no_tests(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert "constraints.txt" in names
    assert not [name for name in names if name.startswith("tests")]


def test_packages_are_imported_from_the_wheel(installed: Path) -> None:
    code = f"import {', '.join(PACKAGES)}; print(*(each.__file__ for each in ({', '.join(PACKAGES)})))"
    for file in run(installed.with_name("python"), "-c", code).split():
        assert Path(file).is_relative_to(installed.parent.parent)


def test_the_installed_command_tells_its_version_and_checks_itself(installed: Path, tmp_path: Path) -> None:
    assert run(installed, "--version") == f"candor {own_version()}\n"
    doctor = [installed, "doctor", "--json", "--home", tmp_path / "home"]
    diagnosed = subprocess.run(doctor, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True, check=False)
    checks = {check["name"]: check for check in json.loads(diagnosed.stdout)["checks"]}
    assert all(checks[name]["ok"] for name in ("database", "store", "embedding model"))
    assert diagnosed.returncode == int(not all(check["ok"] for check in checks.values()))


def test_the_installed_command_reads_a_folder_and_asks(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "pump.md").write_text("The Borea 12 works down to -25 °C.\n")
    nowhere = {"CANDOR_LLM__BASE_URL": "http://127.0.0.1:9", "CANDOR_HOME": str(tmp_path / "home")}
    asked = subprocess.run(
        [installed, "ask", "How cold?", "papers", "--json"], cwd=tmp_path, env=environment() | nowhere,
        stdout=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    refused = (asked.returncode, json.loads(asked.stdout)["error"]["type"])
    assert refused == (1, "LLMUnreachable"), "no model is there, so nothing is read"
    subprocess.run(
        [installed, "ingest", "papers", "-c", "papers"], cwd=tmp_path, env=environment() | nowhere,
        stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    asked = subprocess.run(
        [installed, "ask", "How cold?", "--json"], cwd=tmp_path, env=environment() | nowhere,
        stdout=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    assert (asked.returncode, json.loads(asked.stdout)["status"]) == (1, "failed")
    found = subprocess.run(
        [installed, "search", "cold", "-c", "papers", "--json"], env=environment() | nowhere,
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    assert "-25 °C" in json.loads(found.stdout)[0]["text"]


def test_pipx_installs_the_command(bare_wheel: Path, tmp_path: Path) -> None:
    places = {"PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    arguments = ["install", "--python", sys.executable, bare_wheel]
    subprocess.run([sys.executable, "-m", "pipx", *arguments], env=environment() | places, check=True)
    tool = tmp_path / "pipx" / "venvs" / DISTRIBUTION
    share_libraries(tool)
    ingest_and_search(tmp_path / "bin" / "candor", tmp_path)
    code = "from base.installation import extra_command; print(extra_command('local'))"
    advice = run(tool / "bin" / "python", "-c", code)
    assert advice == f"pipx inject {DISTRIBUTION} 'openvino-genai>=2026.4' 'xllamacpp>=2026.10'\n"


def test_uv_installs_the_command(bare_wheel: Path, tmp_path: Path) -> None:
    places = {name: str(tmp_path / name) for name in ("UV_TOOL_DIR", "UV_TOOL_BIN_DIR", "UV_CACHE_DIR")}
    arguments = ["tool", "install", "--offline", "--python", sys.executable, bare_wheel]
    subprocess.run([sys.executable, "-m", "uv", *arguments], env=environment() | places, check=True)
    share_libraries(tmp_path / "UV_TOOL_DIR" / DISTRIBUTION)
    ingest_and_search(tmp_path / "UV_TOOL_BIN_DIR" / "candor", tmp_path)


@pytest.mark.parametrize("provider", ["ollama", "openai"])
def test_a_newcomer_with_a_model_gets_a_cited_answer(installed: Path, tmp_path: Path, provider: str) -> None:
    """Set the model of Ollama, or an address and a key, then do what README.md shows, from `ingest` to Ctrl-C."""
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "pump.md").write_text("The Borea 12 works down to -25 °C.\n")
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    with ScriptedEndpoint(Panel("-25 °C")) as endpoint:
        model = endpoint.settings(provider)
        lines = (f"{name} = {json.dumps(getattr(model, name))}" for name in ("provider", "base_url", "model"))
        (home / "candor.toml").write_text("\n".join(("[llm]", *lines)))
        key = {"CANDOR_LLM__API_KEY": "sk-1"} if provider == "openai" else {}
        variables = environment() | {"CANDOR_HOME": str(home)} | key

        def candor(*arguments: str) -> str:
            done = subprocess.run(
                [installed, *arguments], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        candor("ingest", "papers")
        assert "-25 °C" in candor("search", "How cold?", "-c", "papers")
        asked = candor("ask", "How cold?", "-c", "papers")
        assert asked.startswith("Answered · ")
        assert "[1] pump.md: “The Borea 12 works down to -25 °C.”" in asked
        with served(installed, home, variables) as client:
            assert client.get("/").status_code == 200
            [run] = client.get("/v1/runs").json()
            assert run["status"] == "answered"
            question = {"question": "How cold?", "collection": "papers"}
            assert client.post("/v1/research", json=question).json()["status"] == "answered"
        sent = {each.headers.get("Authorization") for each in endpoint.requests}
    assert sent == {None if provider == "ollama" else "Bearer sk-1"}


def test_the_viewer_is_served_with_the_right_media_types(service: httpx.Client) -> None:
    page = service.get("/")
    assert (page.status_code, page.headers["content-type"].split(";")[0]) == (200, "text/html")
    viewer = sorted(files_of("api/viewer"))
    assert viewer
    for file in viewer:
        answer = service.get(file.removeprefix("api"))
        assert answer.status_code == 200, file
        assert answer.headers["content-type"].split(";")[0] == MEDIA_TYPES[Path(file).suffix], file
        assert answer.content == (ROOT / file).read_bytes()


def test_the_demo_documents_can_be_searched(service: httpx.Client) -> None:
    found = service.post("/v1/search", json={"query": "refrigerant of the Borea 12", "limit": 3})
    assert found.status_code == 200
    assert "R290" in " ".join(passage["text"] for passage in found.json())


def test_the_demo_runs_have_their_answers(service: httpx.Client) -> None:
    runs = service.get("/v1/runs").json()
    assert [run["status"] for run in reversed(runs)] == STATUSES
    assert service.get(f"/v1/runs/{runs[-1]['run_id']}").json()["answer"]["claims"]


def share_libraries(folder: Path) -> None:
    """Let an environment use the libraries of this one, after its own packages. Reads no .pth files of this one."""
    site_packages = sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
    (Path(site_packages) / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")


def ingest_and_search(program: Path, folder: Path) -> None:
    """Read a document and find its passage, with a data folder below ``folder``."""
    (folder / "papers").mkdir()
    (folder / "papers" / "pump.md").write_text("The Borea 12 works down to -25 °C.\n")
    assert run(program, "--version") == f"candor {own_version()}\n"
    run(program, "ingest", folder / "papers", "--home", folder / "home")
    found = run(program, "search", "cold", "--home", folder / "home", "--json")
    assert "-25 °C" in json.loads(found)[0]["text"]


def pip(*arguments: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], check=True)


def run(program: Path, *arguments: str | Path) -> str:
    """Run the program, and return its standard output. Raises CalledProcessError."""
    return subprocess.run(
        [program, *arguments], cwd=program.parent, env=environment(), stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def environment() -> dict[str, str]:
    """Return the environment without variables that lead to the repository or set Candor."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CANDOR_"))}
