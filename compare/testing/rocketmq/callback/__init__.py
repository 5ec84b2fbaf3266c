"""Doubles of RocketMQ's older Python client (the package ``rocketmq-client-python``, imported as ``rocketmq.client``).

It is a thin layer over the C++ client: a push consumer whose callback gets one message at a time, and a producer.

What the callback returns must be a `ConsumeStatus`. Where it raises, or returns anything else, the released client
prints the exception and the C++ client finds 0 in the place of an answer: `CONSUME_SUCCESS`. The message counts as
consumed and does not come again. (The first call in each of its threads may find something else.)
"""
