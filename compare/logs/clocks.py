"""Times of all files brought together: what each file's clock shows against UTC.

In this order: what `--zone` says; times that state their zone; moments since 1970 in the text itself or in the wrapper
of a container; the zone that RocketMQ 5 always logs in; events that a file shares with one that is known already; else
the times are taken as UTC, for the larger part of the files that belong together.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby
from statistics import median

from compare.logs.broker_events import (
    Added,
    Announced,
    AssignmentReceived,
    BrokerFenced,
    Emptied,
    EpochBumped,
    EpochJoined,
    Left,
    PartitionCreated,
    Preparing,
    Stabilized,
    TargetComputed,
)
from compare.logs.client_events import (
    ClientBooted,
    ClientStarted,
    Epoch,
    GivenId,
    Joined,
    Leaves,
    Moved,
    PollTimeout,
    Setting,
    SharedOut,
)
from compare.logs.events import Event, Place, Stream
from compare.logs.identity import client_of
from compare.logs.rocketmq_lines import EAST_8, ChannelClosed, Connected, Result, Unregistered
from compare.logs.undated import date_by_order

QUARTER = 900
"""Zones differ from UTC by whole quarters of an hour."""

DAY = 86_400
_AFTER_START_S = 300.0
_MOST_STREAMS = 100
NEAR_S = 20
"""Two sides log a shared event within so many seconds."""

_OLDER = (ChannelClosed, Unregistered)
"""Their moments since 1970 are those of an earlier heartbeat."""

_MOST_HINTS = 200
_AT_ONCE = frozenset({"generation", "joins", "left", "new"})
"""Kinds of marks that both sides log within a second."""

_REPEATED, _APART_S = frozenset({"joins", "left"}), 3.0
_NEXT_S = 1e-5
"""Between lines of one file that show the same time."""
_LEAST_SKEW_S, _AGREE_S = 1.5, 1.0


_TAKEN = "taken as UTC: nothing in the logs tells the zone"
_SHARED = "events shared with other files"


def taken_as_utc(stream: Stream) -> bool:
    """Whether nothing tells the zone of the stream's times."""
    return stream.how == _TAKEN


def knows_its_zone(stream: Stream) -> bool:
    """Whether the stream's own lines, or the user, tell the zone of its times."""
    return stream.offset is not None and stream.how not in {_TAKEN, _SHARED}


def bring_together(streams: Sequence[Stream]) -> "dict[int, Marks]":
    """Set every stream's offset and every line's time in UTC. Returns, by the `id` of each stream, what others may log,
    too."""
    for stream in streams:
        _unroll(stream)
        _from_itself(stream)
    marks = {id(stream): _marks_in(stream) for stream in streams}
    _from_shared(streams, marks)
    _compare_clocks(streams, marks)
    for stream in streams:
        for event in stream.events:
            time = _time(event, stream.offset)
            event.place.at = None if time is None else time - stream.ahead
        _apart(stream)
    for stream in streams:
        if any(event.place.at is None and not isinstance(event, Setting) for event in stream.events):
            date_by_order(stream, streams)
    return marks


def _apart(stream: Stream) -> None:
    """Lines of one file with the same time follow each other as they stand there, but what comes of others last, where
    a collector of logs has mixed them; one that shows an earlier time than the line above it is earlier."""
    last: Place | None = None
    runs = (list(run) for _, run in groupby(stream.events, lambda event: (event.place.file, event.place.stamp)))
    for place in (event.place for run in runs for event in sorted(run, key=_results_last)):
        if place.at is None or place.stamp is None:
            continue
        if last is not None and last.file == place.file and (last.stamp or 0.0) <= place.stamp:
            place.at = max(place.at, (last.at or 0.0) + _NEXT_S)
        last = place


def _results_last(event: Event) -> int:
    """An epoch follows what raised it, its target the epoch, and the end of a group's last generation the leave."""
    return isinstance(event, EpochBumped | Emptied) + 2 * isinstance(event, TargetComputed)


def _unroll(stream: Stream) -> None:
    """Times of day that went back by half a day or more belong to the next day."""
    days, last = 0.0, None
    for event in stream.events:
        place = event.place
        if place.clock == "day" and place.stamp is not None:
            if last is not None and place.stamp < last - DAY / 2:
                days += DAY
            last = place.stamp
            place.stamp += days


def _from_itself(stream: Stream) -> None:
    clocks = {event.place.clock for event in stream.events}
    if stream.zone is not None and "day" not in clocks:
        stream.offset, stream.how = _east(stream), "as --zone says"
        return
    if not clocks & {"local", "day"}:
        stream.offset, stream.how = (
            (stream.stated or 0.0, "states its zone") if "utc" in clocks else (None, "prints no times")
        )
        return
    own = "local" if "local" in clocks else "day"
    ahead = [
        event.place.stamp - event.place.hint
        for event in stream.events
        if event.place.clock == own
        and event.place.stamp is not None
        and event.place.hint is not None
        and not isinstance(event, _OLDER)
    ][:_MOST_HINTS]
    if ahead:
        stream.offset, stream.how = _rounded(median(ahead)), "moments since 1970 in the file"
        if stream.zone is not None:
            days = round((stream.offset - _east(stream)) / DAY) * DAY
            stream.offset, stream.how = _east(stream) + days, "as --zone says"
    elif any(event.place.in_east_8 for event in stream.events):
        stream.offset, stream.how = float(EAST_8), "RocketMQ 5 logs in GMT+8"


def _east(stream: Stream) -> float:
    """Seconds that the zone of `--zone` is east of UTC at the time of the stream's first line."""
    if stream.zone is None:
        return 0.0
    local = (event.place.stamp for event in stream.events if event.place.clock == "local")
    stamp = next((each for each in local if each is not None), 0.0)
    offset = stream.zone.utcoffset(datetime.fromtimestamp(stamp, UTC).replace(tzinfo=None))
    return offset.total_seconds() if offset is not None else 0.0


def _rounded(seconds: float) -> float:
    return float(round(seconds / QUARTER) * QUARTER)


_Mark = tuple[str, ...]
Marks = dict[_Mark, tuple[float, bool, float]]
"""Of each event its time as printed, whether that is UTC, and how much too early it may be."""


def _marks_in(stream: Stream) -> Marks:
    """Events that brokers and clients both log, with the time of their first line here; of a member that joins or
    leaves several times under one id with how often, since another file may lack the first."""
    marks: Marks = {}
    last: dict[_Mark, float] = {}
    times: Counter[_Mark] = Counter()
    started: float | None = None
    for event in stream.events:
        place = event.place
        if isinstance(event, ClientBooted):
            started = place.hint
        names = _marks_of(event)
        if place.stamp is not None:
            for name in names:
                marks.setdefault(name, (place.stamp, place.clock == "utc", 0.0))
                times[name] += name[0] in _REPEATED and place.stamp - last.get(name, 0.0) > _APART_S
                last[name] = place.stamp
        elif started is not None and names:
            for name in names:  # a client joins some seconds after its start
                marks.setdefault(name, (started, True, _AFTER_START_S))
            started = started if isinstance(event, GivenId) else None
    return {(*name, str(times[name])): mark for name, mark in marks.items()}


def _marks_of(event: Event) -> list[_Mark]:
    match event:
        case Stabilized(group=group, generation=generation) | SharedOut(group=group, generation=generation):
            return [("generation", group, str(generation))]
        case Joined(group=group, generation=generation, member=member):
            marks: list[_Mark] = [("generation", group, str(generation))] if group and generation is not None else []
            return marks + ([("member", member)] if member else [])
        case GivenId(member=member):
            return [("new", member)]
        case Announced(member=member) | Added(member=member):
            return [("new", member), ("member", member)]
        case Left(member=member):
            return [("left", member), ("slow", client_of(member))]
        case Leaves(member=member) if member:
            return [("left", member)]
        case PollTimeout(client=client) if client and not event.place.late:
            return [("slow", client)]
        case EpochJoined(member=member):
            return [("joins", member), ("member", member)]
        case Moved(member=member, before=before, after=after):
            name = "joins" if before == "JOINING" else "left" if after.endswith("LEAVING") else ""
            return [("member", member), *([(name, member)] if name else [])]
        case AssignmentReceived(leader=member) | Epoch(member=member) | ClientStarted(member=member) if member:
            return [("member", member)]
        case Preparing(reason=reason):
            named = _named(reason)
            return [("member", named)] if named else []
        case Connected(client=client) | Result(client=client):
            return [("client", client)]
        case PartitionCreated(name=name):
            return [("created", name)]
        case BrokerFenced(broker=broker, epoch=epoch, fenced=fenced, shutting=shutting):
            return [("fenced", *map(str, (broker, epoch, fenced, shutting)))]
        case _:
            return []


def _named(reason: str) -> str | None:
    words = reason.split()
    return words[words.index("member") + 1] if "member" in words[:-1] else None


def _from_shared(streams: Sequence[Stream], marks: dict[int, Marks]) -> None:
    open_ones = [stream for stream in streams if _needs(stream)]
    while open_ones:
        known = _known(streams, marks)
        best: tuple[int, int, Stream, float] | None = None
        for place, stream in enumerate(open_ones):
            votes = _votes(marks[id(stream)], known)
            if votes:
                offset, number = max(votes.items(), key=lambda item: (item[1], -abs(item[0])))
                if best is None or (number, -place) > best[:2]:
                    best = (number, -place, stream, offset)
        if best is None:
            first, offset = _reference(open_ones, marks)
            if not _has_dates(first) and abs(offset) < DAY:
                offset -= _nearest_day(first, streams)
            first.offset, first.how = offset, _TAKEN
            open_ones.remove(first)
        else:
            best[2].offset, best[2].how = best[3], _SHARED
            open_ones.remove(best[2])


def _compare_clocks(streams: Sequence[Stream], marks: dict[int, Marks]) -> None:
    """How far each clock is ahead of the brokers', by what both sides log at once; without brokers, of that client's
    which shares most with the others."""
    told: dict[int, dict[_Mark, float]] = {}
    for stream in streams:
        zone = stream.offset or 0.0
        told[id(stream)] = {
            mark: stamp if exact else stamp - zone
            for mark, (stamp, exact, early) in marks[id(stream)].items()
            if mark[0] in _AT_ONCE and not early
        }
    known: dict[_Mark, float] = {}
    open_ = [stream for stream in streams if told[id(stream)]]
    for stream in [each for each in open_ if each.role == "broker"]:
        known = {**told[id(stream)], **known}
    waiting = [each for each in open_ if each.role != "broker"]
    while waiting:
        first = max(waiting, key=lambda each: len(told[id(each)].keys() & (known or _all_but(each, waiting, told))))
        waiting.remove(first)
        own = told[id(first)]
        apart = sorted(own[mark] - known[mark] for mark in own.keys() & known.keys())
        off = median(apart) if len(apart) > 1 else 0.0
        if abs(off) > _LEAST_SKEW_S and sum(abs(each - off) <= _AGREE_S for each in apart) > len(apart) / 2:
            first.ahead = round(off, 3)
        known = {**{mark: time - first.ahead for mark, time in own.items()}, **known}


def _all_but(stream: Stream, others: Sequence[Stream], told: dict[int, dict[_Mark, float]]) -> set[_Mark]:
    return {mark for other in others if other is not stream for mark in told[id(other)]}


def _nearest_day(stream: Stream, streams: Sequence[Stream]) -> float:
    """Seconds to add to times of day, for the day on which they are nearest to another file's first time; 0 where no
    file shows a date."""
    own = next((event.place.stamp for event in stream.events if event.place.stamp is not None), 0.0)
    dated = (
        event.place.stamp - (other.offset or 0.0 if event.place.clock == "day" else 0.0)
        for other in streams
        for event in other.events
        if event.place.stamp is not None and (event.place.clock != "day" or other.offset is not None)
    )
    first = next(dated, own)
    return float(round((first - own) / DAY) * DAY)


def _needs(stream: Stream) -> bool:
    return stream.offset is None and any(event.place.clock in {"local", "day"} for event in stream.events)


def _known(streams: Sequence[Stream], marks: dict[int, Marks]) -> dict[_Mark, list[tuple[float, float]]]:
    """Moments in UTC of the events that are dated already, with how much too early each may be."""
    found: dict[_Mark, list[tuple[float, float]]] = defaultdict(list)
    for stream in streams:
        for mark, (stamp, exact, early) in marks[id(stream)].items():
            if exact:
                found[mark].append((stamp, early))
            elif stream.offset is not None:
                found[mark].append((stamp - stream.offset, early))
    return found


def _votes(own: Marks, known: dict[_Mark, list[tuple[float, float]]]) -> dict[float, int]:
    votes: Counter[float] = Counter()
    for mark, (stamp, exact, _) in own.items():
        for moment, early in () if exact else known.get(mark, ()):
            offset = _rounded(stamp - moment)
            if -NEAR_S <= stamp - moment - offset <= max(early, NEAR_S):
                votes[offset] += 1
    return votes


def _reference(streams: Sequence[Stream], marks: dict[int, Marks]) -> tuple[Stream, float]:
    """The stream whose clock most of the others agree with, and its offset if that clock shows UTC.

    Where the clock shows the time of day only, it is a stream with dates that shares an event with it.
    """
    some = streams[:_MOST_STREAMS]
    agreeing = {id(stream): sum(_agree(marks[id(stream)], marks[id(other)]) for other in some) for stream in some}
    most = max(some, key=lambda each: (agreeing[id(each)], _has_dates(each), each.role != "broker"))
    own = marks[id(most)]
    for other in () if _has_dates(most) else filter(_has_dates, streams):
        theirs = marks[id(other)]
        for mark in own:
            if mark in theirs:
                ahead = _rounded(theirs[mark][0] - own[mark][0])
                return other, (ahead + DAY / 2) % DAY - DAY / 2
    return most, _east(most)


def _agree(own: Marks, theirs: Marks) -> bool:
    """Whether two clocks show the same time of day at an event that both log."""
    shared = next((mark for mark in own if mark in theirs), None)
    if shared is None:
        return False
    apart = (own[shared][0] - theirs[shared][0] + DAY / 2) % DAY - DAY / 2
    return abs(apart) <= NEAR_S


def _has_dates(stream: Stream) -> bool:
    return any(event.place.clock == "local" for event in stream.events)


def _time(event: Event, offset: float | None) -> float | None:
    place = event.place
    if place.stamp is not None and place.clock == "utc":
        return place.stamp
    if place.stamp is not None and offset is not None:
        return place.stamp - offset
    return place.hint
