"""What one rebalance is to somebody who looks at a group from time to time."""

CALM_S = 120.0
"""Seconds: changes of owners or members that are not farther apart belong to one rebalance."""
