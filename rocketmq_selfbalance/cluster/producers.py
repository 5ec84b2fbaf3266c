"""The producers of a scenario while a broker is out: to which queues they write then, and what becomes of the rest.

They are no nodes. One client writes to each topic; it knows the topic's brokers as the name server told it at its last
poll (every ``pollNameServerInterval``), and what it sends to whom follows from that and from which brokers live
(`rocketmq_selfbalance.sending`). Each change is told as `protocols.facts.Writes` and `Resends`, what follows for whom
as `Stage`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import floor
from typing import Final, Literal, Protocol, TypeAlias

from protocols.engine.nodes import TICK, Time
from protocols.engine.simulation import Simulation
from protocols.facts import Resends, Stage, Writes
from protocols.java import Queue
from protocols.load import Production
from protocols.scenario.jitter import IN_STEP, Beginning
from rocketmq_selfbalance import sending
from rocketmq_selfbalance.codes import MASTER_ID
from rocketmq_selfbalance.nameserver import NameServer
from rocketmq_selfbalance.sending import ProducerSettings, Sends

Health: TypeAlias = Literal["lives", "dead", "frozen"]

FIRST_POLL_MS: Final = 10.0
"""After the start of a client."""


@dataclass(slots=True)
class Account:
    """Records of a topic since the first broker failed. What a frozen broker stores when it goes on had been refused
    (``late``), was written to another one as well (``twice``), or its producer still waits for it."""

    refused: float = 0.0
    retried: float = 0.0
    late: float = 0.0
    twice: float = 0.0
    silent_ms: Time = 0.0

    def goes_on(self, sends: Sends, seconds: float) -> None:
        self.refused += sum(sends.refused.values()) * seconds
        self.retried += sends.retried * seconds
        self.late += (sum(sends.waiting.values()) - sends.twice - sends.in_time) * seconds
        self.twice += sends.twice * seconds
        if seconds:
            self.silent_ms = max(self.silent_ms, min(sends.silent_ms, seconds * 1000))


@dataclass(slots=True)
class _Topic:
    known: dict[str, str]
    """Broker to the address of its master, as the producer knows it."""
    sends: Sends | None = None
    """None: as the load says."""
    since: Time = 0.0
    account: Account = field(default_factory=Account)
    told: Account = field(default_factory=Account)
    """The account as of the last stage."""
    told_writes: dict[Queue, Writes] = field(default_factory=dict)
    told_retried: float = 0.0
    late: dict[Queue, Production] = field(default_factory=dict)
    """What a frozen broker will store when it goes on."""


class Servers(Protocol):
    """What producers ask of the brokers: the address of each one's master now, how an address answers, and when a
    frozen one goes on."""

    masters: dict[str, str]

    def health(self, address: str) -> Health: ...

    def thaws(self, address: str) -> Time: ...


@dataclass(frozen=True, slots=True)
class World:
    """``load``: a topic's queues in the order of their list, with what each gets per second while all brokers live;
    ``write``: from now on the topic's queues get so much; ``store``: a queue gets so many records at once."""

    load: Callable[[str], Mapping[Queue, float]]
    write: Callable[[str, Mapping[Queue, float]], None]
    store: Callable[[Queue, int], None]


class Producers:
    """Those of one variant: they do nothing of their own before a broker fails."""

    def __init__(
        self,
        simulation: Simulation,
        world: World,
        settings: ProducerSettings,
        name_server: str,
        *,
        keyed: bool,
        keys: Mapping[str, str],
    ) -> None:
        """``keyed``: a record's key selects its queue, as it does in the topics of ``keys``, of which is known how
        often each key comes."""
        self._simulation, self._world, self.settings = simulation, world, settings
        self.replicas: Servers
        self._name_server, self._keyed, self._keys = name_server, keyed, keys
        self._beginning = IN_STEP
        self._topics: dict[str, _Topic] = {}
        self._polling: set[str] = set()

    def begin(self, beginning: Beginning) -> None:
        self._beginning = beginning

    def account(self, topic: str) -> Account:
        """What has become of the topic's records until now."""
        state = self._topics.get(topic)
        if state is None:
            return Account()
        found = replace(state.account)
        if state.sends is not None:
            found.goes_on(state.sends, (self._simulation.now - state.since) / 1000)
        return found

    def look(self, topics: Sequence[str], *, again: bool = False) -> None:
        """Brokers are no longer as they were, or the queues of these topics (``again``)."""
        for topic in topics:
            if sum(self._world.load(topic).values()) <= 0:
                continue
            if topic not in self._topics:
                on = {queue.broker for queue in self._world.load(topic)}
                known = {broker: address for broker, address in self.replicas.masters.items() if broker in on}
                self._topics[topic] = _Topic(known, since=self._simulation.now)
            if again:
                self._topics[topic].told_writes.clear()
            self._send(topic, again=again)
            if topic not in self._polling and not self._is_settled(topic):
                self._polling.add(topic)
                self._simulation.at(self._next_poll(topic), partial(self._poll, topic))

    def goes_on(self, broker: str, reads: bool) -> None:
        """The frozen broker goes on, and handles first what it was sent meanwhile; or it is gone with it, or is master
        no more (not ``reads``)."""
        for topic, state in self._topics.items():
            self._settle(topic)
            now = self._simulation.now
            # A whole number of them, but for the last digits of rate times time.
            kept = {queue: late.end_offset(now + TICK) for queue, late in state.late.items() if queue.broker == broker}
            for queue, count in kept.items():
                del state.late[queue]
                if reads and count:
                    self._world.store(queue, count)
            if reads and any(kept.values()):
                twice = round(state.account.twice - state.told.twice)
                late = round(state.account.late - state.told.late)
                in_time = sum(kept.values()) - twice - late
                self._observe(Resends(topic, state.told_retried, twice))
                stored = f"{broker} stores {sum(kept.values())} records of {topic} that were sent to it meanwhile"
                self._tell(
                    topic,
                    broker,
                    f"{stored}: {late} were refused, {twice} written elsewhere too, {in_time} are acknowledged now",
                    "sends to it wait for their time, and are then refused or tried elsewhere,",
                    f"sendMsgTimeout {self.settings.send_msg_timeout_ms:g} ms",
                )
                state.told = replace(state.account)

    def _next_poll(self, topic: str) -> Time:
        interval, now = self.settings.poll_name_server_interval_ms, self._simulation.now
        first = self._beginning.first(FIRST_POLL_MS, interval, "producer", topic)
        return first + max(0, floor((now - first) / interval) + 1) * interval

    def _poll(self, topic: str) -> None:
        state, process = self._topics[topic], self._simulation.processes.get(self._name_server)
        self._polling.discard(topic)
        if process is not None and isinstance(process.node, NameServer):
            route = process.node.route(topic)
            if route is not None:
                known = {data.broker: dict(data.addresses).get(MASTER_ID, "") for data in route.brokers}
                before, state.known = state.known, {broker: address for broker, address in known.items() if address}
                self._settle(topic)
                self._tell_learnt(topic, state, before)
        self.look([topic])

    def _tell_learnt(self, topic: str, state: _Topic, before: Mapping[str, str]) -> None:
        setting = f"pollNameServerInterval {self.settings.poll_name_server_interval_ms:g} ms"
        refused = round(state.account.refused - state.told.refused)
        retried = round(state.account.retried - state.told.retried)
        for broker in before:
            if state.known.get(broker) == before[broker]:
                continue
            harm = [
                *([f"{refused} records for its queues are refused"] if refused else []),
                *([f"{retried} sends are tried again on another broker"] if retried else []),
            ]
            what = "is gone" if broker not in state.known else "has a new master"
            learnt = f"the producers of {topic} learn that {broker} {what}"
            self._tell(topic, broker, learnt, " and ".join(harm), setting)
        for broker in state.known:
            if broker not in before:
                again = f"the producers of {topic} write to {broker} again"
                self._tell(topic, broker, again, "its queues get no records", setting)
        state.told = replace(state.account)

    def _tell(self, topic: str, server: str, what: str, until: str, setting: str) -> None:
        self._observe(Stage(server, what, until, setting, topic))

    def _observe(self, fact: Stage | Writes | Resends) -> None:
        simulation = self._simulation
        simulation.observer.fact(simulation.now, self._name_server, fact, simulation.root, simulation.handling)

    def _is_settled(self, topic: str) -> bool:
        """Whether the next poll tells the producers nothing new: they know every master that lives, and none that is
        gone. What a frozen one will be is open."""
        known, masters = self._topics[topic].known, self.replicas.masters
        brokers = {queue.broker: self.replicas.health(masters[queue.broker]) for queue in self._world.load(topic)}
        return all(
            (health == "dead" and broker not in known) or (health == "lives" and known.get(broker) == masters[broker])
            for broker, health in brokers.items()
        )

    def _settle(self, topic: str) -> None:
        """Count what was sent until now."""
        state, now = self._topics[topic], self._simulation.now
        if state.sends is not None:
            state.account.goes_on(state.sends, (now - state.since) / 1000)
        state.since = now

    def _send(self, topic: str, *, again: bool = False) -> None:
        """From now on the topic is written to as its producer and the brokers are now."""
        self._settle(topic)
        state, every = self._topics[topic], self._world.load(topic)
        state.sends = self._sends(topic, state, every)
        self._world.write(topic, state.sends.written)
        now = self._simulation.now
        if state.sends.retried != state.told_retried:
            state.told_retried = state.sends.retried
            self._observe(Resends(topic, state.told_retried))
        for queue in every:
            rate, late = state.sends.written.get(queue, 0.0), state.sends.waiting.get(queue, 0.0)
            before = state.late.get(queue, Production(0.0, now))
            if late != before.per_second:
                state.late[queue] = Production(late, now, before.end_offset(now))
            waits = late > 0 or self.replicas.health(state.known.get(queue.broker, "")) == "frozen"
            waits = waits or state.late.get(queue, before).end_offset(now) > 0
            refused = state.sends.refused.get(queue, 0.0)
            fact = Writes(queue, rate + late, waits, refused=refused, listed=queue.broker in state.known)
            if again or state.told_writes.get(queue, Writes(queue, every[queue])) != fact:
                state.told_writes[queue] = fact
                self._observe(fact)

    def _sends(self, topic: str, state: _Topic, every: Mapping[Queue, float]) -> Sends:
        health = {broker: self.replicas.health(address) for broker, address in state.known.items()}
        listed = [queue for queue in every if queue.broker in health]
        dead = frozenset(broker for broker in health if health[broker] == "dead")
        frozen = frozenset(broker for broker in health if health[broker] == "frozen")
        per_second = sum(every.values())
        its = self.settings
        thaws = min((self.replicas.thaws(state.known[broker]) for broker in frozen), default=0.0)
        lasts, seed = thaws - self._simulation.now, self._simulation.seed
        keys = self._keys.get(topic)
        if self._keyed or keys is not None:
            keyed = sending.by_key(every, listed, dead, keys)
            if frozen:
                return sending.beside_frozen(
                    listed, keyed.written, sum(keyed.written.values()), frozen, its, lasts, seed
                )
            return keyed
        if len(listed) == len(every) and not dead and not frozen:
            return Sends(every, {})
        if its.send_latency_fault_enable and (dead or frozen):
            living = [queue for queue in listed if queue.broker not in dead | frozen]
            if living:
                rates = {queue: per_second / len(living) for queue in living}
                met = next((queue for queue in listed if queue.broker in frozen), None)
                return sending.put_aside(rates, per_second, met, its)
        if frozen:
            reached = [queue for queue in listed if queue.broker not in dead]
            return sending.beside_frozen(reached, None, per_second, frozen, its, lasts, seed)
        found = sending.in_turn(listed, dead, per_second, 1 + its.retry_times_when_send_failed)
        # Queues of uneven load keep what is theirs; all share alike in what others do not get.
        if len(set(every.values())) > 1 and found.written:
            missing = per_second - sum(found.refused.values()) - sum(every[queue] for queue in found.written)
            share = missing / len(found.written)
            return found._replace(written={queue: every[queue] + share for queue in found.written})
        return found
