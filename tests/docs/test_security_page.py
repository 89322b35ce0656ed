"""docs/security.md and its list of findings: the tests that it names exist, and the files that it shows work."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from api.settings import ServiceSettings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
FINDINGS = (ROOT / "docs" / "security-review.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(?:\w+::)?(\w+)`", PAGE + FINDINGS)))


def block(language: str) -> str:
    """Return the page's only block in a language."""
    [found] = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def test_the_page_names_tests() -> None:
    assert len(NAMED) > 50


@pytest.mark.parametrize(("file", "name"), NAMED, ids=lambda each: each.rpartition("/")[2])
def test_a_named_test_exists(file: str, name: str) -> None:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    assert name in {function.name for function in functions}


def test_the_settings_behind_a_proxy_need_a_key() -> None:
    service = ServiceSettings(**tomllib.loads(block("toml"))["service"])
    assert service.needs_key
    assert service.require_key, "a proxy that adds no header would make everybody the owner"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_the_unit_is_valid(tmp_path: Path) -> None:
    unit = tmp_path / "candor.service"
    unit.write_text(block("ini").replace("/opt/candor/bin/candor", sys.executable))
    checked = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.skipif(not shutil.which("nginx"), reason="needs nginx")
def test_the_configuration_of_nginx_is_valid(tmp_path: Path) -> None:
    certificate = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=candor.example.com"]
    names = ["-keyout", str(tmp_path / "privkey.pem"), "-out", str(tmp_path / "fullchain.pem")]
    subprocess.run([*certificate, *names], check=True, capture_output=True)
    server = block("nginx").replace("/etc/ssl/candor", str(tmp_path))
    configuration = tmp_path / "nginx.conf"
    configuration.write_text(f"pid {tmp_path}/pid; events {{}} http {{ access_log off; {server} }}")
    checked = subprocess.run(
        ["nginx", "-t", "-e", tmp_path / "log", "-c", configuration], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stderr


def test_the_container_can_write_only_its_volume_and_tmp() -> None:
    service = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["candor"]
    assert service["read_only"]
    assert [each.partition(":")[0] for each in service["tmpfs"]] == ["/tmp"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert all(each.endswith(":ro") for each in service["volumes"] if not each.startswith("data:"))
