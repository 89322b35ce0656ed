"""Stop OpenVINO from sending usage data.

``import openvino`` starts a process that reports the import to Google Analytics, and so does a conversion.
"""

import sys


def block_openvino_telemetry() -> None:
    """Make ``openvino_telemetry`` impossible to import. OpenVINO then uses its own stub. Call it before the import."""
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
