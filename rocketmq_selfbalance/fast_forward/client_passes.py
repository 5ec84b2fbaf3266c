"""Whether a client's next rebalance pass would find what it holds already, and its pulls.

A pass depends on topics, routes and members alone. Who the members are the brokers know: the client's adapter is
asked whether a pass that is told of these would compute what the last one did, and whether the consumer holds that.

Pulls are those that brokers hold until their time is over, and that are then sent again; and those of queues that are
read as records come in (`contract.Flow`). Reading is computed where the user's code keeps up: it takes no time, or
enough of its threads are idle and each call is given one record. Where calls follow one another (ordered consumption),
where somebody's own code or single records take another time, or pulls are spaced, every pull is simulated.
"""

from collections.abc import Mapping
from functools import partial
from math import inf
from typing import Any, NamedTuple, TypeAlias

from protocols.engine.nodes import TICK, Outbox, Time
from protocols.facts import Delivered
from protocols.java import Queue
from rocketmq_selfbalance.client import pulling
from rocketmq_selfbalance.client.consumer import PUSH, Consumer, share_of
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.process_queue import ProcessQueue
from rocketmq_selfbalance.client.rebalance_service import topics_in_turn
from rocketmq_selfbalance.client.threads import BROKER_ASKED
from rocketmq_selfbalance.codes import BROADCASTING, CLUSTERING, MASTER_ID, PULL_NOT_FOUND
from rocketmq_selfbalance.fast_forward.contract import Call, Flow, Renewal, ReplayOutbox, Stretch
from rocketmq_selfbalance.messages.membership import ConsumerList, GetConsumerListByGroup
from rocketmq_selfbalance.messages.offsets import PullAnswer, PullMessage
from rocketmq_selfbalance.strategies import AllocationError

Held: TypeAlias = Mapping[str, tuple[Queue, ...]]
"""Topic to queues."""


class _Checked(NamedTuple):
    """What was compared last with these members, and with what result."""

    members: tuple[str, ...]
    topics: tuple[str, ...]
    routes: Held
    held: Held
    repeats: bool
    owned: frozenset[Queue]


class Passes:
    """The passes of one client."""

    __slots__ = ("_agreed", "_checked", "_client", "_refused_at", "_would_repeat")

    def __init__(self, client: Instance) -> None:
        self._client = client
        self._checked: dict[str, _Checked] = {}
        """Group to the last comparison, which is made again when anything else is known."""
        self._agreed: Mapping[str, tuple[str, ...]] | None = None
        """The last members with which a pass would have changed nothing."""
        self._refused_at: Time | None = None
        """The end of the pass after which there were others."""
        self._would_repeat = self.would_repeat

    @property
    def are_known(self) -> bool:
        """Whether a pass would change nothing, as far as the members are known; else the brokers have to tell."""
        return self._agreed is not None and self._all_repeat(self._agreed)

    @property
    def are_refused(self) -> bool:
        """Whether the next pass will change something, as the brokers told before."""
        return self._refused_at == self._client.service.last and not self.are_known

    def calls(self) -> tuple[Call, ...] | None:
        """The questions of a pass, whose claim is `would_repeat`; None where a pass would do anything else."""
        calls: list[Call] = []
        for consumer in self._client.consumers.values():
            if consumer.message_model == BROADCASTING:
                if not self._repeats(consumer, ()):
                    return None
                continue
            same: dict[int, Call] = {}
            for topic in topics_in_turn(consumer):
                known = self._client.askable.get(topic, ())
                call = same.get(id(known))
                if call is None:
                    peers = tuple([addresses.get(MASTER_ID, "") for addresses in known])
                    if not peers or "" in peers:
                        return None
                    claim = self._would_repeat
                    call = same[id(known)] = Call(peers, GetConsumerListByGroup, ConsumerList, BROKER_ASKED, claim)
                calls.append(call)
        return tuple(calls)

    def would_repeat(self, lists: Mapping[str, tuple[str, ...]]) -> bool:
        """Whether a pass changes nothing that finds these members everywhere. ``lists``: group to its members, sorted;
        equal lists are the same object."""
        repeats = self._all_repeat(lists)
        if repeats:
            self._agreed = lists
        else:
            self._refused_at = self._client.service.last
        return repeats

    def _all_repeat(self, lists: Mapping[str, tuple[str, ...]]) -> bool:
        for group, consumer in self._client.consumers.items():
            if consumer.message_model != BROADCASTING:
                members = lists.get(group)
                if members is None or not self._repeats(consumer, members):
                    return False
        return True

    def _repeats(self, consumer: Consumer, members: tuple[str, ...]) -> bool:
        """Whether the consumer holds what it would compute."""
        held = self._client.observed.granted.get(consumer.group, {})
        known = self._checked.get(consumer.group)
        topics = tuple(consumer.subscriptions)
        if (
            known is None
            or known.members is not members
            or known.topics != topics
            or known.routes != consumer.routes
            or known.held != held
        ):
            repeats = held.keys() <= consumer.subscriptions.keys() and _computes(consumer, members, held)
            owned = frozenset(queue for queues in held.values() for queue in queues)
            known = _Checked(members, topics, dict(consumer.routes), dict(held), repeats, owned)
            self._checked[consumer.group] = known
        return known.repeats and known.owned == consumer.table.keys()


def _computes(consumer: Consumer, members: tuple[str, ...], held: Held) -> bool:
    """Whether a pass among these members computes for each topic what is held."""
    for topic in consumer.subscriptions:
        queues = consumer.routes.get(topic)
        try:
            if queues is None or consumer.message_model == BROADCASTING:
                target = queues or ()
            else:
                target = share_of(consumer, queues, members)
        except AllocationError:
            return False
        if target != held.get(topic, ()):
            return False
    return True


PulledBy: TypeAlias = tuple[str, Queue, int]
"""Group, queue and number of its process queue."""


def repeated(
    client: Instance, consumer: Consumer, pulls: Mapping[PulledBy, int]
) -> dict[str, dict[tuple[str, Queue], PullMessage]]:
    """Broker to what is pulled there and will be pulled again: group and queue to the pull."""
    found: dict[str, dict[tuple[str, Queue], PullMessage]] = {}
    for queue, process_queue in consumer.table.items():
        number = pulls.get((consumer.group, queue, process_queue.number))
        if number is None or not _would_repeat(consumer, queue, process_queue):
            continue
        address = client.pulled[number].address
        if address == (client.master(queue.broker) or client.replica(queue.broker)):
            pull = pulling.request(consumer, queue, process_queue, number)
            found.setdefault(address, {})[consumer.group, queue] = pull
    return found


def judge(client: Instance, message: PullAnswer) -> Renewal | None:
    """What follows of the answer to a pull that is under way, if it brings nothing."""
    pulled = client.pulled.get(message.correlation)
    consumer = None if pulled is None else client.consumers.get(pulled.group)
    process_queue = None if pulled is None or consumer is None else consumer.current(pulled.queue, pulled.number)
    if pulled is None or consumer is None or process_queue is None:
        return Renewal(inf, inf)  # nobody waits for it
    if message.code != PULL_NOT_FOUND or message.next_offset != process_queue.next_offset:
        return None
    if not _would_repeat(consumer, pulled.queue, process_queue):
        return None
    return Renewal(0.0, consumer.settings.pulling.broker_suspend_max_time_ms)


def replay_answer(client: Instance, now: Time, about: Any, out: Outbox) -> None:
    """Answers that brought nothing came to the pulls of a group and queue, the last one now."""
    group, queue = about
    consumer = client.consumers[group]
    process_queue = consumer.table[queue]
    process_queue.last_pull = now
    # The new pull is the last one that was sent. (It has the old one's number: which it is does not matter.)
    of = group, queue, process_queue.number
    number = next(number for number, pulled in client.pulled.items() if pulled[:3] == of)
    client.pulled[number] = client.pulled.pop(number)
    out.set_timer(("pull timeout", group, queue), now + consumer.settings.pulling.consumer_timeout_when_suspend_ms)


def _would_repeat(consumer: Consumer, queue: Queue, process_queue: ProcessQueue) -> bool:
    """Whether an answer that brings nothing has the same pull sent again at once, and changes nothing else."""
    kept = consumer.store.table.offsets.get(queue)
    return (
        not (process_queue.count or process_queue.listeners or consumer.settings.pulling.pull_interval_ms)
        and (consumer.kind != PUSH or kept == process_queue.next_offset)
        and (not consumer.orderly or not consumer.locks or process_queue.previously_locked)
        and pulling.held_back(consumer, queue, process_queue) is None
    )


def flows(client: Instance, consumer: Consumer, pulls: Mapping[PulledBy, int]) -> list[Flow] | None:
    """How the consumer reads what comes in, if anything does; None where it does anything else than reading and waiting
    for records. ``pulls``: to the number of the pull."""
    keeps_up = _keeps_up(consumer)
    found = []
    for queue, process_queue in consumer.table.items():
        if not process_queue.accumulated:
            continue  # no record has come yet
        in_hand = process_queue.count or process_queue.listeners
        number = pulls.get((consumer.group, queue, process_queue.number))
        if number is None or not keeps_up or process_queue.taken or process_queue.task_since is not None:
            if in_hand:
                return None
            continue
        works = [serial for serial, work in consumer.pool.running.items() if in_hand and work.batch.queue == queue]
        found.append(
            Flow(
                client.master(queue.broker) or client.replica(queue.broker) or "",
                pulling.request(consumer, queue, process_queue, number),
                _handled_to(process_queue),
                consumer.handle,
                [("pull timeout", consumer.group, queue), *[("consumed", consumer.group, serial) for serial in works]],
                (client.task_due["persist"], client.settings.instance.persist_consumer_offset_interval_ms),
                consumer.settings.pulling.consumer_timeout_when_suspend_ms,
                consumer.settings.consuming.consume_thread_max,
            )
        )
    return found


def _keeps_up(consumer: Consumer) -> bool:
    settings, pool = consumer.settings, consumer.pool
    one_by_one = not consumer.orderly and settings.consuming.consume_message_batch_max_size == 1
    return (
        consumer.kind == PUSH
        and consumer.message_model == CLUSTERING
        and not (consumer.by_hand or pool.takes or pool.fails or pool.standing_still)
        and not any(pool.poison.lies_ahead(queue, _handled_to(each)) for queue, each in consumer.table.items())
        and not settings.pulling.pull_interval_ms
        and (not consumer.handle or one_by_one)
    )


def _handled_to(process_queue: ProcessQueue) -> int:
    return process_queue.waiting.first if process_queue.waiting else process_queue.next_offset


def replay_reading(client: Instance, now: Time, stretch: Stretch, out: ReplayOutbox) -> None:
    """So far the queue has been read until now (more may be told)."""
    pull = stretch.flow.pull
    group, queue, position = pull.group, pull.queue, stretch.position
    consumer = client.consumers[group]
    process_queue = consumer.table[queue]
    first = _handled_to(process_queue)
    if process_queue.count:
        _let_go(consumer, queue, process_queue, out)
    process_queue.highest, process_queue.next_offset = position - 1, position
    if position > first:
        what = queue, first, position, stretch.handling_since(first), now
        threads = 1 if consumer.orderly else consumer.settings.consuming.consume_thread_max
        # What comes while a pull and its answer are under way comes together. A single record's times are exact.
        turn = 2 * stretch.travel if threads > 1 else 0.0
        pace = (1, 0.0, 0.0) if position == first + 1 else (threads, turn or TICK, consumer.handle, stretch.flow.wait)
        out.observe(Delivered(group, consumer.member, *what, *pace))
    if not stretch.last:
        return
    # What is committed until then is what the broker knows by then, or is being told.
    table = consumer.store.table
    table.update(queue, max(stretch.told_at(now), stretch.committing_at(now)), True)
    out.later(partial(table.update, queue, position, True))
    process_queue.last_pull = now
    if stretch.held:
        timeout = consumer.settings.pulling.consumer_timeout_when_suspend_ms
        out.set_timer(("pull timeout", group, queue), now + timeout)
    else:
        del client.pulled[pull.correlation]
        out.cancel_timer(("pull timeout", group, queue))
        out.set_timer(("pull", group, queue), now)


def _let_go(consumer: Consumer, queue: Queue, process_queue: ProcessQueue, out: ReplayOutbox) -> None:
    pool = consumer.pool
    for serial in [serial for serial, work in pool.running.items() if work.batch.queue == queue]:
        pool.busy -= pool.running.pop(serial).threads
        out.cancel_timer(("consumed", consumer.group, serial))
    pool.backlog = [batch for batch in pool.backlog if batch.queue != queue]
    process_queue.clear()
    process_queue.listeners = 0
