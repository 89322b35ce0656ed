"""The command that adds packages fits the tool that made the environment, and never names a stranger's package."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from base import installation
from base.installation import extra_command, install_command


def test_an_extra_is_installed_by_the_packages_that_it_names() -> None:
    command = extra_command("local")
    assert command.startswith(f"{sys.executable} -m pip install 'openvino-genai>=")
    assert "xllamacpp>=" in command
    assert "candor" not in command.removeprefix(sys.executable)


def test_the_command_fits_pipx(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pipx_metadata.json").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert install_command("playwright>=1.55") == "pipx inject candor-documents 'playwright>=1.55'"


def test_the_command_fits_uv_whose_environments_have_no_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "executable", "/home/me/.local/share/uv/tools/candor-documents/bin/python")
    assert install_command("a", "b") == f"uv pip install --python {sys.executable} a b"


def test_an_image_is_built_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "candor-image").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert extra_command("local") == "docker compose build --build-arg EXTRAS='[local]'"
