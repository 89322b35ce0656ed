"""Reads subtitles (.srt, .vtt, .smi, .ttml, …) as flowing text: a line per sentence, with the time of its beginning."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.etree.ElementTree import Element

from ingest.decoding import decode
from ingest.reader import Reader, ReadRequest
from ingest.readers.markup.element_writer import words
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.ooxml import attribute
from ingest.readers.text import write_text
from vectorstore.models import Scalar
from vectorstore.text.sentences import continues

_CLOCK = r"(?:\d+:)?\d{1,2}:\d\d[.,]\d{1,3}"
_DIALOGUE = re.compile(
    rf"^Dialogue:[^,]*,\s*({_CLOCK}),\s*({_CLOCK}),[^,]*,([^,\n]*),(?:[^,\n]*,){{4}}(.*)$", re.MULTILINE
)
"""A cue of Advanced SubStation: layer, times, style, speaker, margins, effect and text."""
_FRAMES = re.compile(r"^\{(\d{1,9})\}\{\d*\}(.*)$", re.MULTILINE)
"""A cue of MicroDVD: its first and last picture, and text. The first cue may have the pictures per second as text."""
_SYNC = re.compile(
    r"<SYNC\s[^>]{0,99}?Start\s?=\s?[\"']?(\d{1,9})[^>]{0,99}>(.*?)(?=<SYNC\s|</BODY|\Z)", re.IGNORECASE | re.DOTALL
)
"""What SAMI shows from a time in milliseconds on."""
_LANGUAGE = re.compile(r"<P\s[^>]{0,99}?Class\s?=\s?[\"']?(\w{1,99})[^>]{0,99}>", re.IGNORECASE)
_FRAME_RATE = 23.976  # of films; MicroDVD
_HOURS = re.compile(r"\d+:\d\d:\d\d")
_RATE = re.compile(r"\d{1,9}(?:\.\d{1,9})?")
_OFFSET = re.compile(r"(\d{1,12}(?:\.\d+)?)(h|m|s|ms|f|t)")
_TIMING = re.compile(rf"\s*(?P<start>{_CLOCK})\s*(?:-->|,)\s*{_CLOCK}(?:\s.*)?")
_NO_CUE = re.compile(r"\ufeff?(?:WEBVTT|NOTE|STYLE|REGION)(?:\s|$)")
_BLANK_LINES = re.compile(r"\n[ \t]*\n\s*")
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?\s([^<>]+)>")
_TAG = re.compile(
    r"<rt>[^<]*(?:</rt>)?|</?(?:[a-z][^<>]*|[\d:.]+)>|\{(?=\\)[^{}]*\\p[1-9][^{}]*\}[^{}]*|\{(?:\\|[a-z]:)[^{}]*\}",
    re.IGNORECASE,
)
"""What is not said: tags, readings of characters, and drawings of Advanced SubStation."""
_SENTENCE_END = re.compile(r"""[.!?…。！？؟।♪)\]]["'”’»)\]]*$""")
_WIDE_GAP = re.compile(r"(?<=[\u3001-\u30ff\u3400-\u9fff]) (?=[\u3001-\u30ff\u3400-\u9fff])")
_ROLLING = 0.5  # of the cues: if a larger share repeats a line, the file has rolling captions
_MAX_OVERLAP, _MAX_WORDS = 60, 100
_PAUSE = 10  # seconds between cues: after a longer pause, another sentence begins


@dataclass
class _Cue:
    """Lines that are shown together, and the time of their beginning without its fractions."""

    time: str
    lines: list[str]
    speaker: str = ""

    @property
    def words(self) -> list[str]:
        return " ".join(self.lines).split()


def read_subtitles(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the text to the builder as one paragraph. A file without times is read as text."""
    source = decode(request.data, request.path, into.warn).replace("\r\n", "\n").replace("\r", "\n")
    if _FRAMES.match(source.lstrip("\ufeff\n")):
        _write(_cues_of_frames(source, into), into)
    elif languages := _cues_of_sami(source):
        for cues in languages.values():
            _write(cues, into)
    elif not _write(_cues(_plain_cues(source)), into):
        write_text(source, into)
    return {}


def write_timed_text(root: Element, into: DocumentBuilder) -> None:
    """Add the cues of Timed Text (TTML) to the builder."""
    per_second = {"h": 1 / 3600, "m": 1 / 60, "s": 1.0, "ms": 1000.0}
    for unit, name in (("f", "frameRate"), ("t", "tickRate")):
        rate = attribute(root, name, "30")
        if not _RATE.fullmatch(rate):
            into.warn(f"The {name} {rate!r} is not a number. Times were read with 30 per second.")
            rate = "30"
        per_second[unit] = max(float(rate), 1)
    cues = []
    time = "00:00:00"
    for cue in root.iterfind(".//{*}p"):
        begin = next((part.get("begin", "") for part in cue.iter() if part.get("begin")), "")
        if offset := _OFFSET.fullmatch(begin):
            time = _clock(float(offset[1]) / per_second[offset[2]])
        elif clock := _HOURS.match(begin):
            time = clock[0]
        cues.append(_Cue(time, [words(cue)]))
    _write(cues, into)


def _cues_of_frames(source: str, into: DocumentBuilder) -> Iterator[_Cue]:
    """Yield the cues of MicroDVD. Its times are counted in pictures."""
    first, *others = cues = _FRAMES.findall(source)
    rate = float(first[1]) if re.fullmatch(r"\d+\.\d+", first[1]) else 0
    if not rate:
        into.warn(f"The file does not name its frame rate. Its times are those of {_FRAME_RATE} frames per second.")
    for frame, text in others if rate else cues:
        yield _Cue(_clock(int(frame) / (rate or _FRAME_RATE)), list(map(_plain, text.split("|"))))


def _cues_of_sami(source: str) -> dict[str, list[_Cue]]:
    """Return the cues of SAMI by their language, or none of another format."""
    languages: dict[str, list[_Cue]] = {}
    for start, shown in _SYNC.findall(source):
        first, *others = _LANGUAGE.split(re.sub(r"<br\b[^>]*>|\n", " ", shown, flags=re.IGNORECASE))
        for language, text in zip(["", *others[::2]], [first, *others[1::2]], strict=True):
            languages.setdefault(language, []).append(_Cue(_clock(int(start) / 1000), [_plain(text)]))
    return languages


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{rest:02}"


def _write(cues: Iterable[_Cue], into: DocumentBuilder) -> bool:
    """Add the cues to the builder. Return whether they have text."""
    shown = [cue for cue in cues if cue.words]
    into.prose("\n".join(_sentences(_without_repeats(shown))) if shown else "")
    return bool(shown)


def _plain_cues(source: str) -> str:
    """Return the cues of Advanced SubStation as those of other formats. Other sources stay as they are."""
    cues = [cue.expand(r"\1 --> \2\n<v \3>\4\n") for cue in _DIALOGUE.finditer(re.sub(r"\\[Nnh]", " ", source))]
    return "\n".join(cues).replace("<v >", "") or source


def _cues(source: str) -> Iterator[_Cue]:
    """Yield the cues. Text after a blank line inside a cue is part of it; notes and styles are not shown."""
    cue: _Cue | None = None
    for block in _BLANK_LINES.split(source):
        lines = block.split("\n")
        if _NO_CUE.match(block) and not any(map(_TIMING.fullmatch, lines)):
            continue
        for number, line in enumerate(lines):
            timing = _TIMING.fullmatch(line)
            if timing is not None:
                if cue is not None:
                    yield cue
                cue = _Cue(timing["start"].replace(",", ".").partition(".")[0], [])
            elif cue is not None and not _is_name(lines, number):
                cue.lines += [text] if (text := _plain(line)) else []
                voice = _VOICE.search(line)
                cue.speaker = cue.speaker or (f"{_plain(voice[1])}:" if voice else "")
    if cue is not None:
        yield cue


def _is_name(lines: Sequence[str], number: int) -> bool:
    """Return whether a line is the number or name of the cue whose time is on the next line."""
    is_before_time = number + 1 < len(lines) and _TIMING.fullmatch(lines[number + 1]) is not None
    return is_before_time and (number == 0 or lines[number].strip().isdecimal())


def _plain(line: str) -> str:
    line = _VOICE.sub(lambda voice: f"{voice[1].strip()}: ", line)
    return " ".join(html.unescape(_TAG.sub("", line.replace("[br]", " "))).split())


def _without_repeats(cues: list[_Cue]) -> list[_Cue]:
    """Remove the lines that rolling captions show again above each new line."""
    pairs = list(pairwise(cues))
    repeats = sum(len(cue.lines) > 1 and cue.lines[0] == before.lines[-1] for before, cue in pairs)
    if not pairs or repeats < _ROLLING * len(pairs) / 2:
        return cues
    said: list[str] = []
    for cue in cues:
        words = cue.words
        longest = min(len(words), len(said), _MAX_OVERLAP)
        overlap = next((size for size in range(longest, 0, -1) if said[-size:] == words[:size]), 0)
        cue.lines = [" ".join(words[overlap:])]
        said = [*said[-_MAX_OVERLAP:], *words[overlap:]]
    return [cue for cue in cues if cue.words]


def _sentences(cues: list[_Cue]) -> Iterator[str]:
    """Yield a line per sentence that begins with a cue. Texts without sentences are cut at a number of words."""
    has_sentences = sum(_ends(cue) for cue in cues) * 10 > len(cues)
    words: list[str] = []
    first = before = cues[0]
    for cue in cues:
        is_full = len(words) > _MAX_WORDS * (10 if has_sentences else 1)
        if words and (is_full or _is_apart(before, cue)):
            yield f"({first.time}) {_joined(words)}"
            words = []
        first = first if words else cue
        named = cue.speaker.split()
        is_known = words and cue.words[: len(named)] == named
        words += cue.words[len(named) :] if is_known else cue.words
        before = cue
    yield f"({first.time}) {_joined(words)}"


def _joined(words: Sequence[str]) -> str:
    """Join words with blanks, except between those of scripts without blanks."""
    return _WIDE_GAP.sub("", " ".join(words))


def _is_apart(before: _Cue, cue: _Cue) -> bool:
    """Return whether a sentence ends with the first cue. What soon follows an abbreviation continues it."""
    if before.speaker != cue.speaker:
        return True
    following = cue.words[0][0]
    is_abbreviated = len(before.words) > 1 and continues(before.words[-1], "A")
    goes_on = following.islower() or (following.isalnum() and is_abbreviated)
    return _ends(before) and not (goes_on and _seconds(cue) - _seconds(before) < _PAUSE)


def _seconds(cue: _Cue) -> int:
    return sum(60**place * int(part) for place, part in enumerate(reversed(cue.time.split(":"))))


def _ends(cue: _Cue) -> bool:
    return _SENTENCE_END.search(cue.words[-1]) is not None


READER = Reader(name="subtitles", version=7, read=read_subtitles, mime_types=("text/vtt", "application/x-subrip"))
