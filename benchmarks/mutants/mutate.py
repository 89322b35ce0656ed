"""Small changes of a Python file that a test should notice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_CALCULATIONS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
_TESTED = (ast.If, ast.While, ast.IfExp)


class Mutant(NamedTuple):
    """A changed part of a file. ``start`` and ``end`` are offsets in bytes of UTF-8."""

    line: int
    start: int
    end: int
    before: str
    after: str

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.after.encode() + source[self.end :]

    def __str__(self) -> str:
        return f"{' '.join(self.before.split())}  ->  {' '.join(self.after.split())}"


def mutants_of(source: bytes) -> list[Mutant]:
    """Return all mutants of a file. Texts, annotations and imports stay as they are."""
    starts = list(accumulate(map(len, source.splitlines(keepends=True)), initial=0))
    found = []
    for node, after in _changes(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)
        found.append(Mutant(node.lineno, start, end, source[start:end].decode(), after))
    return found


def _changes(tree: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Yield each node that can be replaced, with its replacement."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST) or _is_left_out(node):
                continue
            if isinstance(node, ast.expr):
                yield from ((node, f"({after})") for after in _changed_expressions(node, tree))
            elif isinstance(node, ast.stmt):
                yield from ((node, after) for after in _changed_statements(node))
            yield from _changes(node)


def _is_left_out(node: ast.AST) -> bool:
    """Say whether no test can notice a change: in texts, and in code for type checkers."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return True
    return isinstance(node, ast.JoinedStr | ast.Raise | ast.Assert | ast.Import | ast.ImportFrom)


def _changed_expressions(node: ast.expr, parent: ast.AST) -> Iterator[str]:
    conditions = [parent.test] if isinstance(parent, _TESTED) else getattr(parent, "ifs", [])
    if node in conditions:
        yield f"not ({ast.unparse(node)})"
    match node:
        case ast.Compare(left, [comparison, *others], comparators) if type(comparison) in _COMPARISONS:
            yield ast.unparse(ast.Compare(left, [_COMPARISONS[type(comparison)](), *others], comparators))
        case ast.BoolOp(ast.And(), values):
            yield ast.unparse(ast.BoolOp(ast.Or(), values))
        case ast.BoolOp(ast.Or(), values):
            yield ast.unparse(ast.BoolOp(ast.And(), values))
        case ast.BinOp(left, operator, right) if type(operator) in _CALCULATIONS:
            yield ast.unparse(ast.BinOp(left, _CALCULATIONS[type(operator)](), right))
        case ast.UnaryOp(ast.Not(), operand):
            yield ast.unparse(operand)
        case ast.Constant(bool() as value):
            yield repr(not value)
        case ast.Constant(int() as value):
            yield repr(value + 1)


def _changed_statements(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Return(ast.expr() as value) if ast.unparse(value) != "None":
            yield "return None"
        case ast.Break():
            yield "continue"
        case ast.Continue():
            yield "break"
        case ast.AugAssign() | ast.Expr(ast.Call() | ast.Await() | ast.Yield() | ast.YieldFrom()):
            yield "pass"
