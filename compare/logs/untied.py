"""Files whose clocks nothing ties to each other. Each is taken to show UTC, which the numbers of a group's generations
can refute: they only grow, so that clocks by which they go back are not of one zone.

How far such clocks are apart, nobody knows. What a rebalance was due to then rests on lines whose order is unknown, and
is told as a doubt.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from compare.logs.broker_events import AssignmentReceived, Emptied, EpochBumped, Stabilized, TargetComputed
from compare.logs.causes import in_doubt
from compare.logs.client_events import Epoch, Joined, SharedOut, Synced
from compare.logs.clocks import NEAR_S, Marks, knows_its_zone
from compare.logs.events import Event, Stream
from compare.logs.lines import joined
from compare.logs.model import Rebalance

_BACK_S = 60.0
"""Members of a generation tell of it so long one after another."""

Clocks = Mapping[int, int]
"""The number of its clock by the `id` of a stream."""


def tied(streams: Sequence[Stream], marks: Mapping[int, Marks]) -> Clocks:
    """Streams of one clock have the same number: those whose zone is known, and those that show a shared event at the
    same time as another one does. ``marks``: of each, as `bring_together` found them."""
    above: dict[int, int] = {id(stream): id(stream) for stream in streams}

    def top(number: int) -> int:
        while above[number] != number:
            above[number] = number = above[above[number]]
        return number

    known = [id(stream) for stream in streams if knows_its_zone(stream)]
    for number in known[1:]:
        above[top(number)] = top(known[0])
    seen: dict[tuple[str, ...], tuple[int, float]] = {}
    for stream in streams:
        for mark, (stamp, exact, early) in marks[id(stream)].items():
            at = stamp - stream.ahead - (0.0 if exact else stream.offset or 0.0)
            other, before = seen.setdefault(mark, (id(stream), at))
            if abs(at - before) <= NEAR_S + early:
                above[top(id(stream))] = top(other)
    return {number: top(number) for number in above}


def apart(events: Sequence[Event], clocks: Clocks) -> tuple[str, ...]:
    """Files of a group whose clocks are not of one zone: by them a generation was there before a lower one; ``events``:
    of the group."""
    first: dict[int, dict[int, float]] = defaultdict(dict)
    names: dict[int, dict[str, None]] = defaultdict(dict)
    for event in events:
        number = _generation(event)
        if number is not None and event.place.sure:
            clock = clocks[id(event.stream)]
            names[clock].setdefault(event.place.file)
            first[number][clock] = min(event.at, first[number].get(clock, event.at))
    if len(names) < 2:
        return ()
    latest: dict[int, float] = {}
    for _, times in sorted(first.items()):
        for clock, at in times.items():
            ahead = [other for other, time in latest.items() if other != clock and time > at + _BACK_S]
            if ahead:
                return tuple(sorted(name for one in (clock, *ahead) for name in names[one]))
        latest |= {clock: max(at, latest.get(clock, at)) for clock, at in times.items()}
    return ()


def _generation(event: Event) -> int | None:
    match event:
        case Stabilized() | Emptied() | AssignmentReceived() | Joined() | Synced() | SharedOut():
            return event.generation
        case EpochBumped() | TargetComputed() | Epoch():
            return event.epoch
        case _:
            return None


def as_doubts(rebalances: Sequence[Rebalance], files: Sequence[str]) -> list[Rebalance]:
    """The rebalances without a certain cause; ``files``: of several clocks."""
    decides = f"--zone for {joined(files)}"
    found = []
    for each in rebalances:
        doubts = [replace(in_doubt(one), would_decide=decides) for one in each.causes]
        found.append(replace(each, causes=(), doubts=(*doubts, *each.doubts)))
    return found
