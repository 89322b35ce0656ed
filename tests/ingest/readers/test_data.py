"""Files of data: JSON, JSON lines, YAML and TOML are read as values, not as source text."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from ingest.document import ParsedDocument
from ingest.parser import Parser, load_parser

CASES = Path(__file__).parents[1] / "cases" / "46-json-escapes"


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


def read(parser: Parser, path: Path, source: str) -> ParsedDocument:
    path.write_text(source, encoding="utf-8")
    return parser.parse(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("j1_escaped.json", "kunde: Müller & Söhne\nort: Köln\nvermerk: Zahlung bis 5. März"),
        ("j2_zh.jsonl", "| 标题 | 金额 |\n| --- | --- |\n| 合同 | 五万二千元 |\n| 附件 | 三千元 |"),
        ("j4_array.json", "| station | wert |\n| --- | --- |\n| Nord | 1.5 |\n| Süd | 2.5 |"),
        ("j5_yaml.yaml", 'kunde: Müller\nnote: say "yes"'),
        ("tsx.toml", "plant.name: Müller\nplant.limit: 3.50"),
    ],
)
def test_the_text_is_decoded(parser: Parser, name: str, text: str) -> None:
    document = parser.parse(CASES / name)
    assert (document.text, document.warnings) == (text, ())


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ('{"a": 1.10, "b": 12345678901234567890123, "c": 1e5, "d": -0.0}',
         "a: 1.10\nb: 12345678901234567890123\nc: 1e5\nd: -0.0"),
        ('{"a": true, "b": null, "c": [], "d": {}, "e": ""}', "a: true\nb: null\nc: []\nd: {}\ne:"),
        ('{"a": 1, "a": 2}', "a: 1\na: 2"),
        ('{"to": {"city": "K\\u00f6ln", "geo": {"lat": 1}}}', "to.city: Köln\nto.geo.lat: 1"),
        ('{"tags": ["a", "b c"], "by": ["Berg, A", "Falk, T"]}', "tags: a, b c\nby: Berg, A; Falk, T"),
        ('{"x": "\\ud83d\\ude00 \\ud83d"}', "x: 😀 \ufffd"),
        ('{"\\ud83d": 1}', "\ufffd: 1"),
        ('{"x": "<p>High at <b>noon</b>.</p>", "y": "1 <b and c> 2"}', "x: High at noon.\ny: 1 <b and c> 2"),
        ('{"x": "One.\\n\\nTwo.", "y": 1}', "x: One.\n\nTwo.\n\ny: 1"),
        ('[{"n": 1, "size": {"w": 2.50}}, {"n": 2, "size": {"w": 3}, "note": "x|y"}]',
         "| n | size.w | note |\n| --- | --- | --- |\n| 1 | 2.50 |  |\n| 2 | 3 | x\\|y |"),
        ('{"P7": {"bar": 3, "m": 1}, "P8": {"bar": 5, "m": 2}, "P9": {"bar": 6, "m": 3}}',
         "|  | bar | m |\n| --- | --- | --- |\n| P7 | 3 | 1 |\n| P8 | 5 | 2 |\n| P9 | 6 | 3 |"),
        ('[["run", "yield"], [7, 0.83]]', "| run | yield |\n| --- | --- |\n| 7 | 0.83 |"),
        ("[[1, 2], [3, 4]]", "| 1 | 2 |\n| 3 | 4 |"),
        ('[1, {"a": 2}, "c"]', "- 1\n- a: 2\n- c"),
        ('\ufeff{"a": "\\u00e4"}', "a: ä"),
        ('// Plant\n{\n\t"max": 3.50, // bar\n\t/* of\n\t * pumps */\n\t"url": "https://x.org//a", b: \'c\',\n}',
         "# Plant\nmax: 3.50 # bar\n# of pumps\nurl: https://x.org//a\nb: c"),
        ('{"a": 1}\n{"a": 2}\n', "| a |\n| --- |\n| 1 |\n| 2 |"),
    ],
)  # fmt: skip
def test_json_is_read_as_values(parser: Parser, tmp_path: Path, source: str, text: str) -> None:
    document = read(parser, tmp_path / "a.json", source)
    assert (document.text, document.warnings) == (text, ())


def test_values_after_an_inner_record_are_not_part_of_it(parser: Parser, tmp_path: Path) -> None:
    fields = ", ".join(f'"f{number}": {number}' for number in range(9))
    text = read(parser, tmp_path / "a.json", f'{{"plant": {{{fields}}}, "owner": "Norvik"}}').text
    assert text.startswith("owner: Norvik\n\nplant\n\nf0: 0\nf1: 1\n")


def test_records_of_different_form_have_a_heading_each(parser: Parser, tmp_path: Path) -> None:
    source = f'{{"faq": [{{"q": "Why?", "a": "{"Because. " * 80}"}}, {{"q": "When?", "a": "Now."}}]}}'
    document = read(parser, tmp_path / "a.json", source)
    headings = [document.text[block.start : block.end] for block in document.blocks if block.kind == "heading"]
    assert headings == ["faq", "faq 1", "faq 2"]
    assert "faq 1\n\nq: Why?\n\na: Because. Because." in document.text


def test_an_invalid_line_is_read_as_text(parser: Parser, tmp_path: Path) -> None:
    document = read(parser, tmp_path / "a.jsonl", '{"a": "\\u00e4"}\n\n{"a": 1\n{"a": 2}\n')
    assert document.text == '| a |\n| --- |\n| ä |\n| 2 |\n\n{"a": 1'
    assert document.warnings == ("Not valid JSON, read as text: line 3.",)


@pytest.mark.parametrize(
    ("name", "source", "reason"),
    [
        ("a.json", '{"a": 1,\n"b": ', "Expecting value: line 2"),
        ("a.json", "[" * 5000 + "]" * 5000, "recursion"),
        ("a.json", "[" * 300 + "1" + "]" * 300, "more than 100 deep"),
        ("a.jsonl", "{x\n{y\n", "lines are not valid JSON"),
        ("a.yaml", "key: {{ name }}\n\tx: 1\n", "line 2, column 1"),
        ("a.yaml", "- " * 5000 + "x", "more than 100 deep"),
        ("a.toml", "a = \n[x", "line 1"),
    ],
)
def test_an_invalid_file_is_read_as_text(parser: Parser, tmp_path: Path, name: str, source: str, reason: str) -> None:
    document = read(parser, tmp_path / name, source)
    assert document.text.split() == source.split()
    assert "It was read as text." in document.warnings[0]
    assert reason in document.warnings[0]


YAML = """# Plant
defaults: &d
  pressure: 2.80  # bar
  unit: bar
# Norvik
pumps:
  - <<: *d
    name: "M\\u00fcller"
    pressure: 3.10
  - {<<: *d, name: B}
on: yes
mode: 0755
text: |
  One
  # two
ref: !Ref Bucket
self: &s [1, *s]
a: 1
a: 2
---
other: 1_000
# end
"""


def test_yaml_keeps_comments_aliases_and_documents(parser: Parser, tmp_path: Path) -> None:
    document = read(parser, tmp_path / "a.yml", YAML)
    assert document.text == (
        "1\n\n# Plant\ndefaults.pressure: 2.80 # bar\ndefaults.unit: bar\non: yes\nmode: 0755\n\n"
        "text: One\n# two\n\nref: !Ref Bucket\nself: 1, *s\na: 1\na: 2\n\npumps\n\n# Norvik\n\n"
        "| unit | name | pressure |\n| --- | --- | --- |\n| bar | Müller | 3.10 |\n| bar | B | 2.80 # bar |\n\n"
        "2\n\nother: 1_000\n\n# end"
    )
    assert document.warnings == ()


def test_aliases_that_stand_for_gigabytes_are_written_by_name(parser: Parser, tmp_path: Path) -> None:
    lines = [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 30)]
    document = read(parser, tmp_path / "a.yaml", "\n".join(["a0: &a0 [lol, lol]", *lines]))
    assert len(document.text) < 200_000
    assert "a29: *a28, *a28" in document.text
    assert document.warnings == ("The aliases of the file repeat too much: the last ones are written by their names.",)


def test_toml_is_read_as_written(parser: Parser, tmp_path: Path) -> None:
    source = (
        '# Plant\nn = 1_000 # pumps\nx = 0xFF\nd = 1979-05-27T07:32:00Z\na.b = 1\n[server] # main\nport = 80\n'
        'hosts = [\n  "a", # main\n  # spare\n  "b",\n]\n\n[[pump]]\nbar = 3.50\n[[pump]]\nbar = 4\n'
    )  # fmt: skip
    assert read(parser, tmp_path / "a.toml", source).text == (
        "# Plant\nn: 1_000 # pumps\nx: 0xFF\nd: 1979-05-27T07:32:00Z\na.b: 1\n# main\n"
        "server.port: 80\nserver.hosts: a # main, # spare, b\n\n"
        "pump\n\n| bar |\n| --- |\n| 3.50 |\n| 4 |"
    )


def test_encoded_files_in_data_are_left_out(parser: Parser, tmp_path: Path) -> None:
    words = "Pump 3 and Valve K9 " * 40
    lines = "\\n".join(["QXR0YWNoZWQ1" * 6] * 10)
    document = read(
        parser, tmp_path / "a.json", f'{{"name": "{words}", "data": "{lines}QQ==", "{"QXR0YWNoZWQ1" * 60}": "x"}}'
    )
    assert document.text == f"name: {words.strip()}\n\ndata: [...]\n[...]: x"
    assert "2 values are encoded files or keys (base64)" in document.warnings[0]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.json", "/*" * 100_000 + "{}"),
        ("a.json", '"' * 200_001),
        ("a.json", "[" + ",".join(["{}"] * 60_000) + "]"),
        ("a.json", '{"k":' * 90 + "[" + ",".join(['"one two, three"'] * 150_000) + "]" + "}" * 90),
        ("a.yaml", "[" * 50_000),
        ("a.yaml", "# c\n" * 50_000 + "a: 1"),
        ("a.yaml", "a: &a x\nb:\n" + "- *a\n" * 50_000),
    ],
)
def test_reading_takes_linear_time(parser: Parser, tmp_path: Path, name: str, source: str) -> None:
    started = time.process_time()
    assert read(parser, tmp_path / name, source).text
    assert time.process_time() - started < 10


def test_rich_text_in_a_record_keeps_its_form(parser: Parser, tmp_path: Path) -> None:
    text = [{"type": "text", "text": "At "}, {"type": "text", "text": "3 bar", "marks": [{"type": "strong"}]}]
    table = {"type": "table", "content": [_row("tableHeader", "Part"), _row("tableCell", "Bolt")]}
    content = [
        {"type": "paragraph", "content": [*text, {"type": "mention", "attrs": {"text": " @Ada"}}]},
        {
            "type": "orderedList",
            "attrs": {"order": 3},
            "content": [_item("listItem", "Close"), _item("listItem", "Drain")],
        },
        {"type": "taskList", "content": [{**_item("taskItem", "Check"), "attrs": {"state": "DONE"}}]},
        {"type": "panel", "content": [table]},
    ]
    issue = {"key": "A-1", "fields": {"description": {"type": "doc", "version": 1, "content": content}}}
    document = read(parser, tmp_path / "a.json", json.dumps(issue))
    assert document.text == (
        "key: A-1\n\nfields\n\ndescription\n\nAt 3 bar @Ada\n\n3. Close\n4. Drain\n\n- [x] Check\n\n"
        "| Part |\n| --- |\n| Bolt |"
    )


def test_a_record_of_the_type_doc_is_no_rich_text(parser: Parser, tmp_path: Path) -> None:
    source = '{"type": "doc", "content": ["a", "b"], "size": 3}'
    assert read(parser, tmp_path / "a.json", source).text == "type: doc\ncontent: a, b\nsize: 3"


def _item(kind: str, text: str) -> dict[str, object]:
    return {"type": kind, "content": [{"type": "paragraph", "content": [{"type": "text", "text": text}]}]}


def _row(kind: str, text: str) -> dict[str, object]:
    return {"type": "tableRow", "content": [_item(kind, text)]}


@pytest.mark.parametrize(
    ("name", "source", "text"),
    [
        ("a.json5", "{name: 'M\\u00fcller\\'s', 'x': \"\\u00e9\", // note\n}", "name: Müller's\nx: é # note"),
        ("a.json", '{"outer": "{\\"inner\\": \\"Gr\\\\u00f6\\\\u00dfe\\"}"}', 'outer: {"inner": "Größe"}'),
        ("a.json", 'var x = {"a": "Gr\\u00f6\\u00dfe \\ud83d\\ude00"}', 'var x = {"a": "Größe 😀"}'),
        ("a.json", '"Gr\\u00f6\\u00dfe"', '"Größe"'),
        ("a.properties", "firma=M\\u00fcller\nort=K\\u00f6ln", "firma=Müller\nort=Köln"),
        ("a.md", '---\ntitle: "Gr\\u00f6\\u00dfe"\n---\n\nBody.', 'title: "Größe"\n\nBody.'),
    ],
)
def test_escapes_are_decoded_wherever_they_stand(
    parser: Parser, tmp_path: Path, name: str, source: str, text: str
) -> None:
    assert read(parser, tmp_path / name, source).text == text
