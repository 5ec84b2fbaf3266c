"""What the comparison's document says of records that are given out one by one (share groups, POP)."""

from typing import TypedDict


class AttemptsRecord(TypedDict):
    """``max``: the highest number of an attempt, as the system counts; ``records``: how often to how many records were
    given so often."""

    max: int
    records: dict[str, int]


class HiddenRecord(TypedDict):
    """Records that somebody has and nobody else can be given: the most at one time, and [seconds, the most since the
    point before] over the run."""

    max: int
    over_time: list[tuple[float, int]]


class EndedRecord(TypedDict):
    """How records ended, and how many did so (`protocols.facts.End`)."""

    acknowledged: int
    archived: int
    dead_letters: int
    skipped: int


class SharedDeliveryRecord(TypedDict):
    """Of the ``groups`` whose records are given out one by one; ``why_no_owners``: why figures of ownership are null.
    ``redeliveries``: how often a record was given that had been given before."""

    groups: list[str]
    why_no_owners: str
    redeliveries: int
    attempts: AttemptsRecord
    hidden: HiddenRecord
    ended: EndedRecord
