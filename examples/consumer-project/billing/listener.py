"""The same for RocketMQ: a listener that books what it gets, and lets come again what it cannot book."""

from collections.abc import Callable
from typing import Any


class BillingListener:
    """To be registered with a push consumer."""

    def __init__(self, book: Callable[[Any], object], success: Any, later: Any) -> None:
        self.book, self.success, self.later = book, success, later

    def __call__(self, messages: list[Any]) -> Any:
        try:
            for message in messages:
                self.book(message)
        except ConnectionError:
            return self.later
        return self.success
