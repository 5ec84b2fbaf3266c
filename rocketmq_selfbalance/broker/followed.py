"""Reading at the end of a queue that was passed over at a broker, as long as it may lie ahead (see `following`)."""

from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.engine.quiet import Stretch


class Followed(NamedTuple):
    """Reading that was passed over. ``before``: the committed offset at the time ``since``, when it began."""

    before: int
    since: Time
    last: Stretch

    def told_at(self, now: Time) -> int | None:
        """The offset that was committed at this time; None where that is not ahead of what the broker has."""
        return max(self.before, self.last.told_at(now)) if self.since <= now < self.last.until else None
