"""A fact with its time, its node and its causes."""

from typing import Any, NamedTuple

from protocols.engine.nodes import Time


class ObservedFact(NamedTuple):
    """``node`` observed ``fact`` (one of `protocols.facts`) at ``now``, in milliseconds. ``root``: the call that began
    the chain of causes; ``cause``: what was being handled (see `protocols.engine.simulation.Observer`)."""

    now: Time
    node: str
    fact: Any
    root: int
    cause: int
