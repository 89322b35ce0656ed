"""`candor table`, over a real HTTP endpoint with a scripted model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import sample_docs
from multi_agent.llm.settings import EndpointSettings
from support.panel import Panel, sentences_of
from support.replies import Reply, Request

TEMPLATES = Path(sample_docs.__file__).parent / "templates"
Serve = Callable[..., EndpointSettings]
ANSWERS = {"Limit": ("-25", "-25 °C"), "Product": ("Borea 12", "Borea 12"), "Minutes": ("20", "20 minutes")}
"""The value of each column, and the words of the sentence that states it."""


class Model:
    """A model that fills rows. ``wrong`` gives other values by column, and ``prompts`` has its prompts."""

    def __init__(self, **wrong: str) -> None:
        self.wrong, self.prompts = wrong, list[str]()
        self.fails: Callable[[Request], bool] = lambda _: False

    def __call__(self, request: Request) -> Reply | str:
        self.prompts.append(request.prompt)
        if self.fails(request):
            return Reply(status=401, raw="no")
        columns = re.findall(r"^(\d+)\. (\w+) \(", request.prompt, re.MULTILINE)
        return json.dumps({"answers": [self._answer(request, int(number), name) for number, name in columns]})

    def _answer(self, request: Request, number: int, name: str) -> dict[str, Any]:
        value, words = ANSWERS.get(name, ("", "no such words"))
        if words not in request.prompt:
            return {"column": number, "sentences": [], "values": [], "reason": "It is about something else."}
        at = sentences_of(request, 1, words)
        return {"column": number, "sentences": at, "values": [self.wrong.get(name, value)], "reason": ""}


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def table(run: Any, serve: Serve, use_model: Any, model: Model, ingested: None) -> Callable[..., Any]:
    """Return a function that runs `candor table`, with a table ``t`` of two documents and two columns."""
    use_model(serve(model))
    columns = ("--column", "Limit=Lowest temperature:number(°C)", "--column", "Product")
    assert run("table", "create", "t", "-c", "papers", *columns).code == 0
    return lambda *arguments: run("table", *arguments)


def cells(table: Callable[..., Any], document: str) -> dict[str, Any]:
    """Return the cells of a row by column."""
    [row] = [each for each in table("show", "t", "--json").json["rows"] if each["name"] == document]
    found: dict[str, Any] = row["cells"]
    return found


def test_a_fill_reads_each_document_once_and_quotes_it(table: Callable[..., Any], model: Model) -> None:
    expected = table("fill", "t", "--estimate", "--json").json
    assert (expected["cells"], expected["calls"], model.prompts) == (4, 2, [])
    filled = table("fill", "t")
    assert (filled.code, len(model.prompts)) == (0, 2)
    assert "[2/2]" in filled.err
    pumps, soup = cells(table, "pumps.md"), cells(table, "soup.txt")
    assert (pumps["Limit"]["value"], pumps["Product"]["value"]) == (-25, "Borea 12")
    assert pumps["Limit"]["evidence"][0]["quote"] == "The Borea 12 works down to -25 °C."
    assert pumps["Limit"]["confidence"]
    assert (soup["Limit"]["status"], soup["Limit"]["reason"]) == ("empty", "It is about something else.")
    assert pumps["Limit"]["usage"]["model_calls"] + pumps["Product"]["usage"]["model_calls"] == 1
    shown = table("show", "t", "--quotes")
    assert "The Borea 12 works down to -25 °C." in shown.out
    assert table("fill", "t").code == 0
    assert len(model.prompts) == 2, "nothing is read twice"


@pytest.mark.parametrize("model", [Model(Limit="-30", Product="Aurora 5")])
def test_a_value_that_is_not_in_its_quote_is_not_kept(table: Callable[..., Any], model: Model) -> None:
    table("fill", "t")
    pumps = cells(table, "pumps.md")
    assert [pumps[name]["value"] for name in ("Limit", "Product")] == [None, None]
    assert "do not have the figure" in pumps["Limit"]["reason"]
    assert "Aurora" in pumps["Product"]["reason"]


def test_only_new_documents_changed_documents_and_new_columns_are_read(
    table: Callable[..., Any], run: Any, model: Model, folder: Path
) -> None:
    table("fill", "t")
    (folder / "new.txt").write_text("The Borea 12 stops at -25 °C.\n")
    (folder / "soup.txt").write_text("Boil the lentils for 20 minutes. Salt them.\n")
    run("ingest", folder, "-c", "papers")
    model.prompts.clear()
    table("fill", "t")
    assert sorted(re.findall(r"The document: ([^\s,]+)", "\n".join(model.prompts))) == ["new.txt", "soup.txt"]
    model.prompts.clear()
    assert table("add", "t", "--column", "Minutes:number").code == 0
    table("fill", "t")
    assert len(model.prompts) == 3
    assert not any("Product (" in prompt for prompt in model.prompts)
    assert cells(table, "soup.txt")["Minutes"]["value"] == 20


def test_of_a_long_document_the_opening_and_what_searches_find_are_read(
    table: Callable[..., Any], run: Any, model: Model, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANDOR_RESEARCH__TOKENS_PER_CALL", "1600")
    sections = [f"## Part {number}\n\n{f'Sentence {number} is about lentils. ' * 20}" for number in range(40)]
    sections[30] = "## Limits of temperature\n\nThe Borea 12 works at a lowest temperature of -25 °C."
    (folder / "long.md").write_text("# Handbook\n\nIt opens with this.\n\n" + "\n\n".join(sections))
    run("ingest", folder, "-c", "papers")
    assert table("fill", "t", "--row", "long.md").code == 0
    first, second = model.prompts
    assert ["It opens with this." in each for each in (first, second)] == [True, False]
    assert ["Limit (" in each for each in (first, second)] == [True, False], "only the empty cell is read once more"
    assert "Sentence 39" not in first
    assert cells(table, "long.md")["Limit"]["value"] == -25
    other = next(cell for column, cell in cells(table, "long.md").items() if column != "Limit")
    assert re.search(r"\(\d+ of \d+ passages were read\.\)$", other["reason"])


def test_a_cell_filled_by_hand_stays_unless_a_fill_has_redo(table: Callable[..., Any], model: Model) -> None:
    assert table("set", "t", "soup.txt", "limit", "4").code == 0
    table("fill", "t")
    edited = cells(table, "soup.txt")["Limit"]
    assert (edited["value"], edited["by"]) == (4, "person")
    assert "4 *" in table("show", "t").out
    assert "is not a number" in table("set", "t", "soup.txt", "Limit", "warm").err
    assert "as 1255 or as 1.2550. Write one of these." in table("set", "t", "soup.txt", "Limit", "1.255").err
    assert "no row 'tomato.txt': pumps.md, soup.txt" in table("set", "t", "tomato.txt", "Limit", "4").err
    table("fill", "t", "--row", "soup.txt", "--column", "Limit", "--redo")
    assert cells(table, "soup.txt")["Limit"]["by"] == "scripted"
    assert (len(model.prompts), "Product (" in model.prompts[-1]) == (3, False)


def test_what_was_read_before_the_endpoint_failed_is_not_read_again(
    table: Callable[..., Any], model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANDOR_LLM__PARALLEL", "1")
    model.fails = lambda request: "soup.txt" in request.prompt
    failed = table("fill", "t")
    assert failed.code == 1
    assert cells(table, "pumps.md").keys() == {"Limit", "Product"}
    assert cells(table, "soup.txt") == {}
    model.fails = lambda _: False
    model.prompts.clear()
    assert table("fill", "t").code == 0
    assert len(model.prompts) == 1


def test_a_response_without_a_column_is_a_failed_cell_that_is_read_again(
    table: Callable[..., Any], run: Any, serve: Serve, use_model: Any, model: Model
) -> None:
    use_model(serve(lambda _: json.dumps({"answers": []})))
    failed = table("fill", "t")
    assert (failed.code, "4 cells failed" in failed.err) == (1, True)
    assert failed.err.count("[2/2] ") == 1
    assert failed.err.count("gave no answer for this column") == 1, "one reason of two documents is told once"
    assert "- !" in table("show", "t").out
    use_model(serve(model))
    assert table("fill", "t").code == 0
    assert cells(table, "pumps.md")["Limit"]["value"] == -25


def test_a_table_is_exported_to_four_formats(table: Callable[..., Any], tmp_path: Path) -> None:
    table("fill", "t")
    table("set", "t", "soup.txt", "Product", "=1+1")
    for suffix in ("csv", "xlsx", "md", "json"):
        assert table("export", "t", tmp_path / f"t.{suffix}").code == 0
    assert "soup.txt,,'=1+1" in (tmp_path / "t.csv").read_text(encoding="utf-8-sig")
    assert "pumps.md,-25,Borea 12" in (tmp_path / "t.csv").read_text(encoding="utf-8-sig")
    assert "| pumps.md | -25[^1] |" in (tmp_path / "t.md").read_text()
    assert len(json.loads((tmp_path / "t.json").read_text())["rows"]) == 2
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx").worksheets[0]
    assert [cell.value for cell in sheet[2]] == ["pumps.md", -25, "Borea 12"]
    assert "works down to -25 °C" in sheet["B2"].comment.text
    assert (sheet["C3"].value, sheet["C3"].data_type) == ("=1+1", "s")
    assert table("create", "old", "-c", "papers", "--column", "Founded=When?:date").code == 0
    table("set", "old", "soup.txt", "Founded", "1871-05-01")
    table("set", "old", "pumps.md", "Founded", "1971-05-01")
    assert table("export", "old", tmp_path / "old.xlsx").code == 0
    sheet = openpyxl.load_workbook(tmp_path / "old.xlsx").worksheets[0]
    assert [str(cell.value) for cell in sheet["B"][1:]] == ["1971-05-01 00:00:00", "1871-05-01"], "Excel has no 1871"
    assert table("export", "t", tmp_path / "t.pdf").code == 2
    assert table("export", "t", "-o", tmp_path / "again.csv").code == 0
    assert "Name the file to write." in table("export", "t").err


def test_rows_are_sorted_and_unknown_names_are_errors(table: Callable[..., Any]) -> None:
    table("set", "t", "soup.txt", "Limit", "-40")
    table("set", "t", "pumps.md", "Limit", "-25")
    rows = table("show", "t", "--sort", "limit", "--json").json["rows"]
    assert [row["name"] for row in rows] == ["soup.txt", "pumps.md"]
    assert "has no column 'Price'. Columns: Limit, Product." in table("show", "t", "--sort", "Price").err
    assert "has no row 'x.md'" in table("fill", "t", "--row", "x.md").err
    assert "There is no table 'u'" in table("show", "u").err
    assert "A table 't' exists" in table("create", "t", "-c", "papers", "--column", "A").err
    assert "There is no collection 'none'" in table("create", "u", "-c", "none", "--column", "A").err


def test_rows_are_the_documents_of_a_filter(table: Callable[..., Any]) -> None:
    assert table("create", "u", "-c", "papers", "--document", "*.md", "--column", "Product", "--fill").code == 0
    assert [row["name"] for row in table("show", "u", "--json").json["rows"]] == ["pumps.md"]
    assert table("drop", "u", "--yes", "--now").code == 0
    assert [each["name"] for each in table("list", "--json").json] == ["t"]


def test_a_question_is_asked_of_each_document_without_a_planner(
    run: Any, serve: Serve, use_model: Any, ingested: None
) -> None:
    """Every item has a line in the trace. The words say which documents have no answer."""
    rows = Model()
    ANSWERS["answer"] = ANSWERS["Limit"]
    panel = Panel("-25 °C", roles={"RowAnswers": rows})
    use_model(serve(panel))
    asked = run("ask", "Down to which temperature does it work?", "-c", "papers", "--each", "document", "--json")
    answer = asked.json
    assert (asked.code, answer["status"], len(rows.prompts)) == (0, "answered", 2)
    assert "1 of 2 items has no answer: soup.txt" in answer["basis"]
    assert [each["quote"] for each in answer["evidence"]] == ["The Borea 12 works down to -25 °C."]
    traced = " ".join(run("trace", answer["run_id"]).out.split())
    assert "pumps.md: answer = -25" in traced
    assert "soup.txt: no answer" in traced
    refused = run("ask", "What?", "-c", "papers", "--each", "document", "--agent", "Reader")
    assert (refused.code, "`each` names the agent" in refused.err) == (2, True)


def test_what_a_table_asks_is_saved_and_used_on_another_collection(
    table: Callable[..., Any], run: Any, folder: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "saved.json"
    assert table("template", "t", saved).code == 0
    assert run("ingest", folder, "-c", "others").code == 0
    made = table(
        "create", "u", "-c", "others", "--template", saved, "--column", "Minutes", "--document", "p*", "--json"
    ).json
    assert (made["collection"], made["filter"]["documents"]) == ("others", ["p*"])
    assert [each["name"] for each in made["columns"]] == ["Limit", "Product", "Minutes"]
    assert made["columns"][0]["unit"] == "°C"
    saved.write_text('{"columns": [{"name": "x"}]}')
    refused = table("create", "v", "-c", "others", "--template", saved)
    assert (refused.code, "columns.0.question" in refused.err) == (2, True)


@pytest.mark.parametrize("name", ["contract-review", "literature-review"])
def test_the_examples_of_templates_are_filled(table: Callable[..., Any], model: Model, name: str) -> None:
    assert table("create", name, "-c", "papers", "--template", TEMPLATES / f"{name}.toml", "--fill").code == 0
    assert {cell["status"] for cell in cells(lambda *each: table(each[0], name, *each[2:]), "pumps.md").values()} == {
        "empty"
    }
    assert model.prompts
