"""The common format of Word, Excel, PowerPoint and XPS files: a zip of XML parts with relations, properties and charts.

A damaged package raises CorruptDocument when it is opened, a damaged part when it is read.
"""

from __future__ import annotations

import io
import lzma
import posixpath
import re
import tomllib
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from ingest.errors import CorruptDocument, EncryptedDocument
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.form import is_useful_link
from ingest.readers.shared.number_format import format_number, general, is_time
from vectorstore.models import Scalar

PROPERTIES = tomllib.loads(Path(__file__).with_name("properties.toml").read_text("utf-8"))
"""The properties of documents, by the names that formats give them."""
_OLE = b"\xd0\xcf\x11\xe0"
"""The first bytes of an encrypted package."""
_PIECE = re.compile(r"(.+)/\[(\d+)\](?:\.last)?\.piece")
"""The name of a piece of a part. Programs that print to XPS write the parts in pieces."""

_LONGEST_FIGURE = 15  # characters of a number that a program may show as it is stored
_FILE_NAME = re.compile(r"\S*[/\\.]\w{2,5}")
_CHART_KINDS = {
    f"{kind}{depth}Chart": f"{kind.capitalize()} chart"
    for kind in ("bar", "line", "pie", "doughnut", "area", "scatter", "bubble", "radar", "stock")
    for depth in ("", "3D")
}


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation from one part to another: the last word of its type, and the other part's name in the zip."""

    id: str
    kind: str
    target: str


@dataclass(frozen=True, slots=True)
class Chart:
    """The data of a chart: a row per category, a column per series."""

    kind: str
    title: str
    rows: list[list[str]]
    is_incomplete: bool = False

    def write(self, into: DocumentBuilder) -> None:
        """Add the chart to the builder as a line and a table."""
        into.prose(f"{self.kind}: {self.title}" if self.title else self.kind)
        into.table(self.rows)
        if self.is_incomplete:
            into.warn("A chart does not store all of its values and labels. Those in its workbook were not read.")


_DAMAGE = (
    ElementTree.ParseError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    OSError,
    EOFError,
    NotImplementedError,
    ValueError,
    LookupError,
)


class Package:
    """An opened package. Raises CorruptDocument, EncryptedDocument."""

    def __init__(self, data: bytes, path: Path) -> None:
        if data.startswith(_OLE):
            raise EncryptedDocument(f"{path} is encrypted. Save a copy without its password and ingest that.")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:  # ValueError: negative offsets
            raise CorruptDocument(f"{path} is damaged: {error}. Export or download it again.") from error
        self._path = path
        self._parts = _parts(self._zip.namelist())

    def __contains__(self, name: str) -> bool:
        return name in self._parts

    def names(self) -> Iterable[str]:
        """Return the names of all parts."""
        return self._parts

    def xml(self, name: str) -> ElementTree.Element:
        """Return the root of a part. Raises CorruptDocument if the part is missing or damaged."""
        content = self.read(name)
        with self.reporting_damage(name):
            return ElementTree.fromstring(content)

    @contextmanager
    def reporting_damage(self, name: str) -> Iterator[None]:
        """Translate the errors of a parser in this part to CorruptDocument."""
        try:
            yield
        except _DAMAGE as error:
            raise self._damaged(name, error) from error

    def read(self, name: str) -> bytes:
        """Return the content of a part. Raises CorruptDocument if the part is missing or damaged."""
        try:
            return b"".join(map(self._zip.read, self._parts[name]))
        except KeyError:
            raise CorruptDocument(f"{self._path} has no part {name}. Export or download it again.") from None
        except _DAMAGE as error:
            raise self._damaged(name, error) from error
        except RuntimeError as error:  # raised by zipfile for encrypted members
            raise EncryptedDocument(f"{self._path} is encrypted. Save a copy without its password.") from error

    def _damaged(self, name: str, error: Exception) -> CorruptDocument:
        return CorruptDocument(f"{self._path} is damaged in {name}: {error}. Export it again.")

    def relations(self, name: str) -> dict[str, Relation]:
        """Return the relations of a part to existing parts, by id."""
        folder = posixpath.dirname(name)
        relations = {}
        for element in self._relations(name):
            target = posixpath.normpath(posixpath.join("/", folder, element.get("Target", ""))).lstrip("/")
            if target in self:
                kind = element.get("Type", "").rsplit("/", 1)[-1]
                relations[element.get("Id", "")] = Relation(element.get("Id", ""), kind, target)
        return relations

    def links(self, name: str) -> dict[str, str]:
        """Return the addresses outside the file that a part links to, by the id of the relation."""
        outside = (one for one in self._relations(name) if one.get("TargetMode") == "External")
        return {one.get("Id", ""): one.get("Target", "") for one in outside if is_useful_link(one.get("Target", ""))}

    def _relations(self, name: str) -> Iterable[ElementTree.Element]:
        folder, base = posixpath.split(name)
        part = posixpath.join(folder, "_rels", f"{base}.rels")
        return self.xml(part) if part in self else ()

    def related(self, name: str, *kinds: str) -> list[str]:
        """Return the names of the parts that this part has a relation of these kinds to."""
        return [relation.target for relation in self.relations(name).values() if relation.kind in kinds]

    def properties(self, into: DocumentBuilder) -> dict[str, Scalar]:
        """Add the properties of people's own to the builder. Return the others: title, authors, dates and keywords."""
        if "docProps/custom.xml" in self:
            into.describe((each.get("name"), "".join(each.itertext())) for each in self.xml("docProps/custom.xml"))
        if "docProps/core.xml" not in self:
            return {}
        found = {local_name(element): (element.text or "").strip() for element in self.xml("docProps/core.xml")}
        return {key: found[name] for name, key in PROPERTIES["office"].items() if found.get(name)}

    def diagram(self, name: str) -> list[str]:
        """Return the texts of the boxes of a diagram (SmartArt)."""
        points = (" ".join(texts(point)).strip() for point in self.xml(name).iterfind(".//{*}pt/{*}t"))
        return [text for text in points if text]

    def write_graphic(self, reference: ElementTree.Element, target: str, into: DocumentBuilder) -> None:
        """Add the chart or diagram of the part ``target`` to the builder. ``reference`` is the element that names it.

        ``relIds`` elements name diagrams, all others charts.
        """
        if local_name(reference) == "relIds":
            into.list_items([f"- {text}" for text in self.diagram(target)])
        else:
            self.chart(target).write(into)

    def chart(self, name: str) -> Chart:
        """Read the chart in a part from its cached values."""
        root = self.xml(name)
        if root.find("{*}chartData") is not None:
            return _extended_chart(root)
        plot = root.find(".//{*}plotArea")
        kinds = [_CHART_KINDS[local_name(element)] for element in plot or () if local_name(element) in _CHART_KINDS]
        axis = "" if root.find(".//{*}dateAx") is None else "yyyy-mm-dd"
        from_1904 = root.find("{*}date1904[@val='1']") is not None
        series = [_Series.read(element, axis, from_1904=from_1904) for element in root.iterfind(".//{*}ser")]
        axes = ", ".join(filter(None, (_title(axis) for axis in plot or () if local_name(axis).endswith("Ax"))))
        title = f"{_title(root.find('{*}chart'))} (axes: {axes})" if axes else _title(root.find("{*}chart"))
        references = (each for each in root.iter() if local_name(each).endswith("Ref"))
        # the sheets of a workbook contain the values of its charts
        is_incomplete = not name.startswith("xl/") and any(each.find(".//{*}pt") is None for each in references)
        return Chart(" and ".join(dict.fromkeys(kinds)) or "Chart", title.strip(), _chart_rows(series), is_incomplete)


def _title(titled: ElementTree.Element | None) -> str:
    """Return the title of a chart or an axis. It may come from a cell."""
    title = None if titled is None else titled.find("{*}title")
    return "" if title is None else " ".join([*texts(title, "v"), *texts(title)]).strip()


def _parts(names: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Return the members of the zip that hold each part: one, or its pieces in order."""
    pieces: dict[str, dict[int, str]] = defaultdict(dict)
    for name in names:
        piece = _PIECE.fullmatch(name)
        pieces[piece[1] if piece else name][int(piece[2]) if piece else 0] = name
    return {part: [found[index] for index in sorted(found)] for part, found in pieces.items()}


@dataclass(frozen=True, slots=True)
class _Series:
    name: str
    labels: dict[int, str]
    values: dict[int, str]

    @staticmethod
    def read(element: ElementTree.Element, axis: str, *, from_1904: bool) -> _Series:
        values = _points(element, "val") or _points(element, "yVal")
        for index, size in _points(element, "bubbleSize").items():
            values[index] = f"{values.get(index, '')} (size {size})"
        labels = _labels(element, axis, from_1904=from_1904) or _points(element, "xVal")
        name = " ".join(_points(element, "tx").values()) or element.findtext("{*}tx/{*}v", "")
        return _Series(name, labels, values)


def _labels(series: ElementTree.Element, axis: str, *, from_1904: bool) -> dict[int, str]:
    """Return the categories: those of several levels joined, ``2023 Q1``, and dates in the format of the axis."""
    levels = [_level_points(level) for level in series.iterfind("./{*}cat//{*}lvl")]
    if levels:
        return _joined_levels(levels)
    points = _points(series, "cat")
    code = series.findtext("./{*}cat//{*}formatCode", "")
    code = axis if code in ("", "General") else code
    if not is_time(code):
        return points
    return {index: show_number(value, code, from_1904=from_1904) for index, value in points.items()}


def _level_points(level: ElementTree.Element) -> dict[int, str]:
    return {number(point.get("idx")): point.findtext("{*}v") or point.text or "" for point in level.iterfind("{*}pt")}


def _joined_levels(levels: Sequence[Mapping[int, str]]) -> dict[int, str]:
    """Join the levels of category labels, innermost first. An outer label applies until the next label of its level."""
    labels: dict[int, str] = {}
    covering = [""] * len(levels)
    for index in sorted(set().union(*levels)):
        covering = [level.get(index, before) for level, before in zip(levels, ["", *covering[1:]], strict=True)]
        labels[index] = " ".join(part for part in reversed(covering) if part.strip())
    return labels


def show_number(value: str, code: str, *, from_1904: bool = False) -> str:
    """Return a number as its format shows it. Return the stored text if it is no number, or too large to show."""
    try:
        return format_number(float(value), code, from_1904=from_1904)
    except (ValueError, ArithmeticError):
        return value


def _extended_chart(root: ElementTree.Element) -> Chart:
    """Read a chart of the kinds that Office 2016 added, such as waterfalls and funnels."""
    data = {
        each.get("id", ""): (
            _joined_levels([_level_points(level) for level in each.iterfind("{*}strDim/{*}lvl")] or [{}]),
            _joined_levels([_level_points(level) for level in each.iterfind("{*}numDim/{*}lvl")] or [{}]),
        )
        for each in root.iterfind("{*}chartData/{*}data")
    }
    series, kinds = [], []
    for one in root.iterfind(".//{*}series"):
        reference = one.find("{*}dataId")
        labels, values = data.get("" if reference is None else reference.get("val", ""), ({}, {}))
        series.append(_Series(one.findtext(".//{*}txData/{*}v", ""), labels, values))
        kinds.append(f"{one.get('layoutId', '').capitalize()} chart".strip())
    return Chart(" and ".join(dict.fromkeys(kinds)) or "Chart", _title(root.find("{*}chart")), _chart_rows(series))


def _points(series: ElementTree.Element, role: str) -> dict[int, str]:
    points = {}
    for index, point in enumerate(series.iterfind(f"./{{*}}{role}//{{*}}pt")):
        points[number(point.get("idx"), index)] = _shown(point.findtext("{*}v", ""))
    return points


def _shown(value: str) -> str:
    """Return a value without the digits of binary fractions that no program shows: 4.4 for 4.4000000000000004."""
    try:
        return general(float(value)) if "." in value and len(value) > _LONGEST_FIGURE else value
    except ValueError:
        return value


def _chart_rows(series: list[_Series]) -> list[list[str]]:
    """Return a header and one row per label. Series with different labels, as in scatter charts, share no rows."""
    if not any(one.values for one in series):
        return []
    labels = {index: label for one in reversed(series) for index, label in one.labels.items()}
    rows: dict[tuple[int, str], list[str]] = {}
    for column, one in enumerate(series, start=1):
        for index in {**one.labels, **one.values}:
            label = one.labels.get(index, labels.get(index, ""))
            row = rows.setdefault((index, label), [label, *[""] * len(series)])
            row[column] = one.values.get(index, "")
    names = (one.name or f"Series {place}" for place, one in enumerate(series, start=1))
    return [["", *names], *(rows[key] for key in sorted(rows, key=lambda key: key[0]))]


def local_name(element: ElementTree.Element) -> str:
    """Return the element's name without its namespace, which differs between the strict and the transitional format."""
    return element.tag.rpartition("}")[2]


def attribute(element: ElementTree.Element | None, name: str, default: str = "") -> str:
    """Return a namespaced attribute, such as ``w:val`` or ``r:id``, by its local name."""
    if element is None:
        return default
    return next((value for key, value in element.attrib.items() if key[0] == "{" and key.endswith("}" + name)), default)


def is_on(switch: ElementTree.Element | None, name: str = "val") -> bool:
    """Return whether a switch is on: the element is there and not off. Attributes other than ``val`` must be there."""
    if switch is None:
        return False
    return attribute(switch, name, "1" if name == "val" else "0") not in ("0", "false", "off")


def number(value: str | None, default: int = 0) -> int:
    """Parse a count from a document. Return the default if it is not a number or implausibly large."""
    return int(value) if value and value.isdecimal() and len(value) < 10 else default


def comment_line(author: str, when: str, text: str) -> str:
    """Format a comment on one line with its author and date."""
    about = ", ".join(part for part in (author, when) if part)
    return f"Comment{f' ({about})' if about else ''}: {' '.join(text.split())}"


def description(properties: ElementTree.Element | None) -> str:
    """Return the author's description of a picture. Generated descriptions and file names are ignored."""
    text = "" if properties is None else properties.get("descr", "")
    return "" if "generated" in text or _FILE_NAME.fullmatch(text) else text


def texts(element: ElementTree.Element, name: str = "t") -> Iterator[str]:
    """Yield the text of all descendants with this name, in document order."""
    return (found.text or "" for found in element.iterfind(f".//{{*}}{name}"))
