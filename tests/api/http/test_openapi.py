"""The whole API against its own description: requests of every kind, valid and not, over real HTTP.

Nothing may be a defect (5xx), and every response must be one that the description knows, in the form it gives. Each
operation gets a few requests here; ``python -m benchmarks.fuzz --target http`` sends many.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.generation import GenerationMode

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.http.openapi import operations
from api.settings import ServiceSettings, Settings
from benchmarks.fuzz.http import check_response, describe_api
from support.scripted_endpoint import ScriptedEndpoint
from support.service import RunningService, model
from support.waiting import LIMIT_S
from vectorstore.embedding.embedder import Embedder


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[str]:
    """Where a service is that may be asked anything: it is of no use to anybody else."""
    folder = tmp_path_factory.mktemp("fuzzed")
    (folder / "pumps.md").write_text("# Pumps\n\nThe Borea 12 works down to -25 °C.\n")
    with ScriptedEndpoint(model) as endpoint:
        home = tmp_path_factory.mktemp("home")
        candor = Candor(
            Settings(home=home, llm=endpoint.settings("openai"), service=ServiceSettings(concurrent_runs=2))
        )
        candor.embedder = embedder
        run_ingest(candor, [folder], "papers", progress=False)
        with RunningService(candor) as service:
            yield service.url


DESCRIPTION = describe_api()
OPERATIONS = {each.ok().label: each.ok() for each in schemathesis.openapi.from_dict(DESCRIPTION).get_all_operations()}
"""By method and path. The parametrization of schemathesis gives all tests one id, and pytest-xdist runs one per id."""


@pytest.mark.parametrize("operation", list(operations(DESCRIPTION)), ids=lambda operation: operation["summary"])
def test_every_operation_is_described_with_examples(operation: dict[str, Any]) -> None:
    assert operation["tags"]
    assert operation["description"].startswith(operation["summary"])
    for parameter in operation.get("parameters", []):
        assert parameter["in"] != "path" or "examples" in json.dumps(parameter), parameter["name"]
    if "application/json" in operation.get("requestBody", {}).get("content", {}):
        assert '"example' in json.dumps(_with_model(operation["requestBody"]))
    for status, response in operation["responses"].items():
        if int(status) >= 400:
            [content] = response["content"].values()
            assert _with_model(content["schema"])
            assert "example" in content or status == "503", "readiness tells itself what is missing"


def test_every_reference_leads_to_a_schema_whose_title_no_other_has() -> None:
    """Generators of clients name classes by the titles, and drop what they cannot resolve."""
    schemas = DESCRIPTION["components"]["schemas"]
    references = set(re.findall(r'"\$ref": "([^"]*)"', json.dumps(DESCRIPTION)))
    assert references == {f"#/components/schemas/{name}" for name in schemas}
    titles = sorted(schema["title"] for schema in schemas.values() if "title" in schema)
    assert titles == sorted(set(titles))
    fields = ((name, *field) for name, schema in schemas.items() for field in schema.get("properties", {}).items())
    unnamed = {f"{name}{field.title()}" for name, field, value in fields if value.get("type") == "object"}
    assert not unnamed & schemas.keys(), "generators name the class of an object without a name after its field"


def test_an_exported_answer_is_described_as_an_object_in_json_only() -> None:
    content = DESCRIPTION["paths"]["/v1/runs/{run_id}/export"]["get"]["responses"]["200"]["content"]
    assert [kind for kind in content if content[kind]["schema"]["type"] == "object"] == ["application/json"]


def _with_model(described: dict[str, Any]) -> Any:
    """The description, and that of the model that it is about."""
    name = json.dumps(described).partition("#/components/schemas/")[2].partition('"')[0]
    return [described, DESCRIPTION["components"]["schemas"].get(name)]


@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisDeprecationWarning")
@pytest.mark.parametrize("label", OPERATIONS)
def test_every_response_is_as_described(label: str, fuzzed: str) -> None:
    @given(st.one_of(OPERATIONS[label].as_strategy(generation_mode=mode) for mode in GenerationMode))
    @settings(
        max_examples=int(os.environ.get("SCHEMA_EXAMPLES", "4")),
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    def check(case: schemathesis.Case) -> None:
        check_response(case, case.call(base_url=fuzzed, timeout=LIMIT_S))

    check()
