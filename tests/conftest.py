"""Settings of all tests: where CI is set, hypothesis draws the same examples in every run."""

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
