"""Kafka as a scenario lives in it: brokers, controller, topics, members, administrators, settings, views of tools."""
