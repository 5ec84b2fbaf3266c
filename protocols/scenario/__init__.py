"""Scenarios: what there is, what happens when, and which systems live through it.

`protocols.scenario.reading` makes them (`read` from a file, `scenario` from Python), `protocols.scenario.running` lets
a system live through one; `docs/scenario.md` is the reference.
"""
