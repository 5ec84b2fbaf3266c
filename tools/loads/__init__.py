"""How ways of sharing do under loads that change: what docs/load.md shows, made by `python -m tools.loads`.

`families` makes the loads, `day` lets a group live through one, `contenders` decide who gets what, `__main__` writes
the page's tables and pictures, and docs/load/*.parquet with the loads and every figure.
"""
