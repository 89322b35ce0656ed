"""Decides which entries of folders an ingest leaves out. All patterns have the syntax of `.gitignore`.

The first of these that matches an entry decides: the patterns of the request, the `.candorignore` of the folder or of a
folder around it, the `.gitignore` there if it is in a Git repository, and ``left_out.toml``. A pattern that begins with
`!` has entries back.
"""

import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple, Self

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore import GitIgnorePatternError

from ingest.errors import InvalidRule
from ingest.pipeline.boundary import Boundary

NO_DOCUMENT = "no document"
"""Prefix of the reasons in ``left_out.toml`` that also apply to members of containers."""
_CANDOR_FILE, _GIT_FILE = ".candorignore", ".gitignore"


class LeftOut(NamedTuple):
    """Why an entry is left out, and the pattern that matches it."""

    reason: str
    rule: str


@dataclass(frozen=True)
class _Patterns:
    """Patterns that apply to the entries below a folder."""

    folder: Path
    spec: GitIgnoreSpec
    reasons: Mapping[str, str]
    """By pattern."""

    @classmethod
    def of(cls, folder: Path, reasons: Mapping[str, str], where: str) -> Self:
        """Raises InvalidRule for a pattern that cannot be read."""
        try:
            return cls(folder, GitIgnoreSpec.from_lines(reasons), reasons)
        except GitIgnorePatternError as error:
            raise InvalidRule(f"{where} has an invalid pattern: {error}. Correct it.") from error

    def match(self, entry: Path, slash: str) -> LeftOut | bool:
        """Return why the entry is left out, True if a pattern has it back, and False if none matches it."""
        found = self.spec.check_file(entry.relative_to(self.folder).as_posix() + slash)
        if found.include is None or found.index is None:
            return False
        rule = str(self.spec.patterns[found.index].pattern)
        return LeftOut(self.reasons[rule], rule) if found.include else True


@dataclass(frozen=True)
class Rules:
    """The rules for the entries of one folder. ``enter`` adds those of a folder in it."""

    patterns: tuple[_Patterns, ...]
    """The first match decides. The order: patterns of the request, of files (the innermost first), defaults."""
    wanted: tuple[str, ...]
    """Paths and patterns of entries to include. Their parent folders are entered."""
    in_repository: bool = False

    @classmethod
    def create(
        cls, root: Path, exclude: Sequence[str], include: Sequence[str], around: Iterable[Path], within: Boundary | None
    ) -> Self:
        """Return the rules for a folder. ``around`` lists its parent folders, the outermost first.

        Their rules count only from a Git repository on, and only if they do not name the folder itself.
        """
        given = dict.fromkeys(exclude, "excluded") | dict.fromkeys((f"!{glob}" for glob in include), "")
        first = _Patterns.of(root, given, "--exclude or --include")
        wanted = tuple(f"{root.as_posix()}/{glob.lstrip('/')}" for glob in include)
        own = outer = cls((first, replace(_defaults(), folder=root)), wanted)
        for folder in around:
            if outer.in_repository or (folder / ".git").exists():
                outer = outer.enter(folder, within)
        return own if any(isinstance(each.match(root, "/"), LeftOut) for each in outer.patterns[1:-1]) else outer

    def enter(self, folder: Path, within: Boundary | None) -> Self:
        """Return the rules for the entries of a folder. Raises InvalidRule."""
        in_repository = self.in_repository or (folder / ".git").exists()
        names = (_CANDOR_FILE, _GIT_FILE) if in_repository else (_CANDOR_FILE,)
        found = [_read(path, within) for name in names if (path := folder / name).is_file()]
        return type(self)((self.patterns[0], *found, *self.patterns[1:]), self.wanted, in_repository)

    def judge(self, entry: Path, *, is_folder: bool) -> LeftOut | None:
        """Return why an entry is left out, or None."""
        matches = (each.match(entry, "/" if is_folder else "") for each in self.patterns)
        match = next((match for match in matches if match), None)
        has_wanted = is_folder and any(path.startswith(f"{entry.as_posix()}/") for path in self.wanted)
        return match if isinstance(match, LeftOut) and not has_wanted else None


def no_document(name: str) -> str:
    """Return why a member of a container is not a document, or ``""`` if it may be one."""
    found = _defaults().match(Path(name), "")
    return found.reason if isinstance(found, LeftOut) and found.reason.startswith(NO_DOCUMENT) else ""


@cache
def _defaults() -> _Patterns:
    listed = tomllib.loads(Path(__file__).with_name("left_out.toml").read_text(encoding="utf-8"))
    return _Patterns.of(Path(), {rule: reason for reason, rules in listed.items() for rule in rules}, "left_out.toml")


def _read(path: Path, within: Boundary | None) -> _Patterns:
    try:
        with os.fdopen(within.open(path) if within else os.open(path, os.O_RDONLY | os.O_CLOEXEC), "rb") as file:
            lines = os.fsdecode(file.read()).splitlines()
    except OSError as error:
        raise InvalidRule(f"{path} cannot be read: {error.strerror}. Correct its permissions.") from error
    return _Patterns.of(path.parent, dict.fromkeys(lines, f"named in {path.name}"), str(path))
