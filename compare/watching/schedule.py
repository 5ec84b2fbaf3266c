"""When a cluster is polled: at even intervals, and later and later while it does not answer."""

from dataclasses import dataclass
from math import floor

LONGEST_BACK_OFF_S = 300.0
"""Seconds between two attempts at most, unless the interval itself is longer."""


@dataclass(slots=True)
class Schedule:
    """``start``, ``next_at``: seconds. ``failures``: attempts in a row that gave nothing; ``attempts``: all."""

    every_s: float
    start: float
    next_at: float
    failures: int = 0
    attempts: int = 0

    @classmethod
    def beginning(cls, every_s: float, now: float) -> "Schedule":
        """The first poll is due now."""
        return cls(every_s, now, now)

    def succeeded(self, now: float) -> None:
        """The next poll is at the next multiple of the interval since the start, so that times do not drift."""
        self.failures = 0
        self.attempts += 1
        self.next_at = self.start + (floor((now - self.start) / self.every_s) + 1) * self.every_s

    def failed(self, now: float) -> None:
        """Wait one interval, then twice, four times as long, up to `LONGEST_BACK_OFF_S`."""
        longest = max(self.every_s, LONGEST_BACK_OFF_S)
        wait_s = min(self.every_s * 2.0 ** min(self.failures, 60), longest)
        self.failures += 1
        self.attempts += 1
        self.next_at = now + wait_s
