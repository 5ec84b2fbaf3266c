"""Reasons of harm as data, the same form for all; `compare.explaining.harm` says them in words."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from compare.documents.comparison import ReasonRecord
from protocols.engine.nodes import Time

MOST_REASONS = 2
"""Reasons that are told of one harm: those that explain most of it."""

LEAST_SHARE = 0.1
"""A reason that explains less of a harm than this part is left out."""


class Reason(NamedTuple):
    """Fields as in `compare.documents.comparison.ReasonRecord`; times in milliseconds. ``alike``: reasons with an equal
    kind and an equal value of this are one."""

    kind: str
    weight: float
    event: str | None = None
    text: str | None = None
    members: tuple[str, ...] = ()
    lasted: Time | None = None
    records: int | None = None
    times: int = 1
    alike: object = None

    def document(self) -> ReasonRecord:
        """As in the document, in seconds."""
        return {
            "kind": self.kind,
            "weight": self.weight,
            "event": self.event,
            "text": self.text,
            "members": list(self.members),
            "lasted_s": None if self.lasted is None else self.lasted / 1000,
            "records": self.records,
            "times": self.times,
        }


def most_important(found: Iterable[Reason]) -> list[Reason]:
    """Reasons that are alike become one, told as the one of the greatest weight, with weights, records and times added
    up; the greatest first, at most `MOST_REASONS`."""
    groups: dict[object, list[Reason]] = {}
    for each in found:
        groups.setdefault((each.kind, each.alike), []).append(each)
    merged = [_merged(each) for each in groups.values()]
    total = sum(each.weight for each in merged)
    ordered = sorted(merged, key=lambda each: -each.weight)
    return [each for each in ordered if each.weight >= total * LEAST_SHARE][:MOST_REASONS]


def _merged(alike: Sequence[Reason]) -> Reason:
    heaviest = max(reversed(alike), key=lambda each: each.weight)
    members = dict.fromkeys(member for each in alike for member in each.members)
    records = [each.records for each in alike if each.records is not None]
    return heaviest._replace(
        weight=sum(each.weight for each in alike),
        members=tuple(sorted(members)),
        records=sum(records) if records else None,
        times=sum(each.times for each in alike),
    )


def in_common(since: Time, until: Time, start: Time, end: Time) -> Time:
    """Milliseconds that two spans have in common."""
    return max(0.0, min(until, end) - max(since, start))
