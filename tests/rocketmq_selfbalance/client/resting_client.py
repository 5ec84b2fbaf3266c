"""A client that does what a RocketMQ client at rest does, no more, and can tell when it is at rest."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from protocols import Queue
from protocols.engine.fast_forward.adapters import Judgement
from protocols.engine.fast_forward.contract import Call, Exchange, Quiescence, Renewal
from protocols.engine.nodes import Message, Outbox, Time, TimerName
from rocketmq_selfbalance.codes import CLUSTERING, CONSUME_FROM_LAST_OFFSET, CONSUME_PASSIVELY, PULL_NOT_FOUND
from rocketmq_selfbalance.fast_forward.broker import Beating
from rocketmq_selfbalance.messages.membership import (
    ConsumerData,
    ConsumerList,
    GetConsumerListByGroup,
    HeartBeat,
    NotifyConsumerIdsChanged,
    Subscription,
)
from rocketmq_selfbalance.messages.nameserver import GetRouteInfo, Route, RouteInfoAnswer
from rocketmq_selfbalance.messages.offsets import PullAnswer, PullMessage, UpdateConsumerOffset
from rocketmq_selfbalance.messages.requests import Answer, LockBatchMq, LockBatchMqAnswer

BEAT_MS, ROUTE_MS, PASS_MS, PERSIST_MS, HOLD_MS, LOCK_MS = 3000.0, 3100.0, 2000.0, 500.0, 1500.0, 2100.0
SERVERS = {"namesrv": "namesrv", "a": "broker-a", "b": "broker-b"}
BROKERS = ("broker-a", "broker-b")


class Told(NamedTuple):
    text: str
    value: Any


class RestingClient:
    """A consumer of group ``g`` and topic T, who owns one queue of each broker."""

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.queues = {broker: Queue("T", broker, number) for broker in BROKERS}
        self.data: tuple[ConsumerData, ...] = ()
        self.answered: dict[str, int] = {}
        """Broker to how many heartbeats it has answered."""
        self.commits: dict[str, int] = {}
        """Broker to how many commits it was sent."""
        self.pulled: dict[str, PullMessage] = {}
        """Broker to the pull that is there."""
        self.locked: dict[str, bool] = {}
        self.members: dict[str, tuple[str, ...]] = {}
        self.route: Route | None = None
        self.waiting = {"beat": 0, "route": 0, "pass": 0, "lock": 0}
        self.number = 0

    def start(self, now: Time, out: Outbox) -> None:
        mine = (Subscription("T", "*", now),)
        self.data = (ConsumerData("g", CONSUME_PASSIVELY, CLUSTERING, CONSUME_FROM_LAST_OFFSET, mine),)
        for delay, timer in enumerate(
            ("route", "beat", "pass", "persist", "pull broker-a", "pull broker-b", "lock"), 1
        ):
            out.set_timer(timer, now + delay * 10)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        self.number += 1
        match timer.partition(" "):
            case ("route", _, _):
                out.set_timer(timer, now + ROUTE_MS)
                self.waiting["route"] = 1
                out.send("namesrv", GetRouteInfo(self.number, "T"))
            case ("beat", _, _):
                out.set_timer(timer, now + BEAT_MS)
                self.waiting["beat"] = 2
                for broker in BROKERS:
                    out.send(broker, HeartBeat(self.number, self.name, self.data))
            case ("pass", _, _):
                out.set_timer(timer, now + PASS_MS)
                self.waiting["pass"] = 1
                out.send(out.choose("broker", BROKERS), GetConsumerListByGroup(self.number, "g"))
            case ("persist", _, _):
                out.set_timer(timer, now + PERSIST_MS)
                for broker in BROKERS:
                    self.commits[broker] = self.commits.get(broker, 0) + 1
                    out.send(broker, UpdateConsumerOffset(self.number, "g", self.queues[broker], 7))
            case ("lock", _, _):
                out.set_timer(timer, now + LOCK_MS)
                self.waiting["lock"] = 2
                for broker in BROKERS:
                    out.send(broker, LockBatchMq(self.number, "g", self.name, (self.queues[broker],)))
            case ("pull", _, broker):
                self._pull(broker, out)

    def _pull(self, broker: str, out: Outbox) -> None:
        self.number += 1
        pull = PullMessage(self.number, "g", self.queues[broker], 0, suspend_ms=HOLD_MS, commit_offset=7)
        self.pulled[broker] = pull
        out.send(broker, pull)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        match message:
            case RouteInfoAnswer(_, _, route):
                self.waiting["route"] = 0
                if route not in (None, self.route):
                    out.observe(Told("route", route))
                    self.route = route
            case Answer():
                self.waiting["beat"] -= 1
                self.answered[sender] = self.answered.get(sender, 0) + 1
            case ConsumerList(_, _, ids):
                self.waiting["pass"] = 0
                listed = tuple(sorted(ids))
                if self.members.get(sender) != listed:
                    out.observe(Told(f"members at {sender}", listed))
                self.members[sender] = listed
            case LockBatchMqAnswer(_, _, locked):
                self.waiting["lock"] -= 1
                self.locked[sender] = bool(locked)
            case PullAnswer():
                pull = self.pulled.get(sender)
                if pull is not None and pull.correlation == message.correlation:
                    del self.pulled[sender]
                    if message.code == PULL_NOT_FOUND:
                        self._pull(sender, out)
                    else:
                        out.observe(Told(f"pull at {sender}", message.code))
                        out.set_timer(f"pull {sender}", now + HOLD_MS)
            case NotifyConsumerIdsChanged():
                out.observe(Told(f"notice of {sender}", None))

    def connected(self, now: Time, peer: str, out: Outbox) -> None: ...

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        out.observe(Told("closed", peer))
        tables: list[dict[str, Any]] = [self.answered, self.commits, self.pulled, self.locked, self.members]
        for table in tables:
            table.pop(peer, None)
        if peer in BROKERS:
            out.set_timer(f"pull {peer}", now + HOLD_MS)


class RestingAdapter:
    """Knows such a client from outside."""

    reader = source = None

    def __init__(self, client: RestingClient) -> None:
        self.client = client
        self.judges: Mapping[type[Message], Judgement] = {PullAnswer: self._judge}

    def quiescence(self, now: Time) -> Quiescence | None:
        client = self.client
        everybody = all(broker in table for broker in BROKERS for table in (client.answered, client.members))
        if not everybody or client.route is None or not all(client.locked.values()):
            return None
        if (
            len(set(client.members.values())) != 1
            or len(client.locked) != 2
            or min(client.commits.values(), default=0) < 1
        ):
            return None
        beats = Beating(client.name, client.data)
        beat = [Call((each,), HeartBeat, Answer, claim=beats) for each in BROKERS]
        ask = Call(BROKERS, GetConsumerListByGroup, ConsumerList, label="broker", claim=self._would_repeat)
        commit = [Call((each,), UpdateConsumerOffset, None, claim={("g", client.queues[each]): 7}) for each in BROKERS]
        lock = [Call((each,), LockBatchMq, LockBatchMqAnswer, claim=(client.queues[each],)) for each in BROKERS]
        route = Call(("namesrv",), GetRouteInfo, RouteInfoAnswer, claim=(("T", client.route),))
        awaiting = {timer: count > 0 for timer, count in client.waiting.items()}
        exchanges = (
            Exchange("route", ROUTE_MS, (route,), awaiting=awaiting["route"]),
            Exchange("beat", BEAT_MS, tuple(beat), awaiting=awaiting["beat"]),
            Exchange("pass", PASS_MS, (ask,), awaiting=awaiting["pass"]),
            Exchange("persist", PERSIST_MS, tuple(commit)),
            Exchange("lock", LOCK_MS, tuple(lock), awaiting=awaiting["lock"], about="g"),
        )
        answers = (Answer, ConsumerList, LockBatchMqAnswer)
        harmless: dict[tuple[str, type[Message]], Any] = {(each, kind): None for each in BROKERS for kind in answers}
        for broker, pull in client.pulled.items():
            harmless[broker, PullAnswer] = {("g", pull.queue): pull}
        return Quiescence(exchanges, {**harmless, ("namesrv", RouteInfoAnswer): None})

    def _would_repeat(self, lists: Mapping[str, tuple[str, ...]]) -> bool:
        return lists.get("g") == self.client.members["broker-a"]

    def _judge(self, now: Time, sender: str, message: PullAnswer) -> Renewal | None:
        return Renewal(PullAnswer, 0.0, HOLD_MS) if message.code == PULL_NOT_FOUND else None

    def replay_messages(self, now: Time, sender: str, kind: type[Message], about: Any, out: Outbox) -> None: ...

    def replay_round(self, now: Time, timer: TimerName, begun: Time, out: Outbox) -> None: ...
