"""What each figure is called on the page, and one line on what it tells."""

from collections.abc import Mapping

FIGURES: Mapping[str, tuple[str, str]] = {
    "members": ("members", "consumers in the group"),
    "idle_members": ("idle members", "members that own no queue: they cost, and do nothing until another one leaves"),
    "idle_share": ("idle share", "the part of the members that is idle, 0 to 1"),
    "queues": ("queues", "what is handed out: Kafka's partitions, RocketMQ's message queues"),
    "unowned_queues": ("queues without owner", "nobody reads them, so their lag only grows"),
    "double_owned_queues": ("queues owned twice", "two members read the same queue: records are handled twice"),
    "min": ("smallest load", "what the member with the least owns"),
    "max": ("largest load", "what the busiest member owns: it decides how fast the group is"),
    "mean": ("mean load", "the fair share, if queues could be split"),
    "spread": (
        "spread",
        "largest minus smallest load; with equal subscriptions 0 or 1 is as even as can be",
    ),
    "max_over_mean": ("max over mean", "how much more than its fair share the busiest member carries; 1 is even"),
    "cv": ("variation", "standard deviation over mean; 0 is even"),
    "jain": ("Jain index", "1 is even; k/n when k of n members share everything"),
    "gini": ("Gini", "0 is even, near 1 when one member has everything"),
    "theil": ("Theil", "0 is even; grows with surprise at who owns what"),
    "pile_up": (
        "pile-up",
        "1: the same members get more of every topic; below 0: topics offset each other; 0: neither",
    ),
    "lag": ("lag", "records written, but not yet committed by the group"),
}
"""Name in the audit's document to the words for people, in the order shown."""
