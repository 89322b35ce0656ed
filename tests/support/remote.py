"""Servers of remote folders for tests: SFTP (asyncssh), WebDAV (wsgidav) and S3 (moto), each with one user.

with Sftp(tmp_path) as server:
    server.put("sub/a.md", "# A")
    server.address, server.options(server.secret)      # sftp://ada@127.0.0.1:…/…, {"password": "hush"}
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import threading
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import httpx

from support.ports import free_port
from support.waiting import LIMIT_S

USER, PASSWORD = "ada", "hush"


class Remote(Protocol):
    """A server with a folder."""

    needs: ClassVar[tuple[str, ...]]
    """Packages of the server and of its client."""
    wrong: ClassVar[str]
    """A part of the error message for a wrong password."""
    address: str
    secret: str

    def __init__(self, folder: Path) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def options(self, secret: Any) -> dict[str, Any]:
        """Return the options of the source with this password."""

    def put(self, name: str, text: str) -> None: ...

    def remove(self, name: str) -> None: ...

    def move(self, name: str, other: str) -> None: ...


def missing(server: type[Remote]) -> str:
    """Return why a server cannot run here, or an empty string."""
    absent = [each for each in server.needs if not find_spec(each.replace("-", "_"))]
    return f"{', '.join(absent)} not installed: pip install {' '.join(server.needs)}" if absent else ""


class _Folder:
    """The folder of a server on this machine."""

    folder: Path
    secret = PASSWORD

    def put(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def remove(self, name: str) -> None:
        (self.folder / name).unlink()

    def move(self, name: str, other: str) -> None:
        (self.folder / other).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).rename(self.folder / other)


class Sftp(_Folder):
    """Files over SSH. Also runs commands of clients, as Git needs."""

    needs = ("asyncssh", "paramiko")
    wrong = "Authentication failed"

    def __init__(self, folder: Path) -> None:
        import asyncssh

        self.folder, self.port = folder / "shelf", free_port()
        self.folder.mkdir()
        self.address = f"sftp://{USER}@127.0.0.1:{self.port}{self.folder}"
        self._host_key, user_key = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
        self.identity = folder / "id_ed25519"
        user_key.write_private_key(self.identity)
        self.identity.chmod(0o600)
        user_key.write_public_key(f"{self.identity}.pub")
        self.known_hosts = folder / "known_hosts"
        self.known_hosts.write_bytes(b"[127.0.0.1]:%d " % self.port + self._host_key.export_public_key())

    def options(self, secret: Any) -> dict[str, Any]:
        return {"password": secret, "look_for_keys": False, "allow_agent": False}

    def __enter__(self) -> Self:
        import asyncssh

        clients: list[asyncssh.SSHServerConnection] = []

        class Login(asyncssh.SSHServer):
            def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
                clients.append(conn)

            def password_auth_supported(self) -> bool:
                return True

            def validate_password(self, username: str, password: str) -> bool:
                return (username, password) == (USER, PASSWORD)

        async def run_command(process: Any) -> None:
            command = await asyncio.create_subprocess_shell(
                process.command,
                env={**os.environ, **process.env},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            await process.redirect(command.stdin, command.stdout, command.stderr)
            process.exit(await command.wait())

        async def serve() -> None:
            options = {"encoding": None, "process_factory": run_command, "sftp_factory": True}
            listener = await asyncssh.listen(
                "127.0.0.1", self.port, server_factory=Login, server_host_keys=[self._host_key],
                authorized_client_keys=f"{self.identity}.pub", **options,
            )  # fmt: skip
            self._stop = partial(asyncio.get_running_loop().call_soon_threadsafe, stopped.set)
            ready.set()
            await stopped.wait()
            listener.close()
            for client in clients:
                client.abort()

        ready, stopped = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(serve()))
        self._thread.start()
        assert ready.wait(LIMIT_S)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._thread.join()


class WebDav(_Folder):
    """Files over WebDAV."""

    needs = ("wsgidav", "cheroot", "webdav4")
    wrong = "401"
    address = "webdav://papers"

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder / "dav/papers", free_port()
        self.folder.mkdir(parents=True)

    def options(self, secret: Any) -> dict[str, Any]:
        return {"base_url": f"http://127.0.0.1:{self.port}/", "auth": [USER, secret]}

    def __enter__(self) -> Self:
        from cheroot.wsgi import Server
        from wsgidav.wsgidav_app import WsgiDAVApp

        users = {"*": {USER: {"password": PASSWORD}}}
        shared = {
            "provider_mapping": {"/": str(self.folder.parent)},
            "simple_dc": {"user_mapping": users},
            "verbose": 0,
        }
        logs = {
            "logging": {"enable": False},
            "http_authenticator": {"accept_digest": False, "default_to_digest": False},
        }
        self._server = Server(("127.0.0.1", self.port), WsgiDAVApp(shared | logs))
        self._server.prepare()
        self._thread = threading.Thread(target=self._server.serve)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()
        self._thread.join()


class S3:
    """An S3 bucket. The test dependencies do not include its packages: botocore needs python-dateutil below 3."""

    needs = ("moto", "flask", "flask-cors", "s3fs")
    wrong = "The AWS Access Key Id you provided does not exist|Forbidden|signature we calculated"
    address = "s3://bucket/papers"

    def __init__(self, folder: Path) -> None:
        self.port, self._key, self._secret = free_port(), "none", "none"

    def options(self, secret: Any) -> dict[str, Any]:
        return {"endpoint_url": f"http://127.0.0.1:{self.port}", "key": self._key, "secret": secret}

    @property
    def secret(self) -> str:
        return self._secret

    def __enter__(self) -> Self:
        from moto.server import ThreadedMotoServer

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._server = ThreadedMotoServer("127.0.0.1", self.port, verbose=False)
        self._server.start()
        if self._key == "none":
            httpx.post(
                f"http://127.0.0.1:{self.port}/moto-api/reset"
            ).raise_for_status()  # clears what earlier servers of this process stored
            iam, every = self._client("iam"), {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
            policy = json.dumps({"Version": "2012-10-17", "Statement": [every]})
            self._client("s3").create_bucket(Bucket="bucket")
            iam.create_user(UserName=USER)
            iam.put_user_policy(UserName=USER, PolicyName="all", PolicyDocument=policy)
            made = iam.create_access_key(UserName=USER)["AccessKey"]
            self._key, self._secret = made["AccessKeyId"], made["SecretAccessKey"]
        self._check_from("0")
        return self

    def __exit__(self, *_: object) -> None:
        self._check_from("inf")
        self._server.stop()

    def _check_from(self, request: str) -> None:
        """Make the server check access keys from now on."""
        httpx.post(f"http://127.0.0.1:{self.port}/moto-api/reset-auth", content=request).raise_for_status()

    def _client(self, service: str) -> Any:
        import boto3

        return boto3.client(
            service, endpoint_url=f"http://127.0.0.1:{self.port}", region_name="us-east-1",
            aws_access_key_id=self._key, aws_secret_access_key=self._secret,
        )  # fmt: skip

    def put(self, name: str, text: str) -> None:
        self._client("s3").put_object(Bucket="bucket", Key=f"papers/{name}", Body=text.encode())

    def remove(self, name: str) -> None:
        self._client("s3").delete_object(Bucket="bucket", Key=f"papers/{name}")

    def move(self, name: str, other: str) -> None:
        body = self._client("s3").get_object(Bucket="bucket", Key=f"papers/{name}")["Body"].read()
        self.put(other, body.decode())
        self.remove(name)
