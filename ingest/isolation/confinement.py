"""Limits for processes that handle untrusted files."""

import resource
import sys
from pathlib import Path

_NETWORK_EVENTS = frozenset({"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"})


def confine_process() -> None:
    """Disable core files and network access, and make this process the first one that Linux kills without memory."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.addaudithook(_reject_network)
    score = Path("/proc/self/oom_score_adj")
    if score.exists():
        score.write_text("1000")


def _reject_network(event: str, _: object) -> None:
    if event in _NETWORK_EVENTS:
        raise PermissionError("A parser tried to use the network, which parsers must not.")
