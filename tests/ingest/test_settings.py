"""Settings of the ingest."""

from __future__ import annotations

import pytest

from ingest.settings import IngestSettings


def test_the_old_parser_name_is_read_with_a_warning() -> None:
    with pytest.warns(FutureWarning, match="'kreuzberg' is now called 'default'"):
        assert IngestSettings(parser="kreuzberg").parser == IngestSettings().parser == "default"
