from compare.testing.confluent.errors import *  # noqa: F403
