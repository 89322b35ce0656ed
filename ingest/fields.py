"""Fields and tags that people give a document: in its front matter, a ``metadata.csv``, or with the request.

A field is a text, a number or a list of texts. A date is a text in ISO form. Files state all as text, so a text that
looks like a number is one, and a text in brackets is a list. The fields ``tags`` and ``aliases`` are always lists, and
``date`` is the date of the document.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from itertools import islice

from ingest.errors import InvalidField, InvalidTag
from vectorstore.models import FieldValue

TAGS, ALIASES, DATE = "tags", "aliases", "date"
LONGEST_TAG = 64
"""Maximum characters of a tag."""

_MOST, _LONGEST = 100, 1_000  # fields or entries of a list; characters
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?")  # others are ids, as 007
_PART_OF_DATE = re.compile(r"\d{4}(?:-(?:0[1-9]|1[0-2]))?")


def tag_names(written: Iterable[str]) -> tuple[str, ...]:
    """Return the tags in lower case with single spaces, each once, sorted. Raises InvalidTag."""
    names = {" ".join(each.split()).casefold() for each in written}
    for name in names:
        if not name or "," in name or len(name) > LONGEST_TAG:
            raise InvalidTag(f"{name!r} cannot be a tag: use 1 to {LONGEST_TAG} characters and no comma.")
    return tuple(sorted(names))


def read_fields(written: Iterable[tuple[object, object]], warn: Callable[[str], None]) -> dict[str, FieldValue]:
    """Return the fields by name in lower case. Empty and nested values are no fields."""
    found: dict[str, FieldValue] = {}
    for key, value in islice(written, _MOST):
        try:
            found |= given_fields([(key, value)])
        except (InvalidField, InvalidTag) as error:
            warn(f"A field is left out. {error}")
    return {name: value for name, value in found.items() if value not in ("", ())}


def given_fields(written: Iterable[tuple[object, object]]) -> dict[str, FieldValue]:
    """Return the fields of a request. An empty value removes a field. Raises InvalidField, InvalidTag."""
    found = {" ".join(str(key).split()).casefold(): value for key, value in written}
    if "" in found:
        raise InvalidField("A field has no name. Write NAME=VALUE.")
    return {name: _read(name, value) for name, value in found.items()}


def fields_text(fields: Mapping[str, FieldValue]) -> str:
    """Return fields for people, as they write them: `project=Orion, keywords=engine; launch`."""
    texts = ((name, "; ".join(value) if isinstance(value, tuple) else value) for name, value in fields.items())
    return ", ".join(f"{name}={text}" for name, text in texts)


def _read(name: str, written: object) -> FieldValue:
    value = _value(written)
    if name in (TAGS, ALIASES):
        entries = value if isinstance(value, tuple) else str(value).split(",")
        listed = [each.strip() for each in entries if each.strip()]
        return tag_names(each.removeprefix("#") for each in listed) if name == TAGS else tuple(listed)
    if name == DATE and value and not _PART_OF_DATE.fullmatch(str(value)):
        try:
            return datetime.fromisoformat(str(value)).date().isoformat()
        except ValueError:
            raise InvalidField(f"The date {value!r} is none. Write it as 2024-01-31, 2024-01 or 2024.") from None
    return value


def _value(written: object) -> FieldValue:
    """Return a text, a number or a list. Empty for what is none of them, as a record in a front matter."""
    if isinstance(written, list | tuple):
        return tuple(" ".join(each.split())[:_LONGEST] for each in written[:_MOST] if isinstance(each, str) and each)
    if isinstance(written, int | float):
        return written
    text = " ".join(written.split())[:_LONGEST] if isinstance(written, str) else ""
    if text.startswith("[") and text.endswith("]"):
        return _value([each.strip() for each in text[1:-1].split(",")])
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    return text
