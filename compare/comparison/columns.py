"""The figures that are columns of the comparison's table, from left to right."""

FIGURES: tuple[tuple[str, str], ...] = (
    ("members", "fairness.members"),
    ("idle", "fairness.idle_members"),
    ("load", "fairness"),
    ("best", "optimum"),
    ("jain", "fairness.jain"),
    ("best jain", "optimum.jain"),
    ("rebalances", "rebalances"),
    ("messages", "messages"),
    ("no owner, queue-s", "unowned_queue_s"),
    ("longest, s", "longest_gap_s"),
    ("two owners, queue-s", "double_owned_queue_s"),
    ("moves", "moves"),
    ("fewest moves", "fewest_moves"),
    ("twice", "redelivered"),
    ("burst", "burst"),
    ("lag peak", "lag.peak"),
    ("drained, s", "lag.drain_s"),
    ("settled, s", "settle_s"),
)
"""Heading and figure of each column."""

RATIOS = frozenset({"fairness.jain", "optimum.jain", "burst"})
"""Figures that are printed as ratios, with two decimals."""
