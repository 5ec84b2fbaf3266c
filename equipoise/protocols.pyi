from protocols import *  # noqa: F403
