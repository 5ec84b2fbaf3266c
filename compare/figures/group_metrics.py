"""The metrics of a group: rows of the one table (`compare.figures.metrics`), which has those of runs and all readers.

Group figures come from three places: counts of members and queues, figures over the members' loads, and what an audit
or several polls make of a group. Each row names the function that computes it.
"""

from compare.figures.metric import Metric, by

COUNTED = by(
    "compare.figures.definitions.figures_of",
    Metric("members", "members", "consumers in the group", "members", 0),
    Metric("idle_members", "idle", "members that own no queue and do nothing until another member leaves", "members"),
    Metric("queues", "queues", "Kafka's partitions or RocketMQ's message queues of the group's topics", "queues", 0),
    Metric("unowned_queues", "unowned", "queues that no member reads, so their lag only grows", "queues"),
    Metric("double_owned_queues", "twice", "queues that two members read, so records are handled twice", "queues"),
)
OF_LOADS = by(
    "compare.figures.definitions.figures_of",
    Metric("min", "min", "the smallest load of a member", "load", 1),
    Metric("max", "max", "the largest load of a member, which limits the speed of the group", "load"),
    Metric("mean", "mean", "the average load, which is the fair share if queues could be split", "load per member", 0),
    Metric(
        "spread", "spread", "largest minus smallest load; with equal subscriptions 0 or 1 is as even as can be", "load"
    ),
    Metric("idle_share", "idle share", "the share of the members that is idle, 0 to 1", "share"),
    Metric("cv", "variation", "standard deviation over mean; 0 is even", "index"),
    Metric("jain", "Jain", "the Jain index: 1 is even; k/n when k of n members share everything equally", "ratio", 1),
    Metric("gini", "Gini", "0 is even, near 1 when one member has everything", "index"),
    Metric("theil", "Theil", "0 is even; weighs the largest loads most", "index"),
    Metric("max_over_mean", "max/mean", "the largest load divided by the fair share; 1 is even", "ratio"),
    Metric(
        "pile_up",
        "pile-up",
        "the correlation of topic loads: 1 if the same members get more of every topic, below 0 if topics offset"
        " each other, 0 if neither",
        "ratio",
    ),
)
OF_GROUPS = (
    *by(
        "compare.auditing.group_figures.judge",
        Metric(
            "lag", "lag", "records that are written but not yet committed by the group", "records", -1, "lag_records"
        ),
    ),
    *by(
        "compare.auditing.score.score",
        Metric("score", "score", "how fair it is and how well it goes, 0 to 100", "points", 1),
    ),
    *by(
        "compare.auditing.score.misplaced_queues",
        Metric("distance", "distance", "queues above the fairest loads", "queues", -1, "distance_queues"),
    ),
    *by(
        "compare.watching.changes.SeenGroup",
        Metric("moves_total", "moves", "queues seen to go to another owner", "moves", -1, "moves"),
        Metric(
            "rebalances_seen_total",
            "rebalances seen",
            "rebalances seen from poll to poll: there were at least so many",
            "rebalances",
            -1,
            "rebalances_seen",
        ),
        Metric(
            "rebalances_total",
            "rebalances",
            "rebalances counted by the group's epoch, those between polls included",
            "rebalances",
            -1,
            "rebalances",
        ),
        Metric(
            "lag_s",
            "lag, s",
            "the estimated age of the oldest record that is not read",
            "s",
            -1,
            "lag_estimated_seconds",
        ),
        Metric(
            "lag_trend",
            "lag trend",
            "records per second by which the lag grows",
            "records per s",
            -1,
            "lag_trend_records_per_second",
        ),
    ),
)
