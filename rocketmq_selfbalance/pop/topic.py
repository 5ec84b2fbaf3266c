"""POP of one topic for one group at one broker: ``PopMessageProcessor``, ``AckMessageProcessor``,
``ChangeInvisibleTimeProcessor`` and ``PopReviveService``.

A record that was given out is invisible for its invisible time. One that nobody has acked then is copied, a little
later, to the group's retry topic and given out from there, to whoever asks first. The committed offset of a queue runs
ahead of the acks: it says what was given out.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from protocols.engine.nodes import Time
from rocketmq_selfbalance.pop.records import CheckPoint, Handle, PopRecord

RETRY_FIRST_BELOW: Final = 20
"""``popFromRetryProbability``: of 100 pops so many look into the retry topic first."""
REVIVE_EARLIEST_MS: Final = 2_100.0
"""So long after the invisible time nothing has come back yet."""
REVIVE_PERIOD_MS: Final = 1_000.0
"""``reviveInterval``: how often what is over is looked for."""


class PopTopic:
    """The records of one topic that were given out to one group, and those that have come back."""

    def __init__(self) -> None:
        self.committed: dict[int, int] = {}
        """Queue number to the offset of the next record that is given out; queues never asked for are left out."""
        self.retried: list[PopRecord] = []
        """The retry topic ``%RETRY%group_topic``: every record that ever came back, in order."""
        self.retry_offset = 0
        """The position in ``retried`` that is given out next."""
        self.check_points: list[CheckPoint] = []
        """Those whose records may come back, in the order of their pops."""

    def pop(
        self, now: Time, ends: Mapping[int, int], numbers: Sequence[int], most: int, invisible: Time, random: int
    ) -> list[Handle]:
        """Give out up to ``most`` records of these queues and of the retry topic.

        ``ends``: queue number to the offset of the next record that will be written; ``random``, from 0 to 99, says
        where to begin: below 20 in the retry topic, and with which queue.
        """
        found: list[Handle] = []
        retry_first = random < RETRY_FIRST_BELOW
        if retry_first:
            found += self._from_retry_topic(now, most, invisible)
        start = random % len(numbers)
        for number in (*numbers[start:], *numbers[:start]):
            found += self._from_queue(now, number, ends[number], most - len(found), invisible)
        if not retry_first:
            found += self._from_retry_topic(now, most - len(found), invisible)
        return found

    def _from_queue(self, now: Time, number: int, end: int, most: int, invisible: Time) -> list[Handle]:
        first = self.committed.setdefault(number, 0)
        last = min(end, first + max(0, most))
        if last <= first:
            return []
        self.committed[number] = last
        records = tuple(PopRecord(number, offset) for offset in range(first, last))
        return self._given(CheckPoint(now, invisible, False, number, records))

    def _from_retry_topic(self, now: Time, most: int, invisible: Time) -> list[Handle]:
        records = tuple(self.retried[self.retry_offset : self.retry_offset + max(0, most)])
        if not records:
            return []
        self.retry_offset += len(records)
        return self._given(CheckPoint(now, invisible, True, 0, records))

    def _given(self, check_point: CheckPoint) -> list[Handle]:
        self.check_points.append(check_point)
        return [Handle(check_point, position) for position in range(len(check_point.records))]

    def ack(self, handle: Handle) -> None:
        """The record does not come back, unless it has already: nobody checks who acks, or when."""
        handle.check_point.acked.add(handle.position)

    def change(self, now: Time, handle: Handle, invisible: Time) -> Handle:
        """The record is invisible from now on for so long. The old handle is of no use any more."""
        changed = CheckPoint(
            now, invisible, handle.check_point.of_retry_topic, handle.check_point.number, (handle.record,)
        )
        self.check_points.append(changed)
        self.ack(handle)
        return Handle(changed, 0)

    # Coming back.

    def revive(self, now: Time) -> None:
        """Copy to the retry topic what is due until now. Called at least once before anything is given out."""
        due = [each for each in self.check_points if revive_time(each.visible_at) <= now]
        for each in sorted(due, key=lambda each: revive_time(each.visible_at)):
            self.copy(each)

    def copy(self, check_point: CheckPoint) -> None:
        """What nobody has acked comes back once more often than before."""
        check_point.over = True
        self.check_points.remove(check_point)
        self.retried += [each._replace(times=each.times + 1) for each in check_point.left]


def revive_time(visible_at: Time) -> Time:
    """When a check point is handled that is due then: at the next look of the revive service that is more than 2 s
    later. Real brokers take from 2.1 to 5.1 s."""
    return (visible_at + REVIVE_EARLIEST_MS) // -REVIVE_PERIOD_MS * -REVIVE_PERIOD_MS
