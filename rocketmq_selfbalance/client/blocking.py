"""The threads of a client instance at work: each is run until it makes a call that blocks, and goes on when the call is
answered, fails, or has waited long enough (the synchronous invocations of RocketMQ's ``NettyRemotingClient``).

What to do with calls and answers is in the tables that the node gives its instance.
"""

from collections.abc import Collection, Sequence
from typing import Any

from protocols.engine.nodes import Message, Outbox, Time
from protocols.load import quickly_made
from rocketmq_selfbalance.client.instance import WAIT, Asked, Instance, Wait
from rocketmq_selfbalance.client.threads import AwaitConsumeLock, Call, Failure, Sleep, Step, Thread
from rocketmq_selfbalance.client.threads import run as go

_asked = quickly_made(Asked)


def run(client: Instance, now: Time, name: str, steps: Sequence[Step], out: Outbox) -> None:
    """Let the thread of this name do these steps, after what it has still to do."""
    thread = client.threads.get(name)
    if thread is not None:
        thread.left[:0] = reversed(steps)
        return
    thread = client.threads[name] = Thread(*steps)
    _drive(client, now, name, thread, go(client, now, thread, out), out)


def resume(client: Instance, now: Time, name: str, value: object, out: Outbox) -> None:
    thread = client.threads[name]
    thread.value = value
    _drive(client, now, name, thread, go(client, now, thread, out), out)


def _drive(client: Instance, now: Time, name: str, thread: Thread, call: Call | None, out: Outbox) -> None:
    calls = client.tables.calls
    while call is not None:
        value = calls[type(call)](client, now, name, thread, call, out)
        if value is WAIT:
            return
        thread.value = value
        call = go(client, now, thread, out)
    if client.threads.get(name) is thread:
        del client.threads[name]


def stop(client: Instance, name: str, out: Outbox) -> None:
    if client.threads.pop(name, None) is not None:
        client.watched.pop(name, None)
        out.cancel_timer(("thread", name))
        _forget_asked(client, name)


def _forget_asked(client: Instance, name: str) -> None:
    for correlation in [number for number, asked in client.asked.items() if asked.thread == name]:
        del client.asked[correlation]


def ask(client: Instance, now: Time, thread: str, address: str, timeout: Time, request: Message, out: Outbox) -> Wait:
    """Send a request for this thread, which then waits for the answer. The request begins with its number."""
    until = now + timeout
    client.asked[request[0]] = _asked((thread, address, until))
    due = client.watched.get(thread)
    if due is None or due > until:
        _watch(client, thread, until, out)
    out.send(address, request)
    return WAIT


def _watch(client: Instance, thread: str, until: Time, out: Outbox) -> None:
    client.watched[thread] = until
    out.set_timer(("thread", thread), until)


def wait(client: Instance, now: Time, thread: str, duration: Time, out: Outbox) -> Wait:
    client.watched.pop(thread, None)
    out.set_timer(("thread", thread), now + duration)
    return WAIT


def answered(client: Instance, now: Time, message: Any, out: Outbox) -> None:
    asked = client.asked.pop(message.correlation, None)
    if asked is not None:
        call = client.threads[asked.thread].waiting
        resume(client, now, asked.thread, client.tables.answers[type(message)](client, call, message), out)


def failed(client: Instance, now: Time, addresses: Collection[str], out: Outbox) -> None:
    """Whoever waits for one of these addresses now waits in vain."""
    for correlation in [number for number, asked in client.asked.items() if asked.address in addresses]:
        asked = client.asked.pop(correlation, None)
        if asked is not None and asked.thread in client.threads:
            resume(client, now, asked.thread, Failure.FAILED, out)


def is_overdue(client: Instance, now: Time, name: str, out: Outbox) -> bool:
    """The timer of a thread is due: whether it has waited long enough."""
    if client.watched.pop(name, None) is None:
        return True
    until = min((asked.until for asked in client.asked.values() if asked.thread == name), default=None)
    if until is not None and until > now:
        _watch(client, name, until, out)
    return until is not None and until <= now


def waited_enough(client: Instance, now: Time, name: str, out: Outbox) -> None:
    thread = client.threads.get(name)
    if thread is None:
        return
    _forget_asked(client, name)
    match thread.waiting:
        case Sleep():
            resume(client, now, name, None, out)
        case AwaitConsumeLock():
            resume(client, now, name, False, out)
        case _:
            resume(client, now, name, Failure.FAILED, out)


def abandon(client: Instance, group: str) -> None:
    """The consumer of this group is on its way out: of its steps no thread does any but ``main``, which ends it."""
    for name, thread in client.threads.items():
        if name != "main":
            thread.left = [step for step in thread.left if getattr(step, "group", None) != group]
