from compare.testing.rocketmq.push_consumer import *  # noqa: F403
