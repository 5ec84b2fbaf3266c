"""The parameter checks that every strategy but CONFIG makes first (spec 4.4), and how a strategy fails."""

from collections.abc import Sequence
from typing import NamedTuple

from protocols.java import Queue


class AllocationError(Exception):
    """The real strategy throws here: ``type`` is the exception's simple Java name.

    ``message`` is its text, None where the text is the JVM's own. A client that meets one logs it and keeps
    what it owned of the topic (spec 4.2).
    """

    def __init__(self, type: str, message: str | None = None) -> None:
        super().__init__(type if message is None else f"{type}: {message}")
        self.type, self.message = type, message


class Inputs(NamedTuple):
    """What passed the checks; ``own_index`` is the first position of ``current_cid`` in ``cid_all``."""

    current_cid: str
    mq_all: Sequence[Queue]
    cid_all: Sequence[str]
    own_index: int


def check(current_cid: str | None, mq_all: Sequence[Queue] | None, cid_all: Sequence[str] | None) -> Inputs | None:
    """The checks in their order; None if the own id is not in ``cid_all``: the client then owns nothing."""
    if not current_cid:
        raise illegal_argument("currentCID is empty")
    mq_all, cid_all = check_lists(mq_all, cid_all)
    if current_cid not in cid_all:
        return None
    return Inputs(current_cid, mq_all, cid_all, cid_all.index(current_cid))


def check_lists(mq_all: Sequence[Queue] | None, cid_all: Sequence[str] | None) -> tuple[Sequence[Queue], Sequence[str]]:
    """Those of the checks that do not depend on who asks."""
    if not mq_all:
        raise illegal_argument("mqAll is null or mqAll empty")
    if not cid_all:
        raise illegal_argument("cidAll is null or cidAll empty")
    return mq_all, cid_all


def illegal_argument(message: str) -> AllocationError:
    """A Java IllegalArgumentException."""
    return AllocationError("IllegalArgumentException", message)


def first_indexes(cid_all: Sequence[str]) -> dict[str, int]:
    """Each client id that may ask (every one but the empty text) to its first position."""
    found: dict[str, int] = {}
    for index, cid in enumerate(cid_all):
        if cid:
            found.setdefault(cid, index)
    return found
