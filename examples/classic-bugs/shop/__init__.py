"""Programs that read a topic: each has a bug, and a version without it."""
