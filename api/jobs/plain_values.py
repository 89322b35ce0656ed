"""Makes DBOS store the values of jobs as JSON. Of the pickles of older versions, it reads only plain values.

Unpickling can execute code, and everybody who can write to a shared database can store a pickle there.
"""

from __future__ import annotations

import base64
import io
import pickle
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dbos import Serializer


def json_serializer() -> Serializer:
    """Return the serializer for new values. Also prevents DBOS from loading objects from pickles."""
    from dbos import DBOSPortableJSONSerializer
    from dbos._serialization import DefaultSerializer

    # DBOS chooses the serializer of a stored value by the value's own label, so its pickle serializer stays in use.
    DefaultSerializer.deserialize = _load_plain  # type: ignore[method-assign, assignment]
    return DBOSPortableJSONSerializer()


def _load_plain(_: Any, stored: str) -> Any:
    return _PlainUnpickler(io.BytesIO(base64.b64decode(stored))).load()


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Refuse every class and function. The jobs of older versions are texts in lists and objects."""
        raise pickle.UnpicklingError(f"A stored job refers to {module}.{name}, which no version of Candor writes.")
