"""A cluster before real clients, with all that is told of its groups: what `equipoise serve` and the fixtures start.

Why the same nodes as in a simulation stand behind the sockets: what a real client is answered is what the model
answers, so each library that joins here judges the model, and what a test sees here is what `compare` computes. Only
time and the network are other ones: the machine's clock, and connections that real clients open and close.
"""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from compare.catalogues import UNCOUNTED
from compare.serving.history import History
from compare.serving.service import Service
from protocols.engine.nodes import Observer
from protocols.engine.sockets import Sockets
from protocols.errors import UserError
from protocols.scenario.events import AddTopic, BrokerEvent, DeleteTopic, Event, Network, Queues
from protocols.scenario.model import Scenario

if TYPE_CHECKING:  # it needs the extra `serve`, which RocketMQ's brokers do without
    from compare.serving.recorded import Journal

PORTS: Mapping[str, int] = {"kafka": 9092, "rocketmq": 9876}
"""Where clients begin, if nobody says otherwise."""
PROXY_PORT = 8081
"""Where RocketMQ's clients of the 5.x line begin, if nobody says otherwise and the port is free."""

LOG = logging.getLogger("equipoise.serving")

_SERVED = (AddTopic, BrokerEvent, DeleteTopic, Queues)
"""Events that happen to any served cluster."""

_NOWHERE = ("", "0.0.0.0", "::", "[::]")
"""Addresses that stand for all of a machine: one listens on them, and nobody can connect to them from elsewhere."""


class Served:
    """``address`` is the line that says where clients begin; ``bootstrap`` that place alone. ``passed_over``: what the
    scenario says and nobody here can do."""

    def __init__(self, world: Sockets, service: Service, history: History, bootstrap: str) -> None:
        self.world, self.service, self.history, self.bootstrap = world, service, history, bootstrap
        what = "bootstrap" if service.system == "kafka" else "name server"
        self.address = f"{service.system}: {what} {bootstrap}"
        self.passed_over: list[str] = []
        self._applying: set[asyncio.Task[None]] = set()

    def schedule(self, scenario: Scenario) -> None:
        """Let the scenario's events happen at their times, those that can happen here."""
        reasons: dict[str, list[str]] = {}
        for event in scenario.events:
            why = _why_not(event)
            if why is None:
                self.world.at(event.at, partial(self._begin, event), event.describe())
            else:
                reasons.setdefault(why, []).append(event.describe())
        for why, events in reasons.items():
            share = f"{len(events)} of {len(scenario.events)} events"
            self.passed_over.append(f"{share} passed over ({why}): {', '.join(events)}")

    def _begin(self, event: Event) -> None:
        task = self.world.loop.create_task(self._happens(event))
        self._applying.add(task)
        task.add_done_callback(self._applying.discard)

    async def _happens(self, event: Event) -> None:
        try:
            await self.apply(event)
        except UserError as error:
            LOG.warning("%s: did not happen: %s", event.describe(), error)

    async def apply(self, event: Event) -> None:
        """The event, one of servers or topics, happens now. Raises `UserError` where it cannot."""
        now, service = self.world.tell_time(), self.service
        if isinstance(event, Network):
            self._cut(event)
        elif isinstance(event, BrokerEvent):
            await self._broker(event)
        elif isinstance(event, DeleteTopic):
            service.delete_topic(event.delete_topic)
        elif isinstance(event, AddTopic):
            for topic, part in event.add_topic.items():
                service.create_topic(topic, part.queues)
        elif isinstance(event, Queues):
            for topic, queues in event.queues.items():
                service.set_queues(topic, queues)
        if isinstance(event, Network | BrokerEvent):
            self.history.happened(event.model_copy(update={"at": now}))
        self.history.look(now)

    async def _broker(self, event: BrokerEvent) -> None:
        """Nothing happens to a broker that runs, or does not run, already, nor to other servers."""
        service, running = self.service, self.world.is_running(event.broker)
        if event.broker not in service.brokers:
            return
        if event.does == "return" and not running:
            await service.bring_back(event.broker)
        elif event.does == "stop" and running:
            service.stop(event.broker)
        elif event.does == "kill" and running:
            service.kill(event.broker)

    def _cut(self, event: Network) -> None:
        """The network of the brokers that the event names is cut for its time: of their clients nobody is told."""
        brokers = [name for name in event.between if name in self.service.brokers] or list(self.service.brokers)
        for name in brokers:
            self.world.set_cut(name, True)
            mend = partial(self.world.set_cut, name, False)
            self.world.at(self.world.now + event.for_, mend, f"network of {name} mended")


def _why_not(event: Event) -> str | None:
    """Why the event is passed over; None where it happens."""
    if event.members():
        return "members are real clients here"
    if isinstance(event, Network):
        return None if event.network == "cut" else "a network can only be cut here"
    if isinstance(event, BrokerEvent) and event.does == "freeze":
        return "a broker cannot freeze here"
    return None if isinstance(event, _SERVED) else "not served"


async def start(
    system: str,
    scenario: Scenario | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    settings: Mapping[str, object] = {},
    *,
    keeps_messages: bool = False,
    journal: "Journal | None" = None,
    seed: int | None = None,
    brokers: Sequence[str] | None = None,
    topics: Mapping[str, Mapping[str, int]] | None = None,
    advertised: str | None = None,
    observer: Observer | None = None,
    version: str | None = None,
) -> Served:
    """Start a cluster in the running event loop, with the scenario's brokers, topics and events.

    ``keeps_messages``: for a report; ``journal`` writes down what clients of Kafka say.
    ``brokers`` and ``topics`` (topic to queues per broker) take the place of the scenario's. ``settings`` of the
    brokers: under Kafka's own names; of RocketMQ, fields of `BrokerSettings`. ``advertised``: the host that clients are
    told instead of ``host``. ``observer``: hears what happens in place of the history, and of all messages.
    ``version``: None for the newest. Raises `UserError` where a port is taken, where clients would be told
    an address to which nobody can connect, or for a setting or a version that the system does not have.
    """
    _check_reachable(host, advertised)
    history = History(UNCOUNTED, keeps_messages=keeps_messages)
    tracing = keeps_messages or journal is not None or observer is not None
    world = Sockets(seed=seed, observer=observer or history, tracing=tracing)
    if topics is None:
        topics = {} if scenario is None else {topic: part.queues for topic, part in scenario.topics.items()}
    names = tuple(brokers or (scenario.brokers if scenario is not None else ()))
    first = PORTS[system] if port is None else port
    try:
        if system == "kafka":
            service, bootstrap = await _kafka(world, names, topics, settings, host, first, advertised, version)
        else:
            service, bootstrap = await _rocketmq(world, names, topics, settings, host, first, advertised, version)
    except OSError as error:
        await world.close()
        raise UserError(
            f"--port {first}: {error.strerror or error}, expected a free port of {host}, or 0 for any"
        ) from None
    except BaseException:
        await world.close()
        raise
    history.watch(service)
    if journal is not None and system == "kafka":
        try:
            journal.begins(service)
        except OSError as error:
            await world.close()
            raise UserError(f"--record {journal.path}: {error.strerror}, expected a writable file") from None
        history.listener = journal
    served = Served(world, service, history, bootstrap)
    if scenario is not None:
        served.schedule(scenario)
    return served


def _check_reachable(host: str, advertised: str | None) -> None:
    """As the real broker, which does not start when its advertised.listeners name such an address."""
    for option, given in (("--advertise", advertised), ("--host", None if advertised is not None else host)):
        if given in _NOWHERE:
            raise UserError(
                f"{option} {given}: clients cannot connect to this address, expected --advertise with the name or"
                " address under which they reach this machine"
            )


async def _kafka(
    world: Sockets,
    brokers: Sequence[str],
    topics: Mapping[str, Mapping[str, int]],
    settings: Mapping[str, object],
    host: str,
    port: int,
    advertised: str | None,
    version: str | None,
) -> tuple[Service, str]:
    from compare.serving.kafka import KafkaService
    from kafka_coordinator.cluster import VERSIONS
    from kafka_coordinator.wire import DEFAULT_BROKERS, ServedCluster

    counts = {topic: sum(queues.values()) for topic, queues in topics.items()}
    named = VERSIONS.newest if version is None else VERSIONS.named(version, "version")
    cluster = ServedCluster(world, brokers or DEFAULT_BROKERS, counts, settings, version=named)
    await cluster.start(host, port, advertised)
    return KafkaService(cluster), cluster.bootstrap


async def _rocketmq(
    world: Sockets,
    brokers: Sequence[str],
    topics: Mapping[str, Mapping[str, int]],
    settings: Mapping[str, Any],
    host: str,
    port: int,
    advertised: str | None,
    version: str | None,
) -> tuple[Service, str]:
    from compare.serving.rocketmq import RocketMQService
    from rocketmq_selfbalance.cluster import VERSIONS, BrokerSettings, NameServerSettings
    from rocketmq_selfbalance.wire import RocketMQCluster

    named = VERSIONS.newest if version is None else VERSIONS.named(version, "version")
    cluster = await RocketMQCluster.start(
        world,
        epoch_ms=time.time() * 1000,
        brokers=brokers or ("broker-a",),
        topics=topics,
        broker=replace(BrokerSettings.of(named), **settings),
        name_server=NameServerSettings.of(named),
        host=host,
        port=port,
        advertised=advertised,
    )
    try:
        await cluster.start_proxy(PROXY_PORT if port == PORTS["rocketmq"] else 0)
    except OSError:
        await cluster.start_proxy(0)
    return RocketMQService(cluster), cluster.name_server
