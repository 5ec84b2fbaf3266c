from compare.testing.contents import *  # noqa: F403
