"""Numbers of requests, given so that they say nothing of how many requests there were before.

A new request gets the smallest number of its kind that is free: no request that is waited for has it, and none that
was given up while its answer may still come.
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeVar
from zlib import crc32

from protocols.engine.exploration.rules import Numbering
from protocols.engine.nodes import Message

N = TypeVar("N")

FRESH: Final = 1 << 24
"""While a step runs, requests are numbered from here on."""

SLOTS: Final = 16
"""Requests of one kind that a client can have under way at once."""

GivenUp = tuple[tuple[int, str], ...]
"""Number and peer of requests that are not waited for any more though their answers may come, sorted."""


def renumbered(
    numbering: Numbering[N],
    node: N,
    before: Mapping[int, str],
    given_up: GivenUp,
    sent: Sequence[tuple[str, Message | None]],
    answered: int | None,
    lost: str | None,
) -> tuple[GivenUp, list[tuple[str, Message | None]]]:
    """Give the requests of a step their numbers: in the node, which is changed, and in what it sent (None: it closed
    the connection). ``before``: the requests that were waited for before the step; ``answered``: which of them has its
    answer; ``lost``: the peer whose connection has ended."""
    numbering.restart(node, 0)
    after = numbering.outstanding(node)
    closed = {lost, *(peer for peer, message in sent if message is None)}
    left = {
        number: peer
        for number, peer in (*given_up, *before.items())
        if number not in after and number != answered and peer not in closed
    }
    names = _names(after, left, sent)
    numbering.rename(node, names)
    return tuple(sorted(left.items())), [(to, _renumbered(message, names)) for to, message in sent]


def _names(
    after: Mapping[int, str], left: Mapping[int, str], sent: Sequence[tuple[str, Message | None]]
) -> dict[int, int]:
    """Fresh numbers of requests that wait for their answers to those that they get."""
    kinds = {message[0]: type(message).__name__ for _, message in sent if message}
    used = {*left, *after}
    names: dict[int, int] = {}
    for number in after:
        if number > FRESH:
            names[number] = _free(kinds.get(number, ""), used)
            used.add(names[number])
    return names


def _renumbered(message: Message | None, names: Mapping[int, int]) -> Message | None:
    """With its number after the step; 0 for one that nobody waits for."""
    if not message or not isinstance(message[0], int) or message[0] <= FRESH:
        return message
    renumbered: Message = tuple.__new__(type(message), (names.get(message[0], 0), *message[1:]))
    return renumbered


def _free(kind: str, used: set[int]) -> int:
    """The smallest number of this kind that is not used."""
    number = 1 + crc32(kind.encode()) % (1 << 16) * SLOTS
    while number in used:
        number += 1
    return number
