"""What a group costs its servers: requests and bytes at rest and in the worst second."""

from collections.abc import Mapping, Sequence

from compare.documents.comparison import After, ServerTrafficRecord, TrafficRecord
from protocols.engine.traffic import Load
from protocols.scenario.events import Event, Slow

LEAST_REST_S = 30
"""A shorter rest is none: RocketMQ's clients send heartbeats and ask for routes every 30 s."""

WHOLE_S = 60
"""A longer rest is counted over whole minutes. They have whole numbers of the intervals that both systems have by
default (3, 5, 20, 30 s), so that no interval is counted once too often."""


def traffic_of(
    by_second: Mapping[str, Sequence[Load]] | None, after: Sequence[After], events: Sequence[Event] = ()
) -> TrafficRecord | None:
    """Of all servers together and of each. ``by_second``: server to its load in every second; ``after``: what came of
    each event, which says when nothing happened; ``events``: those of the run, some of which last."""
    if by_second is None:
        return None
    rest = _rest(after, events)
    servers = {
        name: _at_rest(seconds, rest) for name, seconds in by_second.items() if any(each.bytes for each in seconds)
    }
    totals = [
        Load(sum(each.requests for each in second), sum(each.bytes for each in second))
        for second in zip(*by_second.values(), strict=True)
    ]
    worst = max(totals, key=lambda each: (each.requests, each.bytes), default=Load())
    return {
        **_at_rest(totals, rest),
        "worst_second": {"requests": round(worst.requests), "bytes": round(worst.bytes)},
        "servers": servers,
    }


def _rest(after: Sequence[After], events: Sequence[Event]) -> tuple[int, int] | None:
    """A time, in whole seconds, in which nothing happens and ownership does not change: among those with the most
    members, as a group of which some are gone asks for less, the longest one; of a minute or more of it the last whole
    minutes. None where nobody is there, or not for long enough."""
    found = []
    for each in after:
        # A slow member asks as often as others; one that stands still, or cannot be reached, does not.
        last = [event for event in events if event.at <= each["at_s"] * 1000 and not isinstance(event, Slow)]
        over = [event.at + event.lasts() for event in last]
        since = int(max([each["at_s"] + (each["settle_s"] or 0.0), *(at / 1000 for at in over)])) + 1
        lasts = int(each["until_s"]) - since
        if lasts >= LEAST_REST_S and each["fairness"]["members"]:
            found.append((each["fairness"]["members"], lasts, int(each["until_s"])))
    if not found:
        return None
    _, lasts, until = max(found)
    return until - (lasts - lasts % WHOLE_S if lasts >= WHOLE_S else lasts), until


def _at_rest(seconds: Sequence[Load], rest: tuple[int, int] | None) -> ServerTrafficRecord:
    if rest is None:
        return {"requests_per_s": None, "bytes_per_s": None}
    during = seconds[rest[0] : rest[1]]
    return {
        "requests_per_s": sum(each.requests for each in during) / len(during),
        "bytes_per_s": sum(each.bytes for each in during) / len(during),
    }
