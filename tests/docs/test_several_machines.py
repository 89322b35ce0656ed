"""The compose file and the Kubernetes example for several machines name settings and commands that exist."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from api.cli.commands.serve import _kinds, worker
from api.jobs.models import JobKind
from api.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"
SHARED = ("CANDOR_DATABASE_URL", "CANDOR_STORE__URL", "CANDOR_SERVICE__UPLOADS_FOLDER")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return dict(yaml.safe_load((DOCS / "compose.several-machines.yaml").read_text()))


@pytest.fixture(scope="module")
def kubernetes() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DOCS / "kubernetes.yaml").read_text()))


def test_the_variables_are_settings(compose: dict[str, Any], kubernetes: list[dict[str, Any]]) -> None:
    named = {name for service in compose["services"].values() for name in service["environment"]}
    named |= set(by_kind(kubernetes, "ConfigMap")[0]["data"])
    ours = {name for name in named if name.startswith("CANDOR_")}
    assert ours >= {"CANDOR_SERVICE__UPLOADS_FOLDER"}
    for name in ours:
        assert is_setting(name.removeprefix("CANDOR_").lower().split("__")), name


def test_service_and_workers_share_database_store_and_uploads(compose: dict[str, Any]) -> None:
    service, worker = compose["services"]["service"], compose["services"]["worker"]
    for name in SHARED:
        assert service["environment"][name] == worker["environment"][name] != ""
    folder = service["environment"]["CANDOR_SERVICE__UPLOADS_FOLDER"]
    assert f"uploads:{folder}" in service["volumes"]
    assert service["volumes"] == worker["volumes"]
    volumes = {each.partition(":")[0] for every in compose["services"].values() for each in every["volumes"]}
    assert volumes == compose["volumes"].keys()


def test_the_pods_mount_the_uploads_where_the_setting_says(kubernetes: list[dict[str, Any]]) -> None:
    folder = by_kind(kubernetes, "ConfigMap")[0]["data"]["CANDOR_SERVICE__UPLOADS_FOLDER"]
    claim = by_kind(kubernetes, "PersistentVolumeClaim")[0]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    for pod in pods(kubernetes):
        [container] = pod["containers"]
        mounted = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
        assert mounted == {"data": "/data", "uploads": folder}
        assert [volume["name"] for volume in pod["volumes"]] == ["data", "uploads"]
        assert pod["volumes"][1]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]


def test_the_workers_take_every_kind_of_job(compose: dict[str, Any], kubernetes: list[dict[str, Any]]) -> None:
    commands = [compose["services"]["worker"]["command"], list(pods(kubernetes))[1]["containers"][0]["args"]]
    for command in (*commands, ["worker", "--queues", inspect.signature(worker).parameters["queues"].default]):
        assert command[:2] == ["worker", "--queues"]
        assert _kinds(command[2]) == list(JobKind)


def by_kind(objects: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [each for each in objects if each["kind"] == kind]


def pods(objects: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for deployment in by_kind(objects, "Deployment"):
        assert deployment["spec"]["selector"]["matchLabels"] == deployment["spec"]["template"]["metadata"]["labels"]
        yield deployment["spec"]["template"]["spec"]


def is_setting(path: list[str]) -> bool:
    """Return whether a setting has this name."""
    group: Any = Settings
    for name in path:
        if name not in group.model_fields:
            return False
        group = group.model_fields[name].annotation
    return True
