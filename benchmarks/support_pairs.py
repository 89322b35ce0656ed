"""Makes the pairs of ``benchmarks.support``: sentences of public sets, each with a claim that changes it in one way.

    python -m benchmarks.support_pairs --data DATA --each 14

The sentences are from SQuAD 2.0 and HotpotQA (CC BY-SA 4.0) and from quarterly reports (docugami/KG-RAG-datasets,
MIT). ``support_by_hand.tsv`` holds further pairs, which were written by hand. Which words are exchanged stands here and
not in the rules that are measured.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

PAIRS = Path(__file__).with_name("support_pairs.jsonl")
_SENTENCE = re.compile(r"(?<=[a-z0-9)][.]) (?=[A-Z])")
_VERB = re.compile(r" (\w+ed|\w{4,}s|won|beat|led|wrote|built|sold|gave|held)( \w+)?( by| to| from| against)? ")
_WORDS = range(8, 32)
_NAME = r"[A-Z][a-z]+(?: [A-Z][a-z]+)*"


def _pairs(text: str) -> list[tuple[str, str]]:
    """Return pairs of a word and what takes its place."""
    return [(one.strip(), other.strip()) for one, other in (each.split("/") for each in text.split(";"))]


_OPPOSITES = _pairs("""
largest/smallest; first/last; north/south; eastern/western; won/lost; increased/decreased; increase/decrease;
early/late; more/fewer; higher/lower; older/younger; accepted/rejected; began/ended; opened/closed; male/female;
mother/father; highest/lowest; support/oppose; public/private; legal/illegal; strong/weak; positive/negative;
rose/fell; long/short; inside/outside; best/worst; son/daughter; husband/wife; bought/sold; old/new; large/small;
maximum/minimum; include/exclude; approved/vetoed; arrived/departed; upper/lower; success/failure
""")
_UNITS = _pairs("""
million/billion; billion/million; kilometres/miles; km/m; miles/kilometres; years/months; hours/days; days/weeks;
percent/per mille; feet/metres; metres/feet; tons/pounds; pounds/dollars; minutes/hours
""")
_BOUNDS = _pairs("""
more than/less than; at least/at most; over/under; before/after; after/before; since/until; up to/at least;
less than/more than; about/exactly; approximately/exactly
""")
_AMOUNTS = _pairs("""
most/all; some/all; many/all; all/some; several/all; few/most; both/neither; only/not only; usually/never;
often/always; sometimes/always; every/not every; may/must; must/may; can/must
""")
_TENS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


def _swapped(pairs: list[tuple[str, str]]) -> Callable[[str, random.Random], str]:
    def swap(sentence: str, _: random.Random) -> str:
        for one, other in pairs:
            if re.search(rf"\b{one}\b", sentence):
                return re.sub(rf"\b{one}\b", other, sentence, count=1)
        return ""

    return swap


def _opposite(sentence: str, chance: random.Random) -> str:
    both = [*_OPPOSITES, *((other, one) for one, other in _OPPOSITES)]
    chance.shuffle(both)
    return _swapped(both)(sentence, chance)


def _unit(sentence: str, chance: random.Random) -> str:
    for one, other in chance.sample(_UNITS, len(_UNITS)):
        if re.search(rf"\d {one}\b", sentence):
            return re.sub(rf"(\d) {one}\b", rf"\1 {other}", sentence, count=1)
    return sentence.replace("$", "€", 1) if re.search(r"\$\d", sentence) else ""


def _negated(sentence: str, _: random.Random) -> str:
    if re.search(r" not\b", sentence):
        return re.sub(r" not\b", "", sentence, count=1)
    return re.sub(r"\b(is|was|were|are|had|has|can|will|could)\b", r"\1 not", sentence, count=1)


def _figure(sentence: str, chance: random.Random) -> str:
    found = list(re.finditer(r"(?<![\d.,])\d{1,3}(?:[.,]\d+)*(?![\d.,]*\d)", sentence))
    if not found:
        return ""
    one = chance.choice(found)
    return sentence[: one.start()] + str(int(one[0][0]) % 9 + 1) + one[0][1:] + sentence[one.end() :]


def _year(sentence: str, chance: random.Random) -> str:
    years = re.findall(r"\b1[5-9]\d\d\b|\b20[012]\d\b", sentence)
    return sentence.replace(years[0], str(int(years[0]) + chance.choice((-3, -1, 2, 7))), 1) if years else ""


def _two(sentence: str, pattern: str, between: str = "") -> str:
    found = list(re.finditer(pattern, sentence))
    for one, other in itertools.pairwise(found):
        gap = sentence[one.end() : other.start()]
        if (
            one[0] != other[0]
            and one.start() > 0
            and not re.fullmatch(r"\W*(and|or|to|of)?\W*", gap)
            and re.search(between, gap)
        ):
            return sentence[: one.start()] + other[0] + gap + one[0] + sentence[other.end() :]
    return ""


def _roles(sentence: str, _: random.Random) -> str:
    found = list(re.finditer(_NAME, sentence))
    for one, other in itertools.pairwise(found):
        gap = sentence[one.end() : other.start()]
        if one[0][:5] != other[0][:5] and re.fullmatch(
            r" (\w+ed|\w{4,}s|won|beat|led|wrote|built|sold|gave|became|held)( \w+)?( by| to| from| against)? ", gap
        ):
            return sentence[: one.start()] + other[0] + gap + one[0] + sentence[other.end() :]
    return ""


def _other_name(sentence: str, chance: random.Random) -> str:
    found = [each for each in re.finditer(_NAME, sentence) if each.start() > 0]
    others = ["Norway", "Marcus Webb", "Lisbon", "Clara Hofmann", "Toronto", "Peter Lindqvist"]
    return sentence.replace(found[-1][0], chance.choice(others), 1) if found else ""


def _short(sentence: str, _: random.Random) -> str:
    for end in (", which ", ", who ", ", where ", ", while ", ", although "):
        head = sentence.split(end)[0]
        if end in sentence and len(head.split()) > 5:
            return f"{head}."
    return ""


def _moved(sentence: str, _: random.Random) -> str:
    found = re.fullmatch(r"((?:The|It|He|She|They) [^,;]*?) ((?:in|on|during|since) (?:\w+ ){0,3}\d{4})\.", sentence)
    return f"{found[2][0].upper()}{found[2][1:]}, {found[1][0].lower()}{found[1][1:]}." if found else ""


def _number(sentence: str, _: random.Random) -> str:
    if found := re.search(r"\b(\d+)\.(\d) million\b", sentence):
        return sentence.replace(found[0], f"{found[1]},{found[2]}00,000", 1)
    if found := re.search(r"\b(\d{1,3}),(\d)00,000\b", sentence):
        return sentence.replace(found[0], f"{found[1]}.{found[2]} million", 1)
    if found := re.search(r"\$(\d[\d.,]*(?: million| billion)?)\b", sentence):
        return sentence.replace(found[0], f"{found[1]} US dollars", 1)
    if found := re.search(r"(\d)%", sentence):
        return sentence.replace(found[0], f"{found[1]} percent", 1)
    if found := re.search(rf" ({'|'.join(_TENS[2:])}) (?=[a-z])", sentence):
        return sentence.replace(found[0], f" {_TENS.index(found[1])} ", 1)
    if found := re.search(r" ([2-9]|1[0-2]) (?=[a-z])", sentence):
        return sentence.replace(found[0], f" {_TENS[int(found[1])]} ", 1)
    return ""


def _date(sentence: str, _: random.Random) -> str:
    months = "|".join(_MONTHS)
    if found := re.search(rf"\b(\d{{1,2}}) ({months}) (\d{{4}})", sentence):
        return sentence.replace(found[0], f"{found[2]} {found[1]}, {found[3]}", 1)
    if found := re.search(rf"\b({months}) (\d{{1,2}}), (\d{{4}})", sentence):
        return sentence.replace(found[0], f"{found[2]} {found[1]} {found[3]}", 1)
    if found := re.search(r"\bfrom (\d{4}) to (\d\d)(\d\d)\b", sentence):
        return sentence.replace(
            found[0], f"{found[1]}–{found[3]}" if found[1][:2] == found[2] else f"{found[1]}–{found[2]}{found[3]}", 1
        )
    if found := re.search(r"\bbetween (\d{4}) and (\d{4})\b", sentence):
        return sentence.replace(found[0], f"from {found[1]} to {found[2]}", 1)
    return ""


def _bare(sentence: str, _: random.Random) -> str:
    plain = re.sub(r" ?\([^)]*\)", "", sentence)
    return plain if plain != sentence else ""


def _copied(sentence: str, _: random.Random) -> str:
    return re.sub(r"^(However|Therefore|Moreover|Furthermore|Thus), (\w)", lambda found: found[2].upper(), sentence)


_WRONG: dict[str, Callable[[str, random.Random], str]] = {
    "negation": _negated,
    "opposite": _opposite,
    "unit": _unit,
    "figure": _figure,
    "year": _year,
    "bound": _swapped(_BOUNDS),
    "amount": _swapped(_AMOUNTS),
    "roles": _roles,
    "name": _other_name,
    "exchanged years": lambda text, _: _two(text, r"\b(?:1[5-9]|20)\d\d\b"),
    "exchanged figures": lambda text, _: _two(text, r"(?<![\d.,])\d{1,3}(?:\.\d+)?(?![\d,.]*\d)", "[a-z]"),
}
_RIGHT: dict[str, Callable[[str, random.Random], str]] = {
    "copy": _copied,
    "shortened": _short,
    "moved": _moved,
    "number form": _number,
    "date form": _date,
    "no brackets": _bare,
}
KINDS = {name: (False, make) for name, make in _WRONG.items()} | {name: (True, make) for name, make in _RIGHT.items()}


def sentences(data: Path) -> Iterator[tuple[str, str]]:
    """Yield sentences with their source, in a fixed random order."""
    found = []
    for name in ("squad2_cs224n_dev", "hotpotqa_dev100"):
        for line in (data / "retrieval" / name / "corpus.jsonl").read_text(encoding="utf-8").splitlines():
            document = json.loads(line)
            found += [(f"{name} {document['_id']}", each.strip()) for each in _SENTENCE.split(document["text"])]
    found += list(_reports(data / "sec-10-q" / "docs"))
    random.Random(7).shuffle(found)
    for source, sentence in found:
        if len(sentence.split()) in _WORDS and sentence.endswith(".") and sentence[0].isupper() and '"' not in sentence:
            yield source, sentence


def _reports(folder: Path) -> Iterator[tuple[str, str]]:
    import pypdfium2

    for path in sorted(folder.glob("*.pdf"))[:4]:
        with pypdfium2.PdfDocument(path) as pdf:
            text = " ".join(
                " ".join(pdf[at].get_textpage().get_text_bounded().split()) for at in range(min(30, len(pdf)))
            )
        yield from ((f"sec-10-q {path.name}", each) for each in _SENTENCE.split(text))


def main() -> None:
    """Write the pairs."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--each", type=int, default=14, help="pairs of a wrong kind; right kinds get as many in all")
    given = options.parse_args()
    most = {kind: given.each if not right else round(given.each * 11 / 6) for kind, (right, _) in KINDS.items()}
    made: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for source, quote in sentences(given.data):
        open_kinds = [kind for kind in KINDS if len(made[kind]) < most[kind]]
        chance = random.Random(hashlib.sha256(quote.encode()).hexdigest())
        for kind in sorted(open_kinds, key=lambda each: len(made[each])):
            claim = KINDS[kind][1](quote, chance)
            if claim and (claim != quote or kind == "copy"):
                pair = {"kind": kind, "right": KINDS[kind][0], "claim": claim, "quote": quote, "source": source}
                made[kind].append(json.dumps(pair, ensure_ascii=False))
                break
    PAIRS.write_text("\n".join(line for lines in made.values() for line in lines) + "\n", encoding="utf-8")
    print({kind: len(lines) for kind, lines in made.items()})


if __name__ == "__main__":
    main()
