"""Fairness figures on Spark: over any number of groups, on this machine or a cluster.

Users import `compare.spark`, which names what is theirs.
"""
