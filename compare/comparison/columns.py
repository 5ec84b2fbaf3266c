"""The figures that are columns of the comparison's tables, from left to right: what hurts, then who has how much and
what it took."""

SETTLED = "settle_s"
"""The figure that is "never" where ownership did not come to rest."""

HARM: tuple[tuple[str, str], ...] = (
    ("not written", "harm.work.refused"),
    ("never handled", "harm.work.skipped"),
    ("twice", "redelivered"),
    ("no progress, queue-s", "harm.no_progress_queue_s"),
    ("longest stall, s", "harm.longest_stall_s"),
    ("no owner, queue-s", "unowned_queue_s"),
    ("longest gap, s", "longest_gap_s"),
    ("two owners, queue-s", "double_owned_queue_s"),
    ("lag peak", "lag.peak"),
    ("drained, s", "lag.drain_s"),
    ("waiting", "harm.work.waiting"),
    ("settled, s", SETTLED),
)
"""Heading and figure of each column of the first table."""

FIGURES: tuple[tuple[str, str], ...] = (
    ("members", "fairness.members"),
    ("idle", "fairness.idle_members"),
    ("load", "fairness"),
    ("best", "optimum"),
    ("jain", "fairness.jain"),
    ("best jain", "optimum.jain"),
    ("rebalances", "rebalances"),
    ("moves", "moves"),
    ("fewest moves", "fewest_moves"),
    ("messages", "messages"),
    ("burst", "burst"),
)
"""The same of the second table."""

RATIOS = frozenset({"fairness.jain", "optimum.jain", "burst"})
"""Figures that are printed as ratios, with two decimals."""
