"""Small scopes: scenarios of one, two or three members and one broker, or two."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

NO_COMMITS = "enable.auto.commit: false"
"""Members commit nothing by themselves: stories are shorter."""


def scope(
    subscriptions: Sequence[str],
    *events: str,
    system: str,
    orders: int = 2,
    payments: int = 1,
    settings: str = NO_COMMITS,
    own: Mapping[str, str] = MappingProxyType({}),
    load: str = "",
    seed: int = 1,
    brokers: str = "broker-a",
) -> str:
    """Members c1, c2, ... with these topics.

    ``orders`` and ``payments``: queues of these topics; ``settings`` of all, and of each member its ``own``; ``load``:
    records written per queue; ``seed`` of the latencies until the group has settled; ``brokers``: with commas.
    """
    members = "".join(
        f"    c{at}: {{subscribe: [{topics}], settings: {{{own.get(f'c{at}', '')}}}}}\n"
        for at, topics in enumerate(subscriptions, 1)
    )
    happens = "events:\n" + "".join(f"  - {{at: {60 + at}s, {each}}}\n" for at, each in enumerate(events))
    return (
        "name: a small group\n"
        f"brokers: [{brokers}]\n"
        "topics:\n"
        f"  orders: {{queues: {orders}}}\n"
        f"  payments: {{queues: {payments}}}\n"
        "group:\n"
        "  name: billing\n"
        f"  members:\n{members}"
        f"{f'load: {{produce: {load}}}' if load else ''}\n"
        f"run: {{for: 5min, seed: {seed}}}\n"
        f"systems: [{{system: {system}, settings: {{{settings}}}}}]\n"
        f"{happens if events else ''}"
    )
