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
_NEAR_S = 20
"""Two sides log a shared event within so many seconds."""

_OLDER = frozenset({"r_closed", "r_unregistered"})
"""Their moments since 1970 are those of an earlier heartbeat."""

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
        stream.offset, stream.how = (0.0, "states its zone") if "utc" in clocks else (None, "prints no times")
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


def _marks(stream: Stream) -> dict[tuple[str, ...], float]:
    """Events that brokers and clients both log, with the time of their first line here."""
    found: dict[tuple[str, ...], float] = {}
    for fact in stream.facts:
        stamp = fact.stamp
        if stamp is None:
            continue
        if fact.group and fact.generation is not None and fact.kind in {"stabilized", "joined", "shared_out"}:
            found.setdefault(("generation", fact.group, str(fact.generation)), stamp)
        if fact.member and fact.kind in {"announced", "given_id", "added"}:
            found.setdefault(("new", fact.member), stamp)
        if fact.member and (
            fact.kind in {"left", "leaves", "k_left"} or (fact.kind == "k_moved" and "LEAVING" in fact.text)
        ):
            found.setdefault(("left", fact.member), stamp)
        if fact.member and (fact.kind == "k_joined" or (fact.kind == "k_moved" and fact.text.endswith("to JOINING"))):
            found.setdefault(("joins", fact.member), stamp)
        if fact.member and fact.kind in {"joined", "assigned", "k_epoch", "k_joined", "started", "k_moved"}:
            found.setdefault(("member", fact.member), stamp)
        if fact.kind in {"r_result", "r_connected"} and fact.client:
            found.setdefault(("client", fact.client), stamp)
        if fact.kind in {"left", "too_slow"}:
            name = fact.client or client_of(fact.member or "")
            if name:
                found.setdefault(("slow", name), stamp)
        if fact.kind in {"prepare", "announced", "added"} and (member := fact.member or _named(fact.text)):
            found.setdefault(("member", member), stamp)
    return found


def _named(reason: str) -> str | None:
    words = reason.split()
    return words[words.index("member") + 1] if "member" in words[:-1] else None


def _from_shared(streams: Sequence[Stream]) -> None:
    marks = {id(stream): _marks(stream) for stream in streams}
    open_ones = [stream for stream in streams if _needs(stream)]
    while open_ones:
        best: tuple[int, int, Stream, float] | None = None
        known = [stream for stream in streams if stream.offset is not None]
        for place, stream in enumerate(open_ones):
            votes = _votes(stream, known, marks)
            if votes:
                offset, number = max(votes.items(), key=lambda each: (each[1], -abs(each[0])))
                if best is None or (number, -place) > best[:2]:
                    best = (number, -place, stream, offset)
        if best is None:
            first = _reference(open_ones, marks)
            first.offset, first.how = _east(first), "taken as UTC: nothing in the logs tells the zone"
            open_ones.remove(first)
        else:
            best[2].offset, best[2].how = best[3], "events shared with other files"
            open_ones.remove(best[2])


def _needs(stream: Stream) -> bool:
    return stream.offset is None and any(fact.clock in {"local", "day"} for fact in stream.facts)


def _votes(stream: Stream, known: Sequence[Stream], marks: dict[int, dict[tuple[str, ...], float]]) -> dict[float, int]:
    votes: Counter[float] = Counter()
    own = marks[id(stream)]
    for other in known:
        assert other.offset is not None
        for mark, stamp in marks[id(other)].items():
            if mark in own:
                ahead = own[mark] - (stamp - _subtracted(other))
                offset = _rounded(ahead)
                if abs(ahead - offset) <= _NEAR_S:
                    votes[offset] += 1
    return votes


def _subtracted(stream: Stream) -> float:
    exact = all(fact.clock in {"utc", "none"} for fact in stream.facts)
    return 0.0 if exact else stream.offset or 0.0


def _reference(streams: Sequence[Stream], marks: dict[int, dict[tuple[str, ...], float]]) -> Stream:
    """The stream whose clock most of the others agree with."""
    if len(streams) == 1:
        return streams[0]
    agreeing: dict[int, int] = defaultdict(int)
    for stream in streams[:200]:
        for other in streams[:200]:
            if other is not stream:
                shared = [mark for mark in marks[id(stream)] if mark in marks[id(other)]]
                near = sum(abs(marks[id(stream)][mark] - marks[id(other)][mark]) <= _NEAR_S for mark in shared)
                agreeing[id(stream)] += bool(near)
    return max(streams, key=lambda each: (agreeing[id(each)], each.role != "broker"))


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
        if fact.at is None and following is not None and fact.kind in {"joining", "given_id", "told", "revoked"}:
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
