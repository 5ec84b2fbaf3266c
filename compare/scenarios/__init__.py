"""Scenarios read for the systems that are installed, and one variant of them run from beginning to end."""
