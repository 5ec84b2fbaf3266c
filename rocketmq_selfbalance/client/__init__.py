"""RocketMQ's client: it shares the queues for itself, pulls, consumes and commits (spec 3 to 6)."""
