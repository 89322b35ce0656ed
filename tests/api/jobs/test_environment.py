"""The processes of the service do not have its keys in their environment."""

from __future__ import annotations

from pathlib import Path

import psutil

from support.service import ServiceProcess
from support.waiting import until


def test_no_process_of_the_service_inherits_its_keys(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, CANDOR_LLM__API_KEY="sk-secret", CANDOR_KEYS__SEARCH="secret-key") as service:
        parent = psutil.Process(service.process.pid)
        files = {"files": ("pump.md", b"# A pump\n\nIt pumps.")}
        job = service.http.post("/v1/collections/papers/documents", files=files).json()
        seen: dict[int, dict[str, str]] = {}

        def ended() -> bool:
            for child in parent.children(recursive=True):
                try:
                    seen[child.pid] = child.environ()  # a later one, too: at its start it is a copy of its parent
                except (psutil.NoSuchProcess, psutil.ZombieProcess):
                    continue
            return bool(service.http.get(f"/v1/jobs/{job['id']}").json()["status"] == "done")

        until(ended)
    assert len(seen) > 1, "the research process and a parser"
    assert not [environ for environ in seen.values() if "secret" in str(environ)]
