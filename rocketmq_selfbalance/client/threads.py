"""What one real thread (``Thread``, ``ServiceThread``) of the client has still to do, as data: steps that are left, and
the call it waits for.

The real client's threads block in the middle of their work. Here a thread is a stack of steps, each a bare record
with what it needs. To run it, the step on top is taken off and its handler called, which may push further steps and
may leave a value for the next one (`Thread.value`), or return a call: then the thread waits. When the call is answered,
its answer is the value that the next step finds, and the thread runs on. So a thread that waits can be copied,
compared, and looked at.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from protocols.engine.nodes import Outbox, Time
from protocols.node_state import NodeState, Shared
from rocketmq_selfbalance.client.calls import Call

Step: TypeAlias = tuple[object, ...]
"""A named tuple; its class says which handler takes it."""


@dataclass(slots=True, init=False, eq=False)
class Thread(NodeState):
    """The steps left (the next one is the last of the list), the value given by the step or call before, and the
    call that is waited for."""

    left: list[Step]
    value: Shared[Any]
    waiting: Call | None

    def __init__(self, *steps: Step) -> None:
        """Steps in the order in which they are to be done."""
        self.left = list(reversed(steps))
        self.value = self.waiting = None

    def push(self, *steps: Step) -> None:
        """Do these next, in this order, before what is left."""
        self.left += steps[::-1]


Handler: TypeAlias = Callable[[Any, Time, Thread, Any, Outbox], Call | None]
"""World, time, thread, step and outbox to the call that the thread has to wait for, None if it can go on."""

Handlers: TypeAlias = Mapping[type, Handler]


def run(world: object, now: Time, thread: Thread, handlers: Handlers, out: Outbox) -> Call | None:
    """Do the thread's steps until it has to wait (the call is returned) or nothing is left (None)."""
    left = thread.left
    thread.waiting = None
    while left:
        step = left.pop()
        call = handlers[type(step)](world, now, thread, step, out)
        if call is not None:
            thread.waiting = call
            return call
    thread.value = None
    return None


def answer(world: object, now: Time, thread: Thread, value: object, handlers: Handlers, out: Outbox) -> Call | None:
    """The call that the thread waited for has this answer: it runs on."""
    thread.value = value
    return run(world, now, thread, handlers, out)
