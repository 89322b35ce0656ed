"""Exports runs as OpenTelemetry traces. Needs the packages of the extra ``otel``."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from base.installation import extra_command
from multi_agent.llm.settings import EndpointSettings
from multi_agent.storage.trace import Trace

if TYPE_CHECKING:
    from multi_agent.telemetry.otlp import SpanExport

log = logging.getLogger(__name__)

_PROTOCOL = "http/protobuf"
_PACKAGES = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")


def make_export(
    variables: Mapping[str, str], protocol: str, endpoints: Sequence[EndpointSettings], trace: Trace, *, content: bool
) -> SpanExport | None:
    """Return the export that the ``OTEL_…`` variables describe.

    Logs a warning and returns None if it is not possible. That is no error, because the variables may be meant for
    other programs.
    """
    if protocol not in ("", _PROTOCOL):
        log.warning(
            "Runs are not exported to OpenTelemetry, because OTEL_EXPORTER_OTLP_PROTOCOL is %r and Candor supports "
            "only %r. Set it, and the address of the collector's HTTP receiver (usually port 4318).",
            protocol, _PROTOCOL,
        )  # fmt: skip
        return None
    if not all(map(_is_installed, _PACKAGES)):
        log.warning(
            "Runs are not exported to OpenTelemetry, because its packages are not installed. Install them with "
            "`%s`, or unset OTEL_EXPORTER_OTLP_ENDPOINT.",
            extra_command("otel"),
        )
        return None
    from multi_agent.telemetry.otlp import SpanExport

    return SpanExport(variables, endpoints, trace, content=content)


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # a parent package is missing
        return False
