"""Scenarios: what there is, what happens when, and which systems live through it."""
