"""An error that a client is told: its code, and the text where the answer has room for one.

In Kafka `org.apache.kafka.common.errors`.
"""

from kio.schema.errors import ErrorCode


class RefusedError(Exception):
    """Part of a request is refused with this error; ``message`` goes to the client where the answer has a field for it.
    ``details`` are what only some answers tell besides."""

    def __init__(
        self, code: ErrorCode, message: str | None = None, details: tuple[tuple[int, str | None], ...] = ()
    ) -> None:
        super().__init__(message or code.name)
        self.code, self.message, self.details = code, message, details
