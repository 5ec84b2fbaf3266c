"""Kafka 0.8's way without a coordinator: every consumer shares out for itself over ZooKeeper (spec 7)."""
