"""Figures of observed groups: fairness, cost, score, and what they would be under other strategies or members."""
