from compare.testing import *  # noqa: F403
