"""Records that are given out one by one (share groups, POP): what became of each, and what a member owes its group.

Facts say what brokers gave out and took back (`protocols.facts`), printed lines what programs say to have handled. A
member may be slow, ask more often or be given a record twice; it must not break one of these: what it accepts it has
handled; what it has handled it acknowledges, what it rejects stays away, and what it has when it ends is given back.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from compare.judging.playing import BY_LINES, BY_REQUESTS, Outcome
from compare.judging.programs import NO_ATTEMPT, Printed
from protocols.facts import Acquired, Available, Ended

Q = TypeVar("Q")
Record: TypeAlias = tuple[Q, int]
"""Queue and offset."""


class Told(NamedTuple, Generic[Q]):
    """A fact about the records ``first`` to ``end - 1`` of a queue, and of a member (empty: none that we know)."""

    queue: Q
    first: int
    end: int
    member: str
    fact: Acquired | Available | Ended

    def records(self) -> Iterator[Record[Q]]:
        return ((self.queue, offset) for offset in range(self.first, self.end))


@dataclass(slots=True)
class GivenOut(Generic[Q]):
    """What facts say of each record."""

    attempts: dict[Record[Q], list[int]] = field(default_factory=dict)
    """All that it was given out with, in order."""
    held: dict[Record[Q], str] = field(default_factory=dict)
    """Who has it now."""
    ended: dict[Record[Q], str] = field(default_factory=dict)
    """How it ended (`protocols.facts.End`)."""

    @classmethod
    def of(cls, facts: Iterable[Told[Q]]) -> "GivenOut[Q]":
        """In the order of time."""
        made = cls()
        for told in facts:
            fact = told.fact
            for record in told.records():
                if isinstance(fact, Acquired):
                    made.attempts.setdefault(record, []).append(fact.attempt)
                    made.held[record] = told.member
                elif isinstance(fact, Available):
                    made.held.pop(record, None)
                else:
                    made.held.pop(record, None)
                    made.ended[record] = fact.how
        return made

    def outcome(self, written: Iterable[Record[Q]], lines: Iterable[Printed[Q]]) -> Outcome:
        """What became of these records. Where no program prints what it has handled, what was acknowledged counts."""
        printed = Counter((line.queue, line.offset) for line in lines)
        handled: Counter[Record[Q]] = printed or Counter(
            [record for record, how in self.ended.items() if how == "acknowledged"]
        )
        every = list(written)
        return Outcome(
            BY_LINES if printed else BY_REQUESTS,
            len(every),
            len(handled),
            sum(1 for each in every if self.ended.get(each) == "acknowledged" and each not in handled),
            sum(1 for count in handled.values() if count > 1),
            sum(1 for each in every if each not in self.ended and each not in handled),
            sum(1 for each in every if each not in self.ended and each in handled),
        )

    def came_again(self) -> int:
        """Records that were given out again, whatever became of them."""
        return sum(1 for attempts in self.attempts.values() if len(attempts) > 1)

    def miscounted(self, lines: Iterable[Printed[Q]]) -> str | None:
        """Where lines tell other attempts than those with which a record was given out, and at last acknowledged."""
        told: dict[Record[Q], list[int]] = {}
        for line in lines:
            if line.attempt != NO_ATTEMPT:
                told.setdefault((line.queue, line.offset), []).append(line.attempt)
        for record, attempts in told.items():
            given = self.attempts.get(record, [])
            wrong = [each for each in attempts if each not in given]
            if self.ended.get(record) == "acknowledged" and given[-1] not in attempts:
                wrong.append(attempts[-1])
            if wrong:
                last = f"whose attempt {given[-1]} was the last" if given else "that was never given out"
                return f"says attempt {wrong[0]} of a record {last}"
        return None

    def out_of_order(self, lines: Iterable[Printed[Q]]) -> str | None:
        """The first record that was handled before one that stands before it in its queue and was not given up."""
        reached: dict[Q, int] = {}
        for line in lines:
            expected = reached.get(line.queue, 0)
            while self.ended.get((line.queue, expected), "acknowledged") != "acknowledged":
                expected += 1
            if line.offset > expected:
                return f"handled record {line.offset} of a queue before record {expected}"
            reached[line.queue] = max(line.offset + 1, expected)
        return None
