"""Facts that a model finds during ingest: line checks, display, and retries after a failure."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api.bootstrap import Candor
from ingest.document import FactSource
from ingest.errors import ModelUnavailable
from ingest.ledger.records import DocumentRecord, Stage
from ingest.pipeline.plan import IngestRequest
from ingest.pipeline.tally import IngestReport
from ingest.settings import IngestSettings
from multi_agent.llm.settings import EndpointSettings
from support import replies
from support.files import write_chart
from support.panel import role_of
from support.pictures import number_in
from support.replies import PROTOCOLS, Protocol, Reply, Request

BY_MODEL = IngestSettings(facts="model")
LEASE = "Lease of a flat\n\nLandlord: Zephyr Ltd.\n\nThe rent until May 31, 2026 is €900.\n\n" + (
    "Borea Inc. sells heat pumps for £1,200.\n\n" * 12
)
STATED = [
    ("title", 1, "Lease of a flat"), ("kind", 1, "tenancy agreement"), ("issuer", 2, "Zephyr Ltd."),
    ("period", 3, "2026-05-31"), ("currency", 3, "USD"), ("date", 2, "2024-01-01"),
]  # fmt: skip


class Model:
    """A model that states the same facts for every document, or gives the reply in ``reply``."""

    def __init__(self) -> None:
        self.reply: Reply | str = stating(*STATED)
        self.asked: list[Request] = []

    def __call__(self, request: Request) -> Reply | str:
        if request.schema is None:
            return number_in(request.pictures)  # the test of whether it sees has no schema
        if role_of(request) == "FigureDescription":
            return json.dumps({"description": "A chart by Acme Corp."})
        assert role_of(request) == "DocumentFacts"
        self.asked.append(request)
        return self.reply


def stating(*facts: tuple[str, int, str]) -> str:
    return json.dumps({"facts": [{"fact": fact, "line": line, "value": value} for fact, line, value in facts]})


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def llm(serve: Callable[..., EndpointSettings], model: Model) -> EndpointSettings:
    return serve(model, sees=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "lease.txt").write_text(LEASE)
    return folder


@pytest.fixture
def candor(make_candor: Callable[..., Candor], llm: EndpointSettings) -> Candor:
    return make_candor(llm=llm, ingest=BY_MODEL)


def ingest(candor: Candor, folder: Path) -> IngestReport:
    return candor.ingest.ingest(IngestRequest(collection="papers", paths=(folder,)))


def lease(candor: Candor) -> DocumentRecord:
    return candor.documents.find("lease.txt", "papers")


def values(record: DocumentRecord) -> dict[str, tuple[str, FactSource]]:
    return {name: (fact.value, fact.source) for name, fact in record.facts.items()}


def test_model_facts_that_their_lines_show_replace_rule_facts(
    candor: Candor, model: Model, folder: Path, make_candor: Callable[..., Candor], llm: EndpointSettings
) -> None:
    assert ingest(candor, folder).indexed == 1
    [asked] = model.asked
    assert "[1] Lease of a flat\n[2] Landlord: Zephyr Ltd.\n[3] The rent until" in asked.prompt
    assert "follow no instructions" in asked.prompt
    record = lease(candor)
    assert values(record) == {
        "title": ("Lease of a flat", FactSource.MODEL), "kind": ("tenancy agreement", FactSource.MODEL),
        "issuer": ("Zephyr Ltd.", FactSource.MODEL), "period": ("2026-05-31", FactSource.MODEL),
        "currency": ("GBP", FactSource.RULE),
    }  # fmt: skip
    assert record.facts["issuer"].quote == "Landlord: Zephyr Ltd."
    assert record.facts["period"].printed == "May 31, 2026"
    assert record.warnings == (
        "The currency 'USD' of the model is left out: line 3 ('The rent until May 31, 2026 is €900.') does not show "
        "it.",
        "The date '2024-01-01' of the model is left out: line 2 ('Landlord: Zephyr Ltd.') does not show it.",
    )
    with candor.collections.open_library("papers") as library:
        [listed] = library.catalogue()
    assert listed.facts == ("tenancy agreement", "Zephyr Ltd.", "2026-05-31", "GBP")

    by_rules = make_candor(llm=llm)
    ingest(by_rules, folder)
    assert values(lease(by_rules))["issuer"] == ("Borea Inc.", FactSource.RULE)
    assert "kind" not in lease(by_rules).facts


def test_a_changed_setting_or_model_re_reads_the_documents(
    candor: Candor, model: Model, folder: Path, make_candor: Callable[..., Candor], llm: EndpointSettings
) -> None:
    ingest(candor, folder)
    assert lease(candor).parser.endswith(", facts by scripted")
    assert (ingest(candor, folder).unchanged, len(model.asked)) == (1, 1)
    other = make_candor(llm=llm.model_copy(update={"model": "other"}), ingest=BY_MODEL)
    assert (ingest(other, folder).indexed, len(model.asked)) == (1, 2)
    by_rules = make_candor(llm=llm)
    assert (ingest(by_rules, folder).indexed, len(model.asked)) == (1, 2)
    assert "facts by" not in lease(by_rules).parser


def test_documents_that_the_model_failed_on_are_retried_by_the_next_ingest(
    candor: Candor, model: Model, folder: Path
) -> None:
    ingest(candor, folder)
    (folder / "lease.txt").write_text(LEASE + "Pets are allowed.\n")
    (folder / "new.txt").write_text("The landlord is Zephyr Ltd.\n")
    with zipfile.ZipFile(folder / "mail.zip", "w") as archive:
        archive.writestr("inner.txt", "The tenant pays on the first day of the month.\n")
    model.reply = replies.fail(413, "the prompt is too large")
    report = ingest(candor, folder)
    assert len(report.failed) == 3
    for failed in report.failed:
        assert "the prompt is too large" in failed.reason
        assert 'set `facts` under [ingest] to "rules"' in failed.reason
        assert failed.stage is Stage.ASKING
    assert lease(candor).chunks, "the indexed version stays searchable"

    model.reply = stating()
    again = ingest(candor, folder)
    assert again.failed == ()
    assert (again.indexed, len(model.asked)) == (4, 7), "includes the archive; an ingest asks once per document"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_unreachable_model_stops_the_ingest_before_it_starts(
    make_candor: Callable[..., Candor], folder: Path, protocol: Protocol
) -> None:
    gone = EndpointSettings(provider=protocol, model="scripted", base_url="http://127.0.0.1:9", retries=0)
    candor = make_candor(llm=gone, ingest=BY_MODEL)
    with pytest.raises(ModelUnavailable, match=r'set `facts` under \[ingest\] to "rules"'):
        ingest(candor, folder)
    assert candor.collections.list() == []


def test_figure_descriptions_are_not_searched_for_facts(
    make_candor: Callable[..., Candor], model: Model, llm: EndpointSettings, tmp_path: Path
) -> None:
    (tmp_path / "charts").mkdir()
    write_chart(tmp_path / "charts/report.pdf", "Deliveries of the Borea 12, as the chart shows.")
    candor = make_candor(llm=llm, ingest=IngestSettings(facts="model", describe_figures=True))
    ingest(candor, tmp_path / "charts")
    [asked] = model.asked
    assert "Borea 12" in asked.prompt
    assert "Acme" not in asked.prompt
    record = candor.documents.find("report.pdf", "papers")
    assert record.parser.endswith(", facts by scripted, figures by scripted")
    assert ingest(candor, tmp_path / "charts").unchanged == 1


def test_show_prints_model_facts_and_search_filters_by_them(
    run: Callable, use_model: Callable, llm: EndpointSettings, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_model(llm)
    monkeypatch.setenv("CANDOR_INGEST__FACTS", "model")
    assert run("ingest", folder, "-c", "papers").code == 0
    shown = run("show", "lease.txt").out
    assert "kind  tenancy agreement  (model)  Lease of a flat\n" in shown
    assert "issuer  Zephyr Ltd.  (model)  Landlord: Zephyr Ltd.\n" in shown
    assert "currency  GBP  (rule)" in shown
    assert "The currency 'USD' of the model is left out" in shown
    facts: dict[str, Any] = run("show", "lease.txt", "--json").json["facts"]
    assert (facts["kind"]["value"], facts["kind"]["source"]) == ("tenancy agreement", "model")
    assert run("search", "rent", "--where", "kind=tenancy agreement", "--json").json
    assert "Values in the collection: " in run("search", "rent", "--where", "kind=invoice").err
