"""Numbers evidence in reading order. The first quote that an answer cites is [1]."""

from __future__ import annotations

from collections.abc import Sequence

from multi_agent.values.context import Claim, Evidence, Place, Synthesis


class ReadingOrder:
    """Assigns the next number to each item of evidence when it is first cited."""

    def __init__(self) -> None:
        self._numbers: dict[Place, int] = {}

    def number(self, items: Sequence[Evidence]) -> tuple[Evidence, ...]:
        """Return the items with their numbers, in the order of the numbers. An item keeps its first number.

        New items are numbered in order of document and position, so that a drafted claim and the final one agree.
        """
        in_order = sorted(items, key=lambda item: (item.name, item.start, item.end))
        numbers = {item.place: self._numbers.setdefault(item.place, len(self._numbers) + 1) for item in in_order}
        unique = {item.place: item for item in items}
        numbered = (item.model_copy(update={"number": numbers[place]}) for place, item in unique.items())
        return tuple(sorted(numbered, key=lambda item: item.number))


def in_reading_order(synthesis: Synthesis) -> Synthesis:
    """Return the answer with its evidence renumbered. Computations keep their numbers.

    Quotes of supported claims come first, in the order of the claims. Then follow quotes of unsupported claims, which
    show no marks, and quotes that no claim cites.
    """
    order = ReadingOrder()
    known = {item.number: item for item in synthesis.evidence}
    for claim in sorted(synthesis.claims, key=lambda claim: not claim.stands):
        order.number([known[number] for number in claim.evidence])

    def renumbered(claim: Claim) -> Claim:
        cited = order.number([known[number] for number in claim.evidence])
        return claim.model_copy(update={"evidence": tuple(item.number for item in cited)})

    return synthesis.model_copy(
        update={
            "claims": tuple(map(renumbered, synthesis.claims)),
            "evidence": order.number(synthesis.evidence),
            "computations": tuple(
                each.model_copy(update={"evidence": order.number(each.evidence)}) for each in synthesis.computations
            ),
        }
    )
