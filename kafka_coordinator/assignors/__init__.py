"""Kafka's partition assignors (spec 5)."""
