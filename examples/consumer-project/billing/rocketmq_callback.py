"""The same with RocketMQ's older Python client (``pip install rocketmq-client-python``): a callback per message."""

from collections.abc import Callable
from typing import Any


def callback(book: Callable[[Any], object], status: Any) -> Callable[[Any], Any]:
    """What a push consumer calls. It catches everything: a message whose callback raises counts as consumed."""

    def on_message(message: Any) -> Any:
        try:
            book(message)
        except Exception:
            return status.RECONSUME_LATER
        return status.CONSUME_SUCCESS

    return on_message


def careless_callback(book: Callable[[Any], object], status: Any) -> Callable[[Any], Any]:
    """The same as one writes it first."""

    def on_message(message: Any) -> Any:
        book(message)
        return status.CONSUME_SUCCESS

    return on_message
