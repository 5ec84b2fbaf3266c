"""What would help a group, what it takes, and what it may break: one file per sort of change."""
