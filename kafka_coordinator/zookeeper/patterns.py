"""Which topics a pattern subscription means: those whose whole name matches the regular expression.

In Kafka 0.8 `kafka.consumer.Whitelist`.
"""

import re
from collections.abc import Iterable


def matching(pattern: str, topics: Iterable[str]) -> tuple[str, ...]:
    """The topics that match, in their order."""
    expression = re.compile(pattern)
    return tuple(topic for topic in topics if expression.fullmatch(topic))
