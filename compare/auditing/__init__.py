"""Observed groups, measured: figures, cost, score, and what they would be under other strategies, members or queues."""
