"""Reads the YAML front matter of a note or a text: its title, and fields of the document."""

import re

from ingest.decoding import without_escapes
from ingest.readers.shared.document_builder import DocumentBuilder

FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?\n)(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)


def read_front_matter(source: str, into: DocumentBuilder) -> str:
    """Add the fields to the builder. Return the title, or an empty text."""
    import yaml

    front = FRONT_MATTER.match(source)
    try:  # all values are texts for this loader; others read the time 12:30 as a number, and no as false
        fields = yaml.load(without_escapes(front[1]), getattr(yaml, "CBaseLoader", yaml.BaseLoader)) if front else None
    except (yaml.YAMLError, RecursionError) as error:
        into.warn(f"Its front matter is not valid YAML, so its fields are not read: {' '.join(str(error).split())}")
        return ""
    if not isinstance(fields, dict):
        return ""
    title = fields.pop("title", "")
    into.describe(fields.items())
    return title if isinstance(title, str) else ""
