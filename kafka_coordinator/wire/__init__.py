"""Kafka's wire protocol: the brokers of this package before clients that nobody here wrote (extra ``serve``)."""
