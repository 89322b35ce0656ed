"""Rewrites LaTeX that pandoc misreads: tables, labels and numbers of lists, titles of boxes and pages, conditions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

_GROUP = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]{0,200}\}){0,200}\}){0,400}\}"
_OPTION = r"(?:\s?\[[^\]]{0,200}\])?"
_TABLE = re.compile(
    r"\\begin\{(tabular[*xy]?|NiceTabular|(?:long)?(?:tabu|tblr)|longtable|xltabular|supertabular)\}"
    rf"{_OPTION}(?:\s*(?:to|spread)\s[^{{}}\n]{{0,40}})?({_GROUP})(?:\s?({_GROUP}))?"
)
_TABLE_END = re.compile(r"\\end\{(tabular[*xy]|NiceTabular|(?:long)?(?:tabu|tblr)|xltabular|supertabular)\}")
_WIDE = {"tabular*", "tabularx", "tabulary", "xltabular"}
_LONG = {"longtabu", "longtblr", "longtable", "xltabular", "supertabular"}
_COLUMNS_KEY = re.compile(rf"colspec\s*=\s*({_GROUP})")
_ROW_IN_CELL = re.compile(rf"\\(?:makecell|thead|shortstack){_OPTION}({_GROUP})")
_NO_TEXT = re.compile(r"\\(?:cmidrule|cline)\s?(?:\([^)]{0,40}\))?\s?\{[\d\s-]{0,9}\}|\\frame(?=\s?\{)")
_SIZES = r"(?:\s?\[[^\]]{0,80}\]|\s?\{[^{}]{0,80}\})*"
_SIZED = re.compile(rf"(\\begin\{{(?:adjustbox|adjustwidth|column|multicols|spacing|thebibliography)\*?\}}){_SIZES}")
_FLOAT = re.compile(
    r"\\(?:(begin)|end)\{(?:(?:floating|margin|SC|sideways|wrap)(figure|table)|algorithm|listing)\*?\}"
    rf"(?(1){_SIZES}|)"
)
_NO_TABLE = re.compile(r"(?s)\{table(\*?)\}((?:(?!\\(?:begin|end)\{\w*(?:[tT]ab|tblr)).){0,5000}\\end)\{table\1\}")
"""A table without rows, such as a picture or another file. pandoc keeps its caption only if it is a figure."""
_INPUT = re.compile(
    r"\\(?:(?:input|include)[ \t]+|(?:sub)?(?:import|inputfrom|includefrom)\*?\s?\{([\w./-]{0,200})\}\s?\{)"
    r"([\w./-]{1,200})(?(1)\})"
)
_DOCUMENT_COMMAND = re.compile(
    r"\\(?:New|Renew|Provide|Declare)DocumentCommand\s?\{?(\\[A-Za-z]+)\}?"
    r"\s?\{((?:[\s+mo]|O\s?\{[^{}]{0,80}\}){0,20})\}"
)
_PARAMETER = re.compile(r"([moO])\s?(?:\{([^{}]*)\})?")
_GERMAN = re.compile(r"\\usepackage\s?\[[^\]]{0,200}(?:german|austrian)\b[^\]]{0,200}\]\s?\{babel\}")
_SHORTHAND = re.compile(
    r"\\begin\{(verbatim|lstlisting|minted)\}.{0,5000}?\\end\{\1\}|\\(?:verb|lstinline)\*?([^\w\s*]).{0,200}?\2"
    r"""|(?<!\\)"([aouAOUs`'=~"|-])""",
    re.DOTALL,
)
"""A shorthand of German texts, or code, which has none."""
_SHORTHANDS = {**dict(zip("aouAOUs`'=~", "äöüÄÖÜß„“--", strict=True)), '"': "", "|": "", "-": ""}
_DEGREE = re.compile(r"\^\s?(?:\\circ(?![A-Za-z])|\{\s?\\circ\s?\})")
_DOTLESS = re.compile(r"""(\\["'`^~])\s?(\{)?\\([ij])(?![A-Za-z])\s?(?(2)\})""")
_BOX_TITLE = re.compile(
    r"(\\begin\{\w+\*?\})\[(?:[^\]=]{0,99}=[^\]=]{0,99},)?\s*title\s*=\s*([^\],]{1,200})[^\]]{0,200}\]"
)
_SLIDE = re.compile(r"(\\begin\{(?:frame|block|alertblock|exampleblock)\})(?:<[^<>]{0,20}>)?(?:\[[^\]]{0,80}\])?\{")
_OVERLAY = re.compile(r"(\\(?:item|only|onslide|uncover|visible|alert|textbf))<[\d,+.-]{1,12}>")
_SUBFIGURE = re.compile(r"\\sub(?:float|figure)\s?\[([^\]]{0,200})\]")
_TERMS = re.compile(r"(\\(?:begin|end)\{description\})")
_ITEM = re.compile(r"\\item\s?\[([^\]]{1,40})\]")
_NUMBERS = re.compile(
    r"\\begin\{enumerate\}\s?\[[^\]]{0,80}?label\s*=\s*\{?([^\\\],]{0,4})\\(\w+)\*([^\],}]{0,4})\}?[^\]]{0,80}\]"
)
_START = re.compile(r"\\begin\{enumerate\}\s?\[([^\]]{0,80}?)\bstart\s*=\s*(\d{1,4})([^\]]{0,80})\]")
_FIRST = {"alph": "a", "Alph": "A", "roman": "i", "Roman": "I", "arabic": "1"}
_HEADS = re.compile(r"\\end(firsthead|head|foot|lastfoot)\b")
_REPEATED = re.compile(rf"\*\s*\{{(\d{{1,2}})\}}({_GROUP})")
_NO_COLUMN = re.compile(rf"[@!><]\s*{_GROUP}|\[[^\]]{{0,200}}\]|[|\s]")
_COLUMN = re.compile(rf"[A-Za-z](?:{_GROUP})*")
_OTHER_FILE = re.compile(
    r"\\begin\{filecontents(\*?)\}(?:\[[^\]]{0,80}\])?\s?\{([^{}]{1,200})\}(.*?)\\end\{filecontents\1\}", re.DOTALL
)
_ENTRY = re.compile(
    rf"\\newacronym{_OPTION}\s?\{{([^{{}}]{{1,80}})\}}\s?({_GROUP})\s?({_GROUP})"
    rf"|\\(?:new|provide|(long)new)glossaryentry\s?\{{([^{{}}]{{1,80}})\}}\s?({_GROUP})(?(4)\s?({_GROUP}))"
)
"""An entry of a list of acronyms or of a glossary."""
_ENTRY_FIELD = re.compile(rf"\b(name|description)\s?=\s?({_GROUP}|[^,{{}}]{{1,200}})")
_TERM = re.compile(r"(\\(?:[Gg]ls|GLS|acr|ac)[a-z]{0,12}\*?\s?\{)([^{}]{1,80})\}")
_TITLE_PAGE = re.compile(
    r"\\(?:address|affil|affiliation|dedication|degree|department|email|extratitle|faculty|firstpageheader|homepage|"
    r"institut(?:e|ion)|keywords|name|phone|preprint|publishers|reportnumber|school|setkomavar\s?\{[a-z]{1,30}\}|"
    rf"subject|supervisor|titlehead|university|uppertitleback|lowertitleback)\s?{_OPTION}((?:\s?{_GROUP}){{1,3}})"
)
"""Commands above the text, of classes of journals and universities. pandoc writes only title, author and date."""
_VALUE = r"(?:\\value\s?\{[^{}]{1,80}\}|\\[A-Za-z@]+|-?[\d.]+(?:\s?(?:pt|[cem]m|in|e[mx]))?)\s?"
_STEP = re.compile(
    rf"\\if(?:(?:num|dim)\s?{_VALUE}[<=>]\s?{_VALUE}|odd\s?{_VALUE}|case\s?{_VALUE}|x\s?(?:\\[A-Za-z@]+\s?|\S){{2}}"
    r"|defined\s?\\[A-Za-z@]+\s?|(?:[hmv]mode|pdf|xetex|luatex)(?![A-Za-z@])\s?)"
    r"|\\(?P<mark>if(?!f\b|then)[A-Za-z@]*|else|or|fi)(?![A-Za-z@])\s?"
)
"""A condition that pandoc cannot decide, or a mark of any condition."""
_EXAM = {
    rf"\\(?:bonus)?titledquestion\s?({_GROUP})(\[[^\]]{{1,20}}\])?": r"\\question\2 \1 ",
    r"\\(?:(?:bonus)?question|(?:sub){0,2}part)\s?\[([^\]]{1,20})\]": r"\\par (\1 points) ",
    r"\\(?:bonusquestion|(?:sub){0,2}part)(?![A-Za-z])": r"\\par{}",
    r"\\fillin\s?\[([^\]]{1,200})\](?:\[[^\]]{0,20}\])?": r"\1 ",
    r"\\fillin(?![A-Za-z])": "____",
}
"""Questions of the class exam and blanks to fill in, with what they show."""
_CHEMISTRY = re.compile(r"\${0,2}\\(?:cee?|ch)\s?\{((?:[^{}]|\{[^{}]*\}){0,300})\}\${0,2}")
_CHEMICAL = re.compile(
    r"(?P<arrow><=>|<->|->|<-)|\^(?:\{(?P<over>[^{}]*)\}|(?P<charge>\d*[+-]|\d+))|_(?:\{(?P<under>[^{}]*)\}|(?P<index>\w))"
    r"|(?<=[A-Za-z)\]])(?P<count>\d+)|(?<=[\w)\]}])(?P<sign>[+-])(?=\s|$|[)\]])"
)
"""The subscripts, superscripts and arrows of a formula in mhchem: H2O, SO4^2-, Na+."""
_ARROWS = {"<=>": "⇌", "<->": "↔", "->": "→", "<-": "←"}


def prepare(source: str) -> str:
    """Return the source in a form that pandoc reads without losses."""
    source = _CHEMISTRY.sub(lambda found: _CHEMICAL.sub(_chemical_part, found[1]), source)
    source = _with_title_page(_with_all_branches(_with_plain_commands(source)))
    if r"\begin{questions}" in source:
        for command, shown in _EXAM.items():
            source = re.sub(command, shown, source)
    if _GERMAN.search(source):
        source = _SHORTHAND.sub(lambda found: _SHORTHANDS[found[3]] if found[3] else found[0], source)
    source = _FLOAT.sub(lambda found: rf"\{found[1] or 'end'}{{{found[2] or 'figure'}}}", _SIZED.sub(r"\1", source))
    source = _NO_TABLE.sub(r"{figure}\2{figure}", source)
    source = _DOTLESS.sub(r"\1{\3}", _BOX_TITLE.sub(r"\1 \2\\par ", _NO_TEXT.sub("", source)))
    source = _DEGREE.sub("°", _INPUT.sub(r"\\input{\1\2}", source))
    source = _OVERLAY.sub(r"\1", _SLIDE.sub(r"\1\\frametitle{", source))
    source = _ROW_IN_CELL.sub(lambda found: found[1].replace(r"\\", " "), _SUBFIGURE.sub(r" \1 ", source))
    source = _START.sub(
        lambda found: rf"\begin{{enumerate}}[{found[1]}{found[3]}]\setcounter{{enumi}}{{{int(found[2]) - 1}}}", source
    )
    source = _NUMBERS.sub(
        lambda found: rf"\begin{{enumerate}}[{found[1]}{_FIRST.get(found[2], '1')}{found[3]}]", source
    )
    source = _TABLE_END.sub(
        lambda found: rf"\end{{{_plain_name(found[1])}}}", _without_repeated_heads(_with_labels(source))
    )
    return _TABLE.sub(_table_start, source)


def _chemical_part(part: re.Match[str]) -> str:
    kind = part.lastgroup or ""
    command = "textsubscript" if kind in ("under", "index", "count") else "textsuperscript"
    return _ARROWS.get(part[kind]) or rf"\{command}{{{part[kind]}}}"


def _with_plain_commands(source: str) -> str:
    """Define commands as LaTeX did before 2020. pandoc knows only a first argument as optional, so all are given."""
    found = [(each[1], _PARAMETER.findall(each[2])) for each in _DOCUMENT_COMMAND.finditer(source)]
    source = _DOCUMENT_COMMAND.sub(
        lambda each: rf"\newcommand{{{each[1]}}}[{len(_PARAMETER.findall(each[2]))}]", source
    )
    for name, parameters in found:
        given = (rf"\s?({_GROUP})" if kind == "m" else r"(?:\s?\[([^\]]{0,200})\])?" for kind, _ in parameters)
        defaults = [default for _, default in parameters]
        source = re.sub(
            rf"{re.escape(name)}(?![A-Za-z}}]){''.join(given)}", partial(_with_all_arguments, name, defaults), source
        )
    return source


def _with_all_arguments(name: str, defaults: Sequence[str], use: re.Match[str]) -> str:
    given = (text or f"{{{default}}}" for text, default in zip(use.groups(), defaults, strict=True))
    return name + "".join(text if text.startswith("{") else f"{{{text}}}" for text in given)


def _with_title_page(source: str) -> str:
    """Move what the title page shows into the text, and what the source writes to other files to its end."""
    files = [each for each in _OTHER_FILE.finditer(source) if not each[2].endswith((".sty", ".cls"))]
    terms = dict(map(_term, _ENTRY.finditer(source)))
    above, begin, text = _ENTRY.sub("", _OTHER_FILE.sub("", source)).partition(r"\begin{document}")
    shown = [rf"\par {each[1].replace('}{', '} {')}\par " for each in _TITLE_PAGE.finditer(above)] if begin else []
    above = _TITLE_PAGE.sub("", above) if begin else above
    text, end, _ = text.partition(r"\end{document}")
    text = _TERM.sub(lambda use: f"{use[1]}{terms[use[2]][0] if use[2] in terms else use[2]}}}", text)
    last = [rf"\par {name}: {description}" for name, description in terms.values()]
    last += [rf"\par {each[2]}\begin{{verbatim}}{each[3]}\end{{verbatim}}" for each in files]
    return "".join([above, begin, *shown, text, *last, end])


def _term(entry: re.Match[str]) -> tuple[str, tuple[str, str]]:
    """Return the label of an entry, with its name and its description."""
    fields: dict[str, str] = dict(_ENTRY_FIELD.findall(entry[6] or ""))
    name, description = entry[2] or fields.get("name", entry[5]), entry[3] or entry[7] or fields.get("description", "")
    return entry[1] or entry[5], (name.strip("{} \n"), description.strip("{} \n"))


def _with_all_branches(source: str) -> str:
    """Replace each condition that pandoc cannot decide by all its branches."""
    unknown: list[bool] = []

    def replaced(found: re.Match[str]) -> str:
        mark = found["mark"]
        if mark is None or mark.startswith("if"):
            unknown.append(mark is None)
        is_unknown = bool(unknown) and unknown[-1]
        if mark == "fi" and unknown:
            unknown.pop()
        return "{} " if is_unknown else found[0]

    return _STEP.sub(replaced, source)


def _with_labels(source: str) -> str:
    """Turn the labels of list items, which pandoc leaves out, into text. Those of descriptions are terms."""
    kept, depth = [], 0
    for part in _TERMS.split(source):
        depth += part.startswith(r"\begin{description}") - part.startswith(r"\end{description}")
        kept.append(part if depth > 0 else _ITEM.sub(r"\\item {\1} ", part))
    return "".join(kept)


def _plain_name(table: str) -> str:
    return "longtable" if table in _LONG else "tabular"


def _table_start(found: re.Match[str]) -> str:
    """Return the start of a table with columns that pandoc knows."""
    name, first, second = found.groups()
    given, after = (second or "", "") if name in _WIDE else (first, second or "")
    inner = _COLUMNS_KEY.search(given)
    spec = _REPEATED.sub(lambda times: times[2][1:-1] * int(times[1]), (inner[1] if inner else given)[1:-1])
    columns = _COLUMN.findall(_NO_COLUMN.sub("", spec))
    return rf"\begin{{{_plain_name(name)}}}{{{'l' * len(columns)}}}{after}"


def _without_repeated_heads(source: str) -> str:
    r"""Drop the heads and feet that long tables repeat on each page, up to ``\endhead`` and ``\endfoot``."""
    first, *others = _HEADS.split(source)
    kept, text, before = [], first, ""
    for mark, following in zip(others[::2], others[1::2], strict=True):
        is_repeated = mark in ("foot", "lastfoot") or before == "firsthead"
        if not is_repeated or r"\begin{" in text:
            kept += [text, r"\endhead " if mark in ("head", "firsthead") and before != "firsthead" else ""]
        text, before = following, mark
    return "".join([*kept, text])
