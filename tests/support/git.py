"""A real Git repository, and a server of repositories over http: Git's own `http-backend`.

repository = Repository(tmp_path / "pumps.git")
repository.commit({"a.md": "# A", "b.md": None})      # None deletes a file
with GitServer(tmp_path) as server:
    server.url("pumps.git")
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from support.server_thread import ServerThread

_AUTHOR = {f"GIT_{who}_{what}": "test@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


class Repository:
    """A bare repository with one branch, `main`, unless a commit names another one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "--bare", "--quiet", "--initial-branch=main", str(folder))
        self.git("config", "uploadpack.allowFilter", "true")

    def git(self, *arguments: str, given: str = "") -> str:
        within = [] if arguments[0] == "init" else [f"--git-dir={self.folder}"]
        environment = {**os.environ, **_AUTHOR}
        done = subprocess.run(
            ["git", *within, *arguments], input=given, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, files: Mapping[str, str | bytes | None], branch: str = "main", mode: str = "100644") -> str:
        """Change files and return the id of the commit."""
        for name, content in files.items():
            if content is None:
                self.git("update-index", "--index-info", given=f"0 {'0' * 40}\t{name}\n")
                continue
            blob = content if mode == "160000" else self._blob(content)
            self.git("update-index", "--add", "--cacheinfo", f"{mode},{blob},{name}")
        known = self.git("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")
        commit = self.git("commit-tree", self.git("write-tree"), *(["-p", known] if known else []), given="change")
        self.git("update-ref", f"refs/heads/{branch}", commit)
        return commit

    def _blob(self, content: str | bytes) -> str:
        data = content.encode() if isinstance(content, str) else content
        command = ["git", f"--git-dir={self.folder}", "hash-object", "-w", "--stdin"]
        return subprocess.run(command, input=data, capture_output=True, check=True).stdout.decode().strip()


class GitServer(ServerThread):
    """Serves the repositories in a folder. ``sent`` counts the bytes of packs that it has sent."""

    def __init__(self, folder: Path, password: str = "") -> None:
        self.sent = 0
        self.authorizations: list[str | None] = []
        git = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.answer(b"")

            def do_POST(self) -> None:
                self.answer(self.rfile.read(int(self.headers["Content-Length"])))

            def answer(self, body: bytes) -> None:
                git.authorizations.append(self.headers.get("Authorization"))
                if password and not self.headers.get("Authorization"):
                    self.send_response(401)
                    self.send_header("WWW-Authenticate", 'Basic realm="git"')
                    self.end_headers()
                    return
                path, _, query = self.path.partition("?")
                environment = {
                    **os.environ, "GIT_PROJECT_ROOT": str(folder), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
                    "QUERY_STRING": query, "REQUEST_METHOD": self.command, "REMOTE_USER": "x",
                    "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                    "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                    "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                }  # fmt: skip
                done = subprocess.run(
                    ["git", "http-backend"], input=body, env=environment, capture_output=True, check=True
                )
                head, _, content = done.stdout.partition(b"\r\n\r\n")
                fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
                git.sent += len(content)
                self.send_response(int(fields.pop("Status", "200").split()[0]))
                for name, value in fields.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        super().__init__(ThreadingHTTPServer(("127.0.0.1", 0), Handler))

    def url(self, repository: str) -> str:
        return f"http://127.0.0.1:{self.port}/{repository}"
