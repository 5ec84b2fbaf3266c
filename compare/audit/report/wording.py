"""What each figure is called on the page, and one line on what it tells."""

from collections.abc import Mapping

FIGURES: Mapping[str, tuple[str, str]] = {
    "members": ("members", "consumers in the group"),
    "idle_members": ("idle members", "members that own no queue and do nothing until another member leaves"),
    "idle_share": ("idle share", "the share of the members that is idle, 0 to 1"),
    "queues": ("queues", "Kafka's partitions or RocketMQ's message queues of the group's topics"),
    "unowned_queues": ("queues without owner", "queues that no member reads, so their lag only grows"),
    "double_owned_queues": ("queues owned twice", "queues that two members read, so records are handled twice"),
    "min": ("smallest load", "the smallest load of a member"),
    "max": ("largest load", "the largest load of a member, which limits the speed of the group"),
    "mean": ("mean load", "the average load, which is the fair share if queues could be split"),
    "spread": (
        "spread",
        "largest minus smallest load; with equal subscriptions 0 or 1 is as even as can be",
    ),
    "max_over_mean": ("max over mean", "the largest load divided by the fair share; 1 is even"),
    "cv": ("variation", "standard deviation over mean; 0 is even"),
    "jain": ("Jain index", "the Jain index: 1 is even; k/n when k of n members share everything equally"),
    "gini": ("Gini", "0 is even, near 1 when one member has everything"),
    "theil": ("Theil", "0 is even; weighs the largest loads most"),
    "pile_up": (
        "pile-up",
        "the correlation of topic loads: 1 if the same members get more of every topic, below 0 if topics offset"
        " each other, 0 if neither",
    ),
    "lag": ("lag", "records that are written but not yet committed by the group"),
}
"""Name in the audit's document to the words for people, in the order shown."""
