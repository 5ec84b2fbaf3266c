"""When a client is at rest, and what it does about rounds that were passed over (`protocols.engine.quiet`).

At rest nothing happens but its periodic tasks, passes that find what they found before, renewals of locks, and pulls
that brokers hold until their time is over. What a client believes is in the claims of its requests; brokers and name
servers know whether it is so (`rocketmq_selfbalance.broker.resting`).
"""

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any

from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.engine.quiet import Call, Exchange, Flow, Guard, Renewal, Rest
from protocols.queues import Queue
from rocketmq_selfbalance.client import following, polling, pulling, rebalance_service, tasks
from rocketmq_selfbalance.client.calls import BROKER_ASKED, AskMembers, LockQueues, RefreshRoute, TellBroker
from rocketmq_selfbalance.client.consumer import PUSH, Consumer, Questions
from rocketmq_selfbalance.client.consuming_orderly import lock_thread
from rocketmq_selfbalance.client.heartbeat import addresses_in_turn, consumer_data
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.locks import by_broker
from rocketmq_selfbalance.client.rebalance_service import topics_in_turn
from rocketmq_selfbalance.codes import BROADCASTING, MASTER_ID, PULL_NOT_FOUND
from rocketmq_selfbalance.messages.answer import Answer
from rocketmq_selfbalance.messages.locks import LockBatchMq, LockBatchMqAnswer
from rocketmq_selfbalance.messages.membership import ConsumerList, GetConsumerListByGroup, HeartBeat
from rocketmq_selfbalance.messages.nameserver import GetRouteInfo, RouteInfoAnswer
from rocketmq_selfbalance.messages.offsets import UpdateConsumerOffset
from rocketmq_selfbalance.messages.pulling import PullAnswer, PullMessage
from rocketmq_selfbalance.states import BACKOFF, RUNNING, WAITING

_NOTHING = Rest()
"""Of a client that has shut down."""

_UNDER_WAY = {
    RefreshRoute: ("routes", RouteInfoAnswer),
    TellBroker: ("heartbeat", Answer),
    AskMembers: (rebalance_service.TIMER, ConsumerList),
    LockQueues: ("lock", LockBatchMqAnswer),
}
"""Call that a thread waits for to the exchange that is under way then, and the answer."""

_ABOUT_TO_BE_TOLD = frozenset({WAITING, BACKOFF})
"""States of a process queue that its next pull changes."""


def rest(client: Instance) -> Rest | None:
    """How the client is at rest, None if it is not."""
    if client.ended:
        return _NOTHING
    consumers = list(client.consumers.values())
    if not client.running or client.service.has_to_tell or client.sent_back or not all(map(_settled, consumers)):
        return None
    if not _ABOUT_TO_BE_TOLD.isdisjoint(client.observed.life_of.values()):
        return None
    pulls = {pulled[:3]: number for number, pulled in client.pulled.items()}
    under_way, flows = _under_way(client), _flows(client, consumers, pulls)
    if under_way is None or flows is None:
        return None
    known = addresses_in_turn(client)
    commits = _commits(client, consumers)
    members = _members(client, consumers)
    if commits is None or members is None:
        return None
    settings = client.settings
    beats = (client.client_id, tuple(consumer_data(consumer) for consumer in consumers))
    exchanges = [
        _task(client, "routes", _routes(client, consumers), under_way),
        _task(client, "heartbeat", tuple(Call((at,), HeartBeat, Answer, claim=beats) for at in known), under_way),
        _task(client, "persist", commits, under_way),
        Exchange(
            rebalance_service.TIMER,
            rebalance_service.between_passes(settings),
            members,
            in_turn=True,
            after_end=True,
            thread=rebalance_service.THREAD,
            awaiting=rebalance_service.TIMER in under_way,
            within=settings.instance.mq_client_api_timeout_ms,
        ),
        *_locks(client, consumers, under_way),
    ]
    harmless: dict[tuple[str, type[Message]], Any] = {
        (peer, answer): None
        for peers, answer in dict.fromkeys(
            (call.peers, call.answer) for exchange in exchanges for call in exchange.calls
        )
        if answer is not None
        for peer in peers
    }
    for consumer in consumers:
        for address, repeated in _repeated_pulls(client, consumer, pulls).items():
            harmless.setdefault((address, PullAnswer), {}).update(repeated)
    idle = [(name, consumer.group) for consumer in consumers for name in ("expired", "poll")]
    guarded = _guarded(client)
    # Timers of requests that were answered meanwhile: nothing comes of them.
    idle += [name for thread in client.watched if (name := ("thread", thread)) not in guarded]
    return Rest(tuple(exchanges), harmless, guarded, idle=idle, flows=flows)


def _settled(consumer: Consumer) -> bool:
    """A whole pass changed nothing, and nothing has changed since."""
    return (
        consumer.state == RUNNING
        and consumer.settled == consumer.revision
        and not (consumer.paused or consumer.leaving or consumer.pool.backlog)
        and not any(each.dropped for each in consumer.table.values())
        and (consumer.kind == PUSH or not polling.would_keep(consumer))
    )


def _flows(client: Instance, consumers: list[Consumer], pulls: Mapping[following.PulledBy, int]) -> list[Flow] | None:
    """How queues are read as records come in; None where one of them does anything else than that and waiting."""
    found: list[Flow] = []
    for consumer in consumers:
        flows = following.flows(client, consumer, pulls)
        if flows is None:
            return None
        found += flows
    return found


def _under_way(client: Instance) -> set[str] | None:
    """Which exchanges are under way; None where a thread does anything else."""
    found: set[str] = set()
    for name, thread in client.threads.items():
        expected = _UNDER_WAY.get(type(thread.waiting))
        if expected is None or (name not in (tasks.THREAD, rebalance_service.THREAD) and expected[0] != "lock"):
            return None
        if name == tasks.THREAD and any(type(step) in _TASK_STEPS for step in thread.left):
            return None  # another task waits for its turn
        found.add(expected[0])
    return found


_TASK_STEPS = {task.step for task in tasks.TASKS.values()}


def _task(client: Instance, name: str, calls: tuple[Call, ...], under_way: set[str]) -> Exchange:
    return Exchange(
        ("task of", name),
        tasks.TASKS[name].period(client.settings.instance),
        calls,
        in_turn=name != "persist",
        thread=tasks.THREAD,
        awaiting=name in under_way,
        within=client.settings.instance.mq_client_api_timeout_ms,
    )


def _routes(client: Instance, consumers: list[Consumer]) -> tuple[Call, ...]:
    server = client.name_servers[client.name_server]
    readers: dict[str, list[Consumer]] = {}
    for consumer in consumers:
        for topic in consumer.subscriptions:
            readers.setdefault(topic, []).append(consumer)
    claim = tuple(
        (topic, client.routes.get(topic) if all(topic in each.routes for each in reading) else None)
        for topic, reading in readers.items()
    )
    call = Call((server,), GetRouteInfo, RouteInfoAnswer, claim=claim)
    return (call,) * len(readers)


def _commits(client: Instance, consumers: list[Consumer]) -> tuple[Call, ...] | None:
    """The commits of one round; None where a round would change anything here."""
    sent: list[str] = []
    claims: dict[str, dict[tuple[str, Queue], int]] = {}
    for consumer in consumers:
        offsets = consumer.store.table.offsets
        if not consumer.table:
            continue
        if any(queue not in consumer.table for queue in offsets):
            return None
        if consumer.message_model == BROADCASTING:
            continue
        for queue, offset in offsets.items():
            address = client.master(queue.broker) or client.replica(queue.broker)
            if address is None:
                return None
            sent.append(address)
            claims.setdefault(address, {})[consumer.group, queue] = offset
    told = {address: Call((address,), UpdateConsumerOffset, None, claim=claim) for address, claim in claims.items()}
    return tuple([told[address] for address in sent])


def _members(client: Instance, consumers: list[Consumer]) -> tuple[Call, ...] | None:
    """The questions of a pass; None where a pass would do anything else."""
    asking = [consumer for consumer in consumers if consumer.message_model != BROADCASTING]
    claim = tuple(sorted((consumer.group, consumer.claim or ()) for consumer in asking))
    calls: list[Call] = []
    for consumer in asking:
        if consumer.claim is None:
            return None
        questions = consumer.questions
        if questions is None or questions.revision != consumer.revision or questions.claim != claim:
            asked = _questions(client, consumer, claim)
            if asked is None:
                return None
            questions = consumer.questions = Questions(consumer.revision, claim, asked)
        calls += questions.calls
    return tuple(calls)


def _questions(client: Instance, consumer: Consumer, claim: Any) -> tuple[Call, ...] | None:
    """Those of one consumer; None where a broker has no master."""
    calls: list[Call] = []
    same: dict[int, Call] = {}
    for topic in topics_in_turn(consumer):
        known = client.askable.get(topic, ())
        call = same.get(id(known))
        if call is None:
            peers = tuple([addresses.get(MASTER_ID, "") for addresses in known])
            if not peers or "" in peers:
                return None
            call = same[id(known)] = Call(peers, GetConsumerListByGroup, ConsumerList, BROKER_ASKED, claim)
        calls.append(call)
    return tuple(calls)


def _locks(client: Instance, consumers: list[Consumer], under_way: set[str]) -> Iterator[Exchange]:
    for consumer in [consumer for consumer in consumers if consumer.locks]:
        calls = []
        for queues in by_broker(consumer.holds()):
            address = client.master(queues[0].broker) or ""
            calls.append(Call((address,), LockBatchMq, LockBatchMqAnswer, claim=tuple(sorted(queues))))
        yield Exchange(
            ("lock", consumer.group),
            consumer.settings.ordered.lock_interval_ms,
            tuple(calls),
            in_turn=True,
            thread=lock_thread(consumer.group),
            awaiting="lock" in under_way,
            within=consumer.settings.instance.lock_timeout_ms,
            about=consumer.group,
        )


def _repeated_pulls(
    client: Instance, consumer: Consumer, pulls: Mapping[following.PulledBy, int]
) -> dict[str, dict[tuple[str, Queue], PullMessage]]:
    """Broker to what is pulled there and will be pulled again: group and queue to the pull."""
    found: dict[str, dict[tuple[str, Queue], PullMessage]] = {}
    for queue, process_queue in consumer.table.items():
        number = pulls.get((consumer.group, queue, process_queue.number))
        if number is None or not pulling.would_repeat(consumer, queue, process_queue):
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
        return Renewal(PullAnswer, inf, inf)  # nobody waits for it
    if message.code != PULL_NOT_FOUND or message.next_offset != process_queue.next_offset:
        return None
    if not pulling.would_repeat(consumer, pulled.queue, process_queue):
        return None
    return Renewal(PullAnswer, 0.0, consumer.settings.pulling.broker_suspend_max_time_ms)


def _guarded(client: Instance) -> dict[TimerName, Guard]:
    """Timers for overdue answers, and the answers."""
    found: dict[TimerName, Guard] = {}
    for pulled in client.pulled.values():
        timeout = client.consumers[pulled.group].settings.pulling.consumer_timeout_when_suspend_ms
        found["pull timeout", pulled.group, pulled.queue] = Guard(pulled.address, PullAnswer, timeout)
    for asked in client.asked.values():
        waiting = client.threads[asked.thread].waiting
        found["thread", asked.thread] = Guard(asked.address, _UNDER_WAY[type(waiting)][1])
    return found


def passed_about(client: Instance, now: Time, sender: str, kind: type[Message], about: Any, out: Outbox) -> None:
    """Messages of this kind were passed over, the last one came now. (Of other kinds nothing is kept.)"""
    if kind is LockBatchMqAnswer:
        for queue, process_queue in client.consumers[about].table.items():
            if client.master(queue.broker) == sender:
                process_queue.last_lock = now
    elif kind is PullAnswer:
        group, queue = about
        consumer = client.consumers[group]
        process_queue = consumer.table[queue]
        process_queue.last_pull = now
        # The new pull is the last one that was sent. (It has the old one's number: which it is does not matter.)
        of = group, queue, process_queue.number
        number = next(number for number, pulled in client.pulled.items() if pulled[:3] == of)
        client.pulled[number] = client.pulled.pop(number)
        timeout = consumer.settings.pulling.consumer_timeout_when_suspend_ms
        out.set_timer(("pull timeout", group, queue), now + timeout)


def round_passed(client: Instance, now: Time, timer: TimerName, begun: Time) -> None:
    """Rounds of an exchange were passed over; the last one began at ``begun`` and ended now."""
    if timer == rebalance_service.TIMER:
        client.service.last = now
        return
    what, *of = timer
    if what == "task of":
        client.task_due[of[0]] = begun + tasks.TASKS[of[0]].period(client.settings.instance)
