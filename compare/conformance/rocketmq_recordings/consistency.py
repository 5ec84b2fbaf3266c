"""Whether a recording's summary says what its own events say: a figure that was changed is then told apart from one
that the model does not reach."""

from collections.abc import Iterable
from itertools import pairwise
from typing import TypeAlias

from compare.conformance.cases import Difference
from compare.conformance.rocketmq_recordings.happened import Interval, is_retry
from compare.conformance.rocketmq_recordings.reading import DoubleOwned, Recording, Unowned
from compare.conformance.rocketmq_recordings.recorded import recorded_ownership
from protocols.java import Queue

Pair: TypeAlias = tuple[str, object, object]
"""A field, what the summary says, and what the events say."""

Row: TypeAlias = list[str | float]

MOST_LISTED = 300
"""The list of records that were consumed more than once is cut here."""


def inconsistent(recording: Recording) -> list[Difference]:
    """What the summary says that the events contradict; ``got`` is what the events say."""
    told = recorded_ownership(recording, with_retry=True)
    unowned = [each for each in (*told.waiting, *told.unowned) if not is_retry(each.queue)]
    pairs: list[Pair] = [
        ("doubleOwnership", *_both(_told(recording.double_ownership), _named(told.double))),
        ("unowned", *_both(_told(recording.unowned), _named(unowned))),
        (
            "moves",
            *_both(
                [[move.t_ms, _name(move.queue), move.frm, move.to] for move in recording.moves],
                [[at, _name(queue), before, after] for at, queue, before, after in told.moves],
            ),
        ),
    ]
    for member in recording.members:
        owned = told.final.get(member.id, frozenset())
        pairs.append((f"final.{member.id}", _names(recording.final.get(member.id, ())), _names(owned)))
    pairs += _durations(recording)
    pairs += _records(recording)
    times = [at for at, *_ in recording.rpc]
    pairs.append(("rpc", "times that rise", "times that rise" if _rise(times) else "one that is earlier than the last"))
    times = [each.t_ms for each in recording.ownership]
    pairs.append(("ownership", "times that rise", "times that rise" if _rise(times) else "one that is earlier"))
    for number, (at, sender, code, _) in enumerate(recording.rpc):
        if recording.rpc_codes and str(code) not in recording.rpc_codes:
            pairs.append((f"rpc.{number}", f"one of the codes {', '.join(recording.rpc_codes)}", [at, sender, code]))
    return [Difference(recording.scenario, field, said, got) for field, said, got in pairs if said != got]


def _durations(recording: Recording) -> list[Pair]:
    named: tuple[tuple[str, tuple[Unowned, ...]], ...] = (
        ("doubleOwnership", recording.double_ownership),
        ("unowned", recording.unowned),
    )
    return [
        (f"{where}.{number}.ms", interval.ms, interval.to_ms - interval.from_ms)
        for where, intervals in named
        for number, interval in enumerate(intervals)
    ]


def _records(recording: Recording) -> list[Pair]:
    messages = recording.messages
    more = messages.deliveries - messages.distinct_consumed
    found: list[Pair] = []
    if messages.consumed_more_than_once <= MOST_LISTED:
        listed = len(messages.duplicates)
        again = sum(len(duplicate.seen) - 1 for duplicate in messages.duplicates)
        found.append(("messages.consumedMoreThanOnce", messages.consumed_more_than_once, listed))
        found.append(("messages.deliveries", messages.deliveries, messages.distinct_consumed + again))
    elif more < messages.consumed_more_than_once:
        found.append(("messages.consumedMoreThanOnce", messages.consumed_more_than_once, more))
    return found


def _both(said: list[Row], counted: list[Row]) -> tuple[list[Row], list[Row]]:
    """What is only in the one list, and what is only in the other."""
    return sorted(row for row in said if row not in counted), sorted(row for row in counted if row not in said)


def _told(intervals: Iterable[Unowned]) -> list[Row]:
    return [
        [
            _name(interval.queue),
            interval.from_ms,
            interval.to_ms,
            *(sorted(interval.owners) if isinstance(interval, DoubleOwned) else ()),
        ]
        for interval in intervals
    ]


def _named(intervals: Iterable[Interval]) -> list[Row]:
    return [[_name(queue), since, until, *owners] for queue, since, until, owners in intervals]


def _rise(times: list[float]) -> bool:
    return all(one <= other for one, other in pairwise(times))


def _name(queue: Queue) -> str:
    return "|".join(map(str, queue))


def _names(queues: Iterable[Queue]) -> list[str]:
    return [_name(queue) for queue in sorted(queues)]
