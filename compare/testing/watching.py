"""The user's handler, watched: which records it was given, when it returned, or what it raised."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from inspect import iscoroutinefunction
from itertools import chain
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeAlias, TypeVar

from compare.testing.faults import calls_user, is_fault
from protocols.engine.nodes import Time
from protocols.errors import UserError
from protocols.java import Queue

P = ParamSpec("P")
R = TypeVar("R")

Place: TypeAlias = tuple[Queue, int]
"""Queue and offset that a record had at first."""
Given: TypeAlias = tuple[str, Place]
"""Whose handler was given a record, and which."""


class HandlerCall(NamedTuple):
    """A call of a watched handler with a record, from ``began`` to ``ended``; ``error``: what it raised, empty where it
    returned."""

    began: Time
    ended: Time
    member: str
    queue: Queue
    offset: int
    error: str


class LatePoll(NamedTuple):
    """A member polls again at ``at``, after its last poll at ``since``: later than its limit allows."""

    since: Time
    at: Time
    member: str
    limit: Time


class SlowCallback(NamedTuple):
    """A member's callback of this name has taken time."""

    began: Time
    ended: Time
    member: str
    name: str


class NoStatus(NamedTuple):
    """What a listener has returned, as `repr` tells it, and the status that Java's client takes null for."""

    at: Time
    returned: str
    taken_for: str


class Watcher(Protocol):
    """Who is told of a watched handler's calls."""

    @property
    def now(self) -> Time: ...
    def begin(self, message: object, member: str) -> Given | None:
        """What a message stands for; None for one that is an error. ``member``: whose code it is, empty where the
        message tells."""

    def end(self, given: Iterable[Given], began: Time, error: BaseException | None) -> None: ...
    def caught(self, error: BaseException) -> None:
        """A fault is about to be raised into the user's code."""


def watched(handler: Callable[P, R], watcher: Watcher, member: str = "") -> Callable[P, R]:
    """The handler; the watcher is told of each message among its arguments, alone or in a list of them."""

    def begin(args: tuple[object, ...], kwargs: Mapping[str, object]) -> tuple[list[Given], Time]:
        try:
            found = [watcher.begin(message, member) for message in _messages(handler, (*args, *kwargs.values()))]
            return [given for given in found if given is not None], watcher.now
        except Exception as error:
            watcher.caught(error)
            raise

    def end(given: list[Given], began: Time, error: BaseException | None) -> None:
        try:
            if error is None or not is_fault(error):
                watcher.end(given, began, error)
            else:
                watcher.caught(error)
        except Exception as fault:
            watcher.caught(fault)
            raise

    @calls_user
    def plain(*args: P.args, **kwargs: P.kwargs) -> R:
        given, began = begin(args, kwargs)
        try:
            result = handler(*args, **kwargs)
        except BaseException as error:
            end(given, began, error)
            raise
        end(given, began, None)
        return result

    @calls_user
    async def coroutine(*args: P.args, **kwargs: P.kwargs) -> object:
        given, began = begin(args, kwargs)
        try:
            result = await handler(*args, **kwargs)  # type: ignore[misc]
        except BaseException as error:
            end(given, began, error)
            raise
        end(given, began, None)
        return result

    made: Any = coroutine if iscoroutinefunction(handler) else plain
    return made  # type: ignore[no-any-return]


def _messages(handler: object, arguments: tuple[object, ...]) -> Iterator[object]:
    """The first argument that is a message or holds some; None and an empty list hold none."""
    batches = [list(_batch(argument)) for argument in arguments]
    for batch in batches:
        if batch and all(map(is_message, batch)):
            yield from batch
            return
    if not all(batches):
        return
    kinds = ", ".join(type(argument).__name__ for argument in arguments) or "nothing"
    name = getattr(handler, "__name__", type(handler).__name__)
    raise UserError(
        f"group.watch: {name} was called with {kinds}, expected a client's message, or a list of messages, among its"
        " arguments: watch the function that the messages are given to"
    )


def _batch(argument: object) -> Iterable[object]:
    """One message, a list of them, or lists by partition."""
    if argument is None or is_message(argument):
        return () if argument is None else (argument,)
    if isinstance(argument, Mapping):
        return chain.from_iterable(map(_batch, argument.values()))
    return argument if isinstance(argument, list | tuple) else (argument,)


_PLACES = ("offset", "queue_offset", "message_id")


def is_message(given: object) -> bool:
    """Whether it is a message of a client of either system."""
    return hasattr(given, "topic") and any(hasattr(given, name) for name in _PLACES)


def place_of(message: Any) -> Place | None:
    """Where a message of a client stands; None for what is no record. `UserError` for one that does not say it."""
    if hasattr(message, "queue_offset"):
        if hasattr(message, "origin"):
            origin: Place = message.origin
            return origin
        return Queue(message.topic, getattr(message, "broker_name", ""), message.queue_id), message.queue_offset
    if not hasattr(message, "offset"):
        raise UserError(f"group.watch: a {type(message).__name__} does not say which queue it is from, nor its offset")
    if callable(message.topic):
        topic, number, offset = message.topic(), message.partition(), message.offset()
    else:
        topic, number, offset = message.topic, message.partition, message.offset
    return None if None in (topic, number, offset) else (Queue(topic, "", number), offset)


def told_error(error: BaseException | None) -> str:
    """``ValueError: no such order``; empty for None."""
    if error is None:
        return ""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
