"""What endpoints of models say in headers and bodies of their responses."""

import ipaddress
import json
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from math import isfinite
from urllib.parse import urlsplit


def excerpt(text: str, most: int = 60) -> str:
    """Return the first ``most`` characters of a model's or server's text, in one line, for a message."""
    folded = " ".join(text.split())
    return folded if len(folded) <= most else folded[:most] + "…"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait. The header is a number of seconds or a date."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if isfinite(seconds) else None


def error_message(body: str) -> str:
    """Return the message of an error body. OpenAI nests it, Ollama does not, and proxies may send anything."""
    try:
        error = json.loads(body)["error"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return excerpt(body, 300)
    return excerpt(str(error.get("message", error) if isinstance(error, dict) else error), 300)


def is_loopback(url: str) -> bool:
    """Return whether the URL is on this machine, which a proxy cannot reach."""
    host = urlsplit(url).hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified
