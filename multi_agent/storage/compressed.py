"""JSON in compressed columns. A query cannot read inside it, so what queries need is in columns of its own."""

from __future__ import annotations

import json
import zlib
from typing import Any

import sqlalchemy as sql


class CompressedJSON(sql.TypeDecorator[Any]):
    """A JSON value, stored as zlib-compressed UTF-8. None is NULL."""

    impl = sql.LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sql.Dialect) -> bytes | None:
        """Compress a value. It may contain lone surrogates, because models return them."""
        if value is None:
            return None
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return zlib.compress(text.encode("utf-8", "surrogatepass"))

    def process_result_value(self, value: bytes | None, dialect: sql.Dialect) -> Any:
        """Decompress a value."""
        return None if value is None else json.loads(zlib.decompress(value).decode("utf-8", "surrogatepass"))
