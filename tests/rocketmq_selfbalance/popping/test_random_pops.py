"""Whatever happens to clients and brokers: nothing is skipped, a client's own acknowledgement is final, and once all is
quiet every record has ended."""

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from protocols.offsets import OffsetSet
from rocketmq_selfbalance.popping.settings import CLASSIC, CLIENTS
from tests.rocketmq_selfbalance.popping import runs

KINDS = ("crash", "leave", "restart", "hang", "slow", "kill", "freeze", "poison", "join")
GAPS_S = st.sampled_from([0.05, 2.0, 13.0, 47.0])
HAPPENINGS = st.lists(st.tuples(st.sampled_from(KINDS), GAPS_S), min_size=1, max_size=4)
MEMBERS = ("c1", "c2", "c3", "c4")
LASTS_S, RECORDS = 40, 12
QUIET_S = 520
"""After the last event: a client that hung is dropped after 130 s, and what it had comes again, at most three times."""


def events_of(happenings: list[tuple[str, float]]) -> Iterator[dict[str, Any]]:
    """Each befalls a member of its own, so that one always stays, or the broker, one outage after the other."""
    at, up = 5.0, 0.0
    for member, (kind, gap) in zip(MEMBERS, happenings, strict=False):
        at = max(at + gap, up if kind in ("kill", "freeze") else 0.0)
        time, lasts = f"{at:.3f}s", f"{LASTS_S}s"
        yield {"at": time, "produce": {"orders-b1-0": RECORDS, "orders-b1-1": RECORDS}}
        if kind in ("crash", "leave", "restart"):
            yield {"at": time, kind: member}
        elif kind == "hang":
            yield {"at": time, "hang": member, "for": f"{4 * LASTS_S}s"}
        elif kind == "slow":
            yield {"at": time, "slow": {member: "25s"}, "for": lasts}
        elif kind == "poison":
            yield {"at": time, "poison": "orders-0", "attempts": 2}
        elif kind == "join":
            yield {"at": time, "join": f"{member}.2", "subscribe": ["orders"], "handle": "20ms"}
        else:
            yield {"at": time, "broker": "b1", "does": kind, "for": lasts}
            up = at + LASTS_S + 5


@given(st.sampled_from(CLIENTS), st.booleans(), HAPPENINGS)
def test_every_record_ends_whatever_happens(client: str, in_order: bool, happenings: list[tuple[str, float]]) -> None:
    settings: dict[str, object] = {"client": client}
    if in_order and client != CLASSIC:
        settings["consumeMessageOrderly"] = True
    members = {name: {"subscribe": ["orders"], "handle": "20ms"} for name in (*MEMBERS, "stays")}
    events = list(events_of(happenings))
    lasts = f"{5 + 4 * (47 + LASTS_S + 5) + QUIET_S}s"
    result = runs.run({"g": members}, events, settings, queues={"b1": 2}, brokers=("b1",), produce="0/s", lasts=lasts)
    known: dict[object, OffsetSet] = {}
    own: dict[tuple[str, object, int], float] = {}
    for each in result.timeline.given:
        known.setdefault(each.queue, OffsetSet()).add(each.first, each.end)
        assert each.until is not None, "a record is hidden for ever"
        if each.fate == "acknowledged":
            own.update({(each.member, each.queue, offset): each.until for offset in range(each.first, each.end)})
    for offsets in known.values():
        assert list(offsets.ranges()) == [(0, offsets.end)]
    ended = {(queue, offset) for _, queue, offset in own}
    assert len(ended) == sum(len(offsets) for offsets in known.values())
    if not in_order:  # else the rest of a batch comes again with what failed, acknowledged or not
        for delivery in result.timeline.deliveries:
            until = own.get((delivery.member, delivery.queue, delivery.first), delivery.since)
            assert delivery.since <= until
