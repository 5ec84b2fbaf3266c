"""Quiet times of RocketMQ's nodes are computed instead of simulated: what that means and promises is in `contract`."""
