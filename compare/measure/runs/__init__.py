"""Figures of simulated runs: what each event led to, what a run cost, and the spread over many seeds."""
