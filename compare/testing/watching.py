"""The user's handler of messages, watched: whichever client's message it is given, and whether it is a coroutine."""

from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any, TypeVar

R = TypeVar("R")

Place = tuple[str, int, int]
"""Topic, partition and offset."""


def watched(handler: Callable[..., R], note: Callable[[object], None]) -> Callable[..., R]:
    """The handler of a message, or of a list of them; ``note`` is told each message when it returns."""

    def tell(messages: object) -> None:
        if isinstance(messages, list | tuple) and not hasattr(messages, "offset"):
            for message in messages:
                note(message)
        else:
            note(messages)

    def plain(messages: object, *args: object, **kwargs: object) -> R:
        result = handler(messages, *args, **kwargs)
        tell(messages)
        return result

    async def coroutine(messages: object, *args: object, **kwargs: object) -> object:
        result = await handler(messages, *args, **kwargs)  # type: ignore[misc]
        tell(messages)
        return result

    made: Any = coroutine if iscoroutinefunction(handler) else plain
    return made  # type: ignore[no-any-return]


def place_of(message: Any) -> Place | None:
    """Where a message of one of Kafka's clients stands; None for what is no record."""
    if callable(message.topic):
        place = message.topic(), message.partition(), message.offset()
    else:
        place = message.topic, message.partition, message.offset
    return None if None in place else place
