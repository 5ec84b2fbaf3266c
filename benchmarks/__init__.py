"""Measurements beside their peers and budgets: `make bench`; README.md holds the figures."""
