"""When a client is quiescent, and how it is moved on over rounds that were skipped.

Nothing happens at it then but its periodic tasks, passes that find what they found before, renewals of locks, and
pulls that brokers hold until their time is over. What a client believes is in the claims of its requests; brokers and
name servers know whether it is so (`broker`, `name_server`).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.java import Queue
from rocketmq_selfbalance.client import polling, rebalance_service, tasks
from rocketmq_selfbalance.client.consumer import PERIODIC, PUSH, Consumer, RebalanceService
from rocketmq_selfbalance.client.consuming_orderly import lock_thread, lock_timer, services
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.locks import by_broker
from rocketmq_selfbalance.client.node import Client
from rocketmq_selfbalance.client.requests import addresses_in_turn, consumer_data
from rocketmq_selfbalance.client.threads import AskMembers, LockQueues, RefreshRoute, TellBroker
from rocketmq_selfbalance.codes import BROADCASTING, CLUSTERING
from rocketmq_selfbalance.fast_forward import client_passes, contract
from rocketmq_selfbalance.fast_forward.broker import Beating
from rocketmq_selfbalance.fast_forward.client_passes import Passes
from rocketmq_selfbalance.messages.membership import ConsumerList, HeartBeat
from rocketmq_selfbalance.messages.nameserver import GetRouteInfo, RouteInfoAnswer
from rocketmq_selfbalance.messages.offsets import PullAnswer, PullMessage, UpdateConsumerOffset
from rocketmq_selfbalance.messages.requests import Answer, LockBatchMq, LockBatchMqAnswer
from rocketmq_selfbalance.states import BACKOFF, RUNNING, WAITING

_NOTHING = contract.Quiescence()
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


class ClientAdapter:
    """A client from outside."""

    def __init__(self, client: Client) -> None:
        self._client = client.instance
        self._passes = Passes(client.instance)
        self.judges: Mapping[type[Message], contract.Judgement] = {PullAnswer: self._judge}

    def quiescence(self, now: Time) -> contract.Quiescence | None:
        client = self._client
        if client.ended:
            return _NOTHING
        if _has_to_tell(client.service) or self._passes.are_refused:
            return None
        return None if self._is_about_to_tell() else self._quiescence(passes=True)

    def _is_about_to_tell(self) -> bool:
        return not _ABOUT_TO_BE_TOLD.isdisjoint(self._client.observed.life_of.values())

    def _quiescence(self, *, passes: bool) -> contract.Quiescence | None:
        """``passes``: the next ones find nothing new; else the next one is a disturbance."""
        client = self._client
        consumers = list(client.consumers.values())
        if not client.running or client.sent_back or not all(map(_waits, consumers)):
            return None
        pulls = {pulled[:3]: number for number, pulled in client.pulled.items()}
        under_way, flows = _under_way(client), _flows(client, consumers, pulls)
        if under_way is None or flows is None:
            return None
        commits, members = _commits(client, consumers), self._passes.calls()
        if commits is None or members is None:
            return None
        exchanges = (
            *_tasks(client, consumers, commits, under_way),
            *([_passes(client, members, under_way, vital=not self._passes.are_known)] if passes else ()),
            *_locks(client, consumers, under_way),
        )
        harmless = _harmless(exchanges)
        for consumer in consumers:
            for address, repeated in client_passes.repeated(client, consumer, pulls).items():
                harmless.setdefault((address, PullAnswer), {}).update(repeated)
        idle = [(name, consumer.group) for consumer in consumers for name in ("expired", "poll")]
        guarded = _guarded(client)
        # Timers of requests that were answered meanwhile: nothing comes of them.
        idle += [name for thread in client.watched if (name := ("thread", thread)) not in guarded]
        alone = bool(client.pulled) and all(map(_reads_alone, consumers))
        in_hand = max(map(_in_hand, consumers), default=0.0)
        return contract.Quiescence(
            exchanges, harmless, guarded, idle=idle, flows=flows, reads_alone=alone, in_hand=in_hand
        )

    def aside(self) -> contract.Quiescence | None:
        """Of a client that is not quiescent, but does nothing that concerns others beside its tasks, before its next
        pass or another of its timers is due, or a message comes. None where it may do more."""
        client, consumers = self._client, list(self._client.consumers.values())
        if client.service.in_pass or client.sent_back or not all(map(_reads_alone, consumers)):
            return None
        found = self._quiescence(passes=False)
        if found is not None:
            return found
        under_way, commits = _under_way(client), _commits(client, consumers)
        if not client.running or under_way is None or commits is None:
            return contract.Quiescence(reads_alone=True)
        exchanges = tuple(_tasks(client, consumers, commits, under_way))
        return contract.Quiescence(exchanges, _harmless(exchanges), _guarded(client), reads_alone=True)

    def replay_messages(self, now: Time, sender: str, kind: type[Message], about: Any, out: Outbox) -> None:
        client = self._client
        if kind is LockBatchMqAnswer:
            for queue, process_queue in client.consumers[about].table.items():
                if client.master(queue.broker) == sender:
                    process_queue.last_lock = now
        elif kind is PullAnswer:
            client_passes.replay_answer(client, now, about, out)

    def replay_round(self, now: Time, timer: TimerName, begun: Time, out: Outbox) -> None:
        client = self._client
        if timer == rebalance_service.TIMER:
            client.service.last = now
            return
        what, *of = timer
        if what == "task of":
            client.task_due[of[0]] = begun + tasks.TASKS[of[0]].period(client.settings.instance)

    def replay_reading(self, now: Time, stretch: contract.Stretch, out: contract.ReplayOutbox) -> None:
        """So far the client has come until now; it pulls anew, unless its pull is held. Flows of few records are told
        in several stretches, one after the other."""
        client_passes.replay_reading(self._client, now, stretch, out)

    def waits_for(self, pull: PullMessage) -> bool:
        """Whether the answer to this pull will tell anything."""
        pulled = self._client.pulled.get(pull.correlation)
        consumer = None if pulled is None else self._client.consumers.get(pulled.group)
        return pulled is not None and consumer is not None and consumer.current(*pulled[1:3]) is not None

    def _judge(self, now: Time, sender: str, message: PullAnswer) -> Any:
        return client_passes.judge(self._client, message)


def _has_to_tell(service: RebalanceService) -> bool:
    """Whether a pass is to come or under way of which something is told, even if it finds nothing."""
    under_way = service.in_pass and (service.trigger != PERIODIC or bool(service.told))
    return under_way or service.notified or bool(service.triggers)


def _waits(consumer: Consumer) -> bool:
    """Whether a consumer that holds what it is to hold has nothing else to do."""
    return (
        consumer.state == RUNNING
        and consumer.rebalancing.balanced
        and not (consumer.paused or consumer.leaving)
        and not any(each.dropped for each in consumer.table.values())
        and (consumer.kind == PUSH or not (consumer.pool.backlog or polling.would_keep(consumer)))
    )


def _reads_alone(consumer: Consumer) -> bool:
    """Whether pulls and the user's code have no effect but on this consumer: nothing is sent back, no lock is held."""
    pool = consumer.pool
    return (
        consumer.kind == PUSH
        and consumer.message_model == CLUSTERING
        and not (consumer.orderly or consumer.by_hand or pool.fails or pool.poison.known or pool.poison.copies)
    )


def _in_hand(consumer: Consumer) -> Time:
    """How long its threads handle what it has fetched, in milliseconds."""
    fetched = sum([process_queue.count for process_queue in consumer.table.values()])
    return fetched * consumer.handle / consumer.settings.consuming.consume_thread_max


def _tasks(
    client: Instance, consumers: list[Consumer], commits: tuple[contract.Call, ...], under_way: set[str]
) -> Iterator[contract.Exchange]:
    yield _task(client, "routes", _routes(client, consumers), under_way)
    data = sorted((consumer_data(consumer) for consumer in consumers), key=lambda consumer: consumer.group)
    beating = Beating(client.client_id, tuple(data))
    beats = tuple(contract.Call((at,), HeartBeat, Answer, claim=beating) for at in addresses_in_turn(client))
    yield _task(client, "heartbeat", beats, under_way)
    yield _task(client, "persist", commits, under_way)


def _passes(
    client: Instance, calls: tuple[contract.Call, ...], under_way: set[str], *, vital: bool
) -> contract.Exchange:
    return contract.Exchange(
        rebalance_service.TIMER,
        rebalance_service.between_passes(client.settings),
        calls,
        in_turn=True,
        after_end=True,
        thread=rebalance_service.THREAD,
        awaiting=rebalance_service.TIMER in under_way,
        within=client.settings.instance.mq_client_api_timeout_ms,
        vital=vital,
    )


def _harmless(exchanges: tuple[contract.Exchange, ...]) -> dict[tuple[str, type[Message]], Any]:
    kinds = dict.fromkeys((call.peers, call.answer) for exchange in exchanges for call in exchange.calls)
    return {(peer, answer): None for peers, answer in kinds if answer is not None for peer in peers}


def _flows(
    client: Instance, consumers: list[Consumer], pulls: Mapping[client_passes.PulledBy, int]
) -> list[contract.Flow] | None:
    """How queues are read as records come in; None where one of them does anything else than that and waiting."""
    found: list[contract.Flow] = []
    for consumer in consumers:
        flows = client_passes.flows(client, consumer, pulls)
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


def _task(client: Instance, name: str, calls: tuple[contract.Call, ...], under_way: set[str]) -> contract.Exchange:
    return contract.Exchange(
        ("task of", name),
        tasks.TASKS[name].period(client.settings.instance),
        calls,
        in_turn=name != "persist",
        thread=tasks.THREAD,
        awaiting=name in under_way,
        within=client.settings.instance.mq_client_api_timeout_ms,
    )


def _routes(client: Instance, consumers: list[Consumer]) -> tuple[contract.Call, ...]:
    server = client.name_servers[client.name_server]
    readers: dict[str, list[Consumer]] = {}
    for consumer in consumers:
        for topic in consumer.subscriptions:
            readers.setdefault(topic, []).append(consumer)
    claim = tuple(
        (topic, client.routes.get(topic) if all(topic in each.routes for each in reading) else None)
        for topic, reading in readers.items()
    )
    call = contract.Call((server,), GetRouteInfo, RouteInfoAnswer, claim=claim)
    return (call,) * len(readers)


def _commits(client: Instance, consumers: list[Consumer]) -> tuple[contract.Call, ...] | None:
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
    told = {
        address: contract.Call((address,), UpdateConsumerOffset, None, claim=claim) for address, claim in claims.items()
    }
    return tuple([told[address] for address in sent])


def _locks(client: Instance, consumers: list[Consumer], under_way: set[str]) -> Iterator[contract.Exchange]:
    for consumer in [consumer for consumer in consumers if consumer.locks]:
        calls = []
        for queues in by_broker(consumer.holds()):
            address = client.master(queues[0].broker) or ""
            calls.append(contract.Call((address,), LockBatchMq, LockBatchMqAnswer, claim=tuple(sorted(queues))))
        for service in services(consumer):
            yield contract.Exchange(
                lock_timer(consumer.group, service),
                consumer.settings.ordered.lock_interval_ms,
                tuple(calls),
                in_turn=True,
                thread=lock_thread(consumer.group, service),
                awaiting="lock" in under_way,
                within=consumer.settings.instance.lock_timeout_ms,
                about=consumer.group,
            )


def _guarded(client: Instance) -> dict[TimerName, contract.Guard]:
    found: dict[TimerName, contract.Guard] = {}
    for pulled in client.pulled.values():
        timeout = client.consumers[pulled.group].settings.pulling.consumer_timeout_when_suspend_ms
        found["pull timeout", pulled.group, pulled.queue] = contract.Guard(pulled.address, PullAnswer, timeout)
    for asked in client.asked.values():
        waiting = client.threads[asked.thread].waiting
        found["thread", asked.thread] = contract.Guard(asked.address, _UNDER_WAY[type(waiting)][1])
    return found
