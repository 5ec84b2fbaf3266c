"""Findings about a group: why it is unfair or late (causes), and what improves it (remedies with risk and gain)."""
