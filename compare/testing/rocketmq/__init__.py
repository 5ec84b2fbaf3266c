"""Doubles of RocketMQ's clients in virtual time."""
