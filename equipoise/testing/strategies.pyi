from compare.testing.strategies import *  # noqa: F403
