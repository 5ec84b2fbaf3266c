"""The blocks of docs/pop.md: what becomes of records that are given out one by one, message by message and as a table
of the times for which they are hidden."""

from collections.abc import Callable, Mapping

from protocols.timeline.records import Given
from protocols.timeline.trace import seconds
from tools.lessons.shown import messages, table, traced

LIFE = """
name: three records, two members
brokers: [broker-0]
topics: {orders: {queues: 1}}
group:
  name: billing
  settings: {share.delivery.count.limit: 2, errors.deadletterqueue.topic.name: dlq.orders}
  members:
    c1: {subscribe: [orders], handle: 100ms}
    c2: {subscribe: [orders], handle: 100ms}
run: {for: 8min, seed: 1}
systems:
  - system: kafka:share
    settings: {share.acknowledgement.mode: explicit, on.error: release}
  - system: rocketmq:POP
    settings: {retryMaxTimes: 1}
  - system: rocketmq:POP
    label: POP, not renewed
    settings: {retryMaxTimes: 1, enableProxyAutoRenew: false}
events:
  - {at: 10s, produce: {orders: 1}}
  - {at: 20s, slow: {c1: 80s}, for: 100s}
  - {at: 21s, produce: {orders: 1}}
  - {at: 240s, poison: orders-0}
"""
"""The first record is acknowledged, the second outlives what it is hidden for, and no attempt can handle the third."""

NOT_RENEWED = "POP, not renewed"


def _hidden(*labels: str) -> Callable[[], str]:
    """Each time that a record was given: to whom, until when it was hidden as was said last, and how that ended."""

    def rows() -> str:
        head = ("variant", "record", "attempt", "given to", "at", "hidden until", "changed", "over", "because")
        return table(head, [_row(label, given) for label in labels for given in traced(LIFE, label).timeline.given])

    return rows


def _row(label: str, given: Given) -> tuple[object, ...]:
    changed = "" if not given.renewed else "once" if given.renewed == 1 else f"{given.renewed} times"
    over = "" if given.until is None else seconds(given.until)
    times = seconds(given.since), seconds(given.due), changed, over
    return label, given.first, given.attempt, given.member, *times, given.fate


MADE: Mapping[str, Callable[[], str]] = {
    "life-share": messages(LIFE, "kafka:share", 9.9, 240.6),
    "life-pop": messages(LIFE, NOT_RENEWED, 9.9, 250.4),
    "hidden": _hidden("kafka:share", "rocketmq:POP", NOT_RENEWED),
}
