"""Requests through nginx on the same machine: they come from a local address, but not from the local user."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from api.auth.keys import KeyRequest
from api.auth.permissions import Right
from api.bootstrap import Candor
from api.settings import ServiceSettings
from support.service import RunningService
from support.waiting import LIMIT_S, until

CONFIGURATION = """
daemon off; master_process off; pid {folder}/pid; error_log stderr; events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass {service}; {lines} }} }}
}}
"""


@contextmanager
def proxied(service: str, folder: Path, lines: str) -> Iterator[str]:
    """Run nginx before the service, with these lines of configuration; yield its URL."""
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin")
    if not nginx:
        pytest.skip("nginx is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    file, log = folder / "nginx.conf", folder / "nginx.log"
    file.write_text(CONFIGURATION.format(folder=folder, port=port, service=service, lines=lines))

    def answers() -> bool:
        assert process.poll() is None, log.read_text()
        try:
            return httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=LIMIT_S).status_code in (200, 421)
        except httpx.TransportError:
            return False

    with log.open("wb") as errors:
        process = subprocess.Popen([nginx, "-e", "stderr", "-p", folder, "-c", file], stderr=errors)
    try:
        until(answers)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    "lines",
    [
        "",  # HTTP/1.0 and no header that tells of the proxy
        "proxy_http_version 1.1; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
        "proxy_http_version 1.1; proxy_set_header X-Forwarded-Proto $scheme;",
        "proxy_http_version 1.1; proxy_set_header X-Real-IP $remote_addr;",
        'proxy_http_version 1.1; proxy_set_header Forwarded "for=$remote_addr";',
    ],
)
def test_a_request_through_a_proxy_needs_a_key(make_candor: Callable[..., Candor], tmp_path: Path, lines: str) -> None:
    with RunningService(make_candor()) as service, proxied(service.url, tmp_path, lines) as proxy:
        refused = httpx.get(f"{proxy}/v1/me", timeout=LIMIT_S)
        assert (refused.status_code, refused.json()["title"]) == (401, "Key needed")
        assert httpx.get(f"{service.url}/v1/me", timeout=LIMIT_S).json()["owner"], "without the proxy it is local"


@pytest.mark.parametrize("hosts", [(), ("candor.example.com",)])
def test_a_host_that_is_no_loopback_name_is_no_owner(
    make_candor: Callable[..., Candor], tmp_path: Path, hosts: tuple[str, ...]
) -> None:
    candor = make_candor(service=ServiceSettings(hosts=hosts))
    candor.keys.add(KeyRequest(name="ann", rights={"*": Right.ADMIN}))
    lines = "proxy_http_version 1.1; proxy_set_header Host candor.example.com;"
    with RunningService(candor) as service, proxied(service.url, tmp_path, lines) as proxy:
        assert httpx.get(f"{proxy}/v1/me", timeout=LIMIT_S).status_code == (401 if hosts else 421)


def test_with_require_key_no_configuration_of_the_proxy_makes_an_owner(
    make_candor: Callable[..., Candor], tmp_path: Path
) -> None:
    """Set the option that the documentation names for a service behind a proxy."""
    candor = make_candor(service=ServiceSettings(require_key=True))
    lines = "proxy_http_version 1.1;"  # nothing in the request tells of the proxy
    with RunningService(candor) as service, proxied(service.url, tmp_path, lines) as proxy:
        assert httpx.get(f"{proxy}/v1/me", timeout=LIMIT_S).status_code == 401
