"""Doubles of RocketMQ's 5.x Python client (the package ``rocketmq-python-client``, imported as ``rocketmq``)."""
