"""Fields that people write: their names, types and values, and what is none."""

from __future__ import annotations

import pytest

from ingest.errors import InvalidField, InvalidTag
from ingest.fields import fields_text, given_fields, read_fields


@pytest.mark.parametrize(
    ("name", "written", "read"),
    [
        ("Project  Name", " Orion\n7 ", {"project name": "Orion 7"}),
        ("budget", "1200", {"budget": 1200}),
        ("budget", "-80.50", {"budget": -80.5}),
        ("code", "007", {"code": "007"}),
        ("phone", "+49 30 1234", {"phone": "+49 30 1234"}),
        ("barcode", "4006381333931123", {"barcode": "4006381333931123"}),
        ("start", "2024-03-05", {"start": "2024-03-05"}),
        ("date", "2024-03-05T10:00:00", {"date": "2024-03-05"}),
        ("date", "2024-03", {"date": "2024-03"}),
        ("date", "2024", {"date": 2024}),
        ("keywords", "[engine, methane]", {"keywords": ("engine", "methane")}),
        ("keywords", ["engine", "", {"a": "b"}], {"keywords": ("engine",)}),
        ("aliases", "Kick-off, Start", {"aliases": ("Kick-off", "Start")}),
        ("tags", "#Plan, team/A", {"tags": ("plan", "team/a")}),
        ("author", {"name": "Ann"}, {}),
        ("note", " ", {}),
    ],
)
def test_a_value_has_the_type_that_it_looks_like(name: str, written: object, read: dict[str, object]) -> None:
    warnings: list[str] = []
    assert read_fields([(name, written)], warnings.append) == read
    assert warnings == []


def test_what_cannot_be_read_is_left_out_with_a_warning() -> None:
    warnings: list[str] = []
    fields = [("date", "5 March"), (" ", "text"), ("tags", [f"{'x' * 65}"]), ("project", "Orion")]
    assert read_fields(fields, warnings.append) == {"project": "Orion"}
    assert warnings[0].startswith("A field is left out. The date '5 March' is none. Write it as 2024-01-31")
    assert "has no name" in warnings[1]
    assert "cannot be a tag" in warnings[2]


def test_fields_of_a_request_are_refused_instead() -> None:
    assert given_fields([("Project", ""), ("room", ("1", "2"))]) == {"project": "", "room": ("1", "2")}
    for name, value, error in (
        ("date", "soon", InvalidField),
        ("tags", "x" * 65, InvalidTag),
        (" ", "x", InvalidField),
    ):
        with pytest.raises(error):
            given_fields([(name, value)])


def test_fields_are_shown_as_people_write_them() -> None:
    assert fields_text({"project": "Orion", "room": ("1", "2"), "budget": 5}) == "project=Orion, room=1; 2, budget=5"
