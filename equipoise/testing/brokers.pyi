from compare.testing.brokers import *  # noqa: F403
