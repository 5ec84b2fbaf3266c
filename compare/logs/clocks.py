"""Times of all files brought together: what each file's clock shows against UTC.

In this order: what `--zone` says; times that state their zone; moments since 1970 in the text itself or in the wrapper
of a container; the zone that RocketMQ 5 always logs in; events that a file shares with one that is known already; else
the times are taken as UTC, for the larger part of the files that belong together.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from statistics import median

from compare.logs.facts import Fact, Stream, client_of
from compare.logs.rocketmq_lines import EAST_8

QUARTER = 900
"""Zones differ from UTC by whole quarters of an hour."""

DAY = 86_400
_AFTER_START_S = 300.0
_MOST_STREAMS = 100
_NEAR_S = 20
"""Two sides log a shared event within so many seconds."""

_OLDER = frozenset({"r_closed", "r_unregistered"})
"""Their moments since 1970 are those of an earlier heartbeat."""

_BEFORE_JOIN = frozenset({"asked", "given_id", "grown", "joining", "resubscribed", "revoked", "second_round"})
_BEFORE_JOIN |= {"subscribed", "told"}
"""Lines that belong to the join that comes next."""

_MOST_HINTS = 200


def bring_together(streams: Sequence[Stream]) -> None:
    """Set every stream's offset and every fact's time in UTC."""
    for stream in streams:
        _unroll(stream)
        _from_itself(stream)
    _from_shared(streams)
    for stream in streams:
        _set_times(stream)
    for stream in streams:
        if any(fact.at is None and fact.kind != "setting" for fact in stream.facts):
            _from_order(stream, streams)


def _unroll(stream: Stream) -> None:
    """Times of day that went back by half a day or more belong to the next day."""
    days, last = 0.0, None
    for fact in stream.facts:
        if fact.clock == "day" and fact.stamp is not None:
            if last is not None and fact.stamp < last - DAY / 2:
                days += DAY
            last = fact.stamp
            fact.stamp += days


def _from_itself(stream: Stream) -> None:
    clocks = {fact.clock for fact in stream.facts}
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
        fact.stamp - fact.hint
        for fact in stream.facts
        if fact.clock == own and fact.stamp is not None and fact.hint is not None and fact.kind not in _OLDER
    ][:_MOST_HINTS]
    if ahead:
        stream.offset, stream.how = _rounded(median(ahead)), "moments since 1970 in the file"
        if stream.zone is not None:
            days = round((stream.offset - _east(stream)) / DAY) * DAY
            stream.offset, stream.how = _east(stream) + days, "as --zone says"
    elif any("GMT+8" in fact.names for fact in stream.facts):
        stream.offset, stream.how = float(EAST_8), "RocketMQ 5 logs in GMT+8"


def _east(stream: Stream) -> float:
    """Seconds that the zone of `--zone` is east of UTC at the time of the stream's first line."""
    if stream.zone is None:
        return 0.0
    stamp = next((fact.stamp for fact in stream.facts if fact.clock == "local" and fact.stamp is not None), 0.0)
    offset = stream.zone.utcoffset(datetime.fromtimestamp(stamp, UTC).replace(tzinfo=None))
    return offset.total_seconds() if offset is not None else 0.0


def _rounded(seconds: float) -> float:
    return float(round(seconds / QUARTER) * QUARTER)


_Mark = tuple[str, ...]
_Marks = dict[_Mark, tuple[float, bool, float]]
"""Of each event its time as printed, whether that is UTC, and how much too early it may be."""


def _marks(stream: Stream) -> _Marks:
    """Events that brokers and clients both log, with the time of their first line here."""
    marks: _Marks = {}
    started: float | None = None
    for fact in stream.facts:
        if fact.kind == "start_time":
            started = fact.hint
        names = _marks_of(fact)
        if fact.stamp is not None:
            for name in names:
                marks.setdefault(name, (fact.stamp, fact.clock == "utc", 0.0))
        elif started is not None and names:
            for name in names:  # a client joins some seconds after its start
                marks.setdefault(name, (started, True, _AFTER_START_S))
            started = started if fact.kind == "given_id" else None
    return marks


def _marks_of(fact: Fact) -> list[_Mark]:
    marks: list[_Mark] = []
    kind, member = fact.kind, fact.member
    if fact.group and fact.generation is not None and kind in {"stabilized", "joined", "shared_out"}:
        marks.append(("generation", fact.group, str(fact.generation)))
    if member and kind in {"announced", "given_id", "added"}:
        marks.append(("new", member))
    if member and (kind in {"left", "leaves", "k_left"} or (kind == "k_moved" and "LEAVING" in fact.text)):
        marks.append(("left", member))
    if member and (kind == "k_joined" or (kind == "k_moved" and fact.text.endswith("to JOINING"))):
        marks.append(("joins", member))
    if member and kind in {"joined", "assigned", "k_epoch", "k_joined", "started", "k_moved"}:
        marks.append(("member", member))
    if kind in {"r_result", "r_connected"} and fact.client:
        marks.append(("client", fact.client))
    if kind in {"left", "too_slow"} and (name := fact.client or client_of(member or "")):
        marks.append(("slow", name))
    if kind in {"prepare", "announced", "added"} and (named := member or _named(fact.text)):
        marks.append(("member", named))
    return marks


def _named(reason: str) -> str | None:
    words = reason.split()
    return words[words.index("member") + 1] if "member" in words[:-1] else None


def _from_shared(streams: Sequence[Stream]) -> None:
    marks = {id(stream): _marks(stream) for stream in streams}
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
            first.offset, first.how = offset, "taken as UTC: nothing in the logs tells the zone"
            open_ones.remove(first)
        else:
            best[2].offset, best[2].how = best[3], "events shared with other files"
            open_ones.remove(best[2])


def _needs(stream: Stream) -> bool:
    return stream.offset is None and any(fact.clock in {"local", "day"} for fact in stream.facts)


def _known(streams: Sequence[Stream], marks: dict[int, _Marks]) -> dict[_Mark, list[tuple[float, float]]]:
    """Moments in UTC of the events that are dated already, with how much too early each may be."""
    found: dict[_Mark, list[tuple[float, float]]] = defaultdict(list)
    for stream in streams:
        for mark, (stamp, exact, early) in marks[id(stream)].items():
            if exact:
                found[mark].append((stamp, early))
            elif stream.offset is not None:
                found[mark].append((stamp - stream.offset, early))
    return found


def _votes(own: _Marks, known: dict[_Mark, list[tuple[float, float]]]) -> dict[float, int]:
    votes: Counter[float] = Counter()
    for mark, (stamp, exact, _) in own.items():
        for moment, early in () if exact else known.get(mark, ()):
            offset = _rounded(stamp - moment)
            if -_NEAR_S <= stamp - moment - offset <= max(early, _NEAR_S):
                votes[offset] += 1
    return votes


def _reference(streams: Sequence[Stream], marks: dict[int, _Marks]) -> tuple[Stream, float]:
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


def _agree(own: _Marks, theirs: _Marks) -> bool:
    """Whether two clocks show the same time of day at an event that both log."""
    shared = next((mark for mark in own if mark in theirs), None)
    if shared is None:
        return False
    apart = (own[shared][0] - theirs[shared][0] + DAY / 2) % DAY - DAY / 2
    return abs(apart) <= _NEAR_S


def _has_dates(stream: Stream) -> bool:
    return any(fact.clock == "local" for fact in stream.facts)


def _set_times(stream: Stream) -> None:
    for fact in stream.facts:
        fact.at = _time(fact, stream.offset)


def _time(fact: Fact, offset: float | None) -> float | None:
    if fact.stamp is not None and fact.clock == "utc":
        return fact.stamp
    if fact.stamp is not None and offset is not None:
        return fact.stamp - offset
    return fact.hint


def _from_order(stream: Stream, streams: Sequence[Stream]) -> None:
    """Facts without a time get that of the next event in their file that another file dates, else of the last."""
    dated: dict[tuple[str, str], float] = {}
    for other in streams:
        for fact in other.facts:
            if other is not stream and fact.at is not None and fact.sure:
                for key in _shared_moments(fact):
                    dated[key] = min(fact.at, dated.get(key, fact.at))
    facts = stream.facts
    for fact in facts:
        if fact.at is None:
            fact.sure = False
            fact.at = next((dated[key] for key in _shared_moments(fact) if key in dated), None)
    following: float | None = None
    for fact in reversed(facts):
        if fact.at is None and following is not None and fact.kind in _BEFORE_JOIN:
            fact.at = following
        following = fact.at if fact.at is not None and fact.kind == "joined" else following
        if fact.kind in {"leaves", "too_slow", "started"}:
            following = None
    last: float | None = None
    for fact in facts:
        if fact.at is None:
            fact.at = last
        last = fact.at if fact.at is not None else last


def _shared_moments(fact: Fact) -> list[tuple[str, str]]:
    keys = []
    if fact.kind in {"stabilized", "joined"} and fact.group and fact.generation is not None:
        keys.append((f"generation {fact.generation}", fact.group))
    if fact.member and fact.kind in {"announced", "given_id"}:
        keys.append(("new", fact.member))
    if fact.member and fact.kind in {"left", "leaves"}:
        keys.append(("left", fact.member))
    return keys
