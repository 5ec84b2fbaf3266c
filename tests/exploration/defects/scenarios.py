"""Small scopes: scenarios of one, two or three members and one broker."""

from collections.abc import Sequence

PLAIN = "plain"
"""Label of the variant whose members commit nothing by themselves: stories are shorter."""


def scope(
    subscriptions: Sequence[str],
    *events: str,
    system: str,
    orders: int = 2,
    payments: int = 1,
    settings: str = "enable.auto.commit: false",
) -> str:
    """Members c1, c2, ... with these topics; ``orders`` and ``payments``: queues of these topics."""
    members = "".join(f"    c{at}: {{subscribe: [{topics}]}}\n" for at, topics in enumerate(subscriptions, 1))
    happens = "events:\n" + "".join(f"  - {{at: {60 + at}s, {each}}}\n" for at, each in enumerate(events))
    return (
        "name: a small group\n"
        "brokers: [broker-a]\n"
        "topics:\n"
        f"  orders: {{queues: {orders}}}\n"
        f"  payments: {{queues: {payments}}}\n"
        "group:\n"
        "  name: billing\n"
        f"  members:\n{members}"
        "run: {for: 5min, seed: 1}\n"
        f"systems: [{{system: {system}, label: {PLAIN}, settings: {{{settings}}}}}]\n"
        f"{happens if events else ''}"
    )
