"""What a group costs its servers: requests and bytes at rest and in the worst second."""

from collections.abc import Mapping, Sequence

from compare.documents.comparison import After, ServerTrafficRecord, TrafficRecord
from protocols.engine.traffic import Load

LEAST_REST_S = 30
"""A shorter rest is none: RocketMQ's clients send heartbeats and ask for routes every 30 s."""


def traffic_of(by_second: Mapping[str, Sequence[Load]] | None, after: Sequence[After]) -> TrafficRecord | None:
    """Of all servers together and of each. ``by_second``: server to its load in every second; ``after``: what came of
    each event, which says when nothing happened."""
    if by_second is None:
        return None
    rest = _rest(after)
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


def _rest(after: Sequence[After]) -> tuple[int, int] | None:
    """The longest time, in whole seconds, in which nothing happens and ownership does not change."""
    quiet = [(int(each["at_s"] + (each["settle_s"] or 0.0)) + 1, int(each["until_s"])) for each in after]
    since, until = max(quiet, key=lambda each: each[1] - each[0])
    return (since, until) if until - since >= LEAST_REST_S else None


def _at_rest(seconds: Sequence[Load], rest: tuple[int, int] | None) -> ServerTrafficRecord:
    if rest is None:
        return {"requests_per_s": None, "bytes_per_s": None}
    during = seconds[rest[0] : rest[1]]
    return {
        "requests_per_s": sum(each.requests for each in during) / len(during),
        "bytes_per_s": sum(each.bytes for each in during) / len(during),
    }
