"""A request that cannot be granted: raised before anything has changed, answered by whoever took the request."""


class Refused(Exception):  # noqa: N818 - what happens to the request
    """``error`` is a name of `kafka_coordinator.errors`."""

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error
