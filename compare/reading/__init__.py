"""Readers of admin tools' output and of running clusters: they give observed groups, and unknown values as None."""
