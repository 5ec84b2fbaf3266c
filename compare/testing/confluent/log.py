"""What a ``logger`` is told, line by line as librdkafka tells it; poll(), consume() and close() call it."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from compare.testing.clock import Clock
from compare.testing.confluent.configuration import Configuration
from compare.testing.confluent.names import OF_PRODUCERS

DEBUG, INFO, WARNING, ERROR, CRITICAL = logging.DEBUG, 20, logging.WARNING, logging.ERROR, logging.CRITICAL
_FORMAT: Final = "%s [%s] %s"


class Log:
    """The lines of one client. ``logger``: what has a method ``log`` as `logging.Logger` has; None: nobody listens."""

    def __init__(self, logger: Any, client: str, group_id: str) -> None:
        self._logger, self._client, self._group_id = logger, client, group_id
        self._lines: list[tuple[int, str, str]] = []

    @classmethod
    def of(cls, configuration: Configuration, clock: Clock) -> "Log":
        """The log of a new client, which tells what it leaves aside of its configuration."""
        clock.clients += 1
        client = f"{configuration.given.get('client.id', 'rdkafka')}#consumer-{clock.clients}"
        log = cls(configuration.logger, client, configuration.group_id)
        log.ignored(configuration.given)
        return log

    def note(self, level: int, facility: str, text: str, thread: str = "main") -> None:
        """A line that the next poll() tells; ``thread``: the one of librdkafka's that would have written it."""
        if self._logger is not None:
            self._lines.append((level, facility, f"[thrd:{thread}]: {text}"))

    def refused(self, why: str) -> None:
        """A change of the assignment was refused."""
        self.note(WARNING, "ASSIGN", f'Group "{self._group_id}": application *assign() call failed: {why}')

    def ignored(self, given: Mapping[str, object]) -> None:
        """What a configuration says to producers only."""
        known = {_REAL_NAMES.get(name, name) for name in given}
        for name in [each for each in OF_PRODUCERS if each in known]:
            said = f"Configuration property {name} is a producer property and will be ignored by this consumer instance"
            self.note(WARNING, "CONFWARN", said, "app")

    def serve(self, lent: Callable[[], Any]) -> None:
        """Call the logger with every line since the last time."""
        lines, self._lines = self._lines, []
        for level, facility, text in lines:
            with lent():
                self._logger.log(level, _FORMAT, facility, self._client, text)


_REAL_NAMES: Final[Mapping[str, str]] = {
    "acks": "request.required.acks",
    "compression.type": "compression.codec",
    "delivery.timeout.ms": "message.timeout.ms",
    "linger.ms": "queue.buffering.max.ms",
    "retries": "message.send.max.retries",
}
"""Other names of properties to the ones that librdkafka knows them by."""
