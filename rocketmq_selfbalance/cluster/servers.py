"""The servers of a cluster: its name server, its brokers, and what an administrator does to them; and the settings of a
variant, sorted by whom they concern (clients, brokers, the name server, the strategy).

Settings are written under RocketMQ's own names, times in milliseconds. ``version``, one of
`rocketmq_selfbalance.versions`, concerns everybody; a member may have another one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from protocols.engine.nodes import Message
from protocols.engine.simulation import Simulation
from protocols.errors import UserError
from protocols.java import Queue, sorted_as_java
from protocols.load import changed
from protocols.scenario import events
from protocols.scenario.events import Event
from protocols.scenario.jitter import IN_STEP, Beginning
from protocols.scenario.keys import BY_HASH_CODE
from protocols.scenario.model import Scenario
from protocols.scenario.rates import Rates
from rocketmq_selfbalance import nameserver
from rocketmq_selfbalance.broker import Broker, Disk
from rocketmq_selfbalance.broker import state as of_broker
from rocketmq_selfbalance.broker.connections import CLUSTER, period
from rocketmq_selfbalance.broker.state import GHOST, BrokerSettings, SubscriptionGroupManager, TopicConfigManager
from rocketmq_selfbalance.broker.store import MessageStore, Produce, Write
from rocketmq_selfbalance.client import settings as of_client
from rocketmq_selfbalance.client.settings import ClientSettings
from rocketmq_selfbalance.cluster.outages import NAME_SERVER, Replicas
from rocketmq_selfbalance.cluster.producers import Producers, World
from rocketmq_selfbalance.messages.membership import DeleteTopicInBroker, ResetOffset, UpdateBrokerConfig, UpdateTopic
from rocketmq_selfbalance.messages.nameserver import DeleteTopicInNameServer, TopicConfig
from rocketmq_selfbalance.nameserver import NameServer, NameServerSettings
from rocketmq_selfbalance.registry import STRATEGIES
from rocketmq_selfbalance.sending import POLL_INTERVAL, producer_settings
from rocketmq_selfbalance.versions import DEFAULT, VERSIONS

VERSION = of_client.VERSION

R = TypeVar("R", NameServerSettings, BrokerSettings)


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a variant sets. ``client``: as given, because members may set more; see `client_settings`."""

    name_server: NameServerSettings
    broker: BrokerSettings
    client: Mapping[str, object]
    strategy: Mapping[str, object]


def configuration(given: Mapping[str, object], where: str, version: str = DEFAULT.name) -> Configuration:
    """Sort and check the settings of a variant; ``version`` holds unless it sets another one.

    Raises `UserError`, naming ``where``, for what nobody knows.
    """
    given = {VERSION: version, **given}
    named = VERSIONS.named(given[VERSION], f"{where}: {VERSION}")
    strategy_settings = {setting: None for name in STRATEGIES for setting in STRATEGIES[name].settings}
    of_clients = (*of_client.REAL_NAMES, *of_client.ONLY_DEFAULT, VERSION)
    known = (of_clients, of_broker.REAL_NAMES, nameserver.REAL_NAMES, strategy_settings)
    for name in given:
        if not any(name in names for names in known):
            listed = ", ".join(sorted({each for names in known for each in names}))
            raise UserError(f"{where}: unknown setting {name!r} of RocketMQ, expected one of {listed}")
    found = Configuration(
        _changed(NameServerSettings.of(named), nameserver.REAL_NAMES, given, where),
        _changed(BrokerSettings.of(named), of_broker.REAL_NAMES, given, where),
        {name: value for name, value in given.items() if name in of_clients},
        {name: value for name, value in given.items() if name in strategy_settings},
    )
    client_settings(found, {}, where)
    return found


def client_settings(variant: Configuration, own: Mapping[str, object], where: str) -> ClientSettings:
    """The client settings of a member that sets some of its ``own``. Raises `UserError`, naming ``where``."""
    return of_client.with_settings(ClientSettings(), {**variant.client, **own}, where)


def _changed(base: R, names: Mapping[str, str], given: Mapping[str, object], where: str) -> R:
    changes: dict[str, object] = {}
    for name, value in given.items():
        if name in names:
            changes[names[name]] = _checked(name, value, getattr(base, names[name]), where)
    return changed(base, changes)


def _checked(name: str, value: object, default: object, where: str) -> object:
    """The value, of the default's kind. Whole numbers are milliseconds but where the default is a count."""
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else 0
    match default:
        case bool():
            right, expected = isinstance(value, bool), "true or false"
        case int():
            right, expected = isinstance(number, int) and number > 0, "a whole number, 1 or more"
        case _:
            right, expected = number > 0, "milliseconds, more than 0"
    if not right:
        raise UserError(f"{where}: {name} is {value!r}, expected {expected}")
    return float(number) if isinstance(default, float) else value


def _of_every_client(configuration: Configuration) -> dict[str, object]:
    """What a variant sets of RocketMQ's ClientConfig: its producers have it, too."""
    return {name: value for name, value in configuration.client.items() if name == POLL_INTERVAL}


class Servers:
    """Those of one variant. A broker that is down keeps its disk."""

    def __init__(self, scenario: Scenario, configuration: Configuration, simulation: Simulation) -> None:
        self._configuration, self._simulation = configuration, simulation
        self.topics: dict[str, dict[str, int]] = {topic: dict(part.queues) for topic, part in scenario.topics.items()}
        """Topic to its queues per broker, as the administrator set them last."""
        self._rates = Rates(scenario, BY_HASH_CODE)
        self._uneven = bool(scenario.load.rates or scenario.load.keys)
        self._produced: dict[str, float] = {}
        """Topic to what was said last of its queues' load, where that is not the scenario's."""
        self.producers = Producers(
            simulation,
            World(self._load, self._write_rates, self._store_late),
            producer_settings({**_of_every_client(configuration), **scenario.load.producer}),
            NAME_SERVER,
            keyed=scenario.load.selector == "key",
            keys=scenario.load.keys,
        )
        self.replicas = Replicas(scenario, simulation, configuration.broker, self._look, self.producers.goes_on)
        self.producers.replicas = self.replicas
        self.disks = self.replicas.disks
        for address, broker in self.replicas.brokers.items():
            disk = self._disk(broker, scenario.load.produce)
            self.disks[address] = disk if address == broker else replace(disk, store=self.disks[broker].store)

    def _disk(self, broker: str, produce: float) -> Disk:
        configs = [
            TopicConfig(topic, counts[broker], counts[broker])
            for topic, counts in self.topics.items()
            if broker in counts
        ]
        groups = SubscriptionGroupManager(auto_create=self._configuration.broker.auto_create_subscription_group)
        store = MessageStore(produce)
        for topic in self.topics if self._uneven else ():
            store.set_rates(self._production(topic, broker))
        return Disk(TopicConfigManager(self._simulation.now, configs), groups, store)

    def _production(self, topic: str, broker: str) -> Produce:
        return Produce(0, topic, self._rates.usual(topic), tuple(enumerate(self._rates.at(topic, broker))))

    def start(self, beginning: Beginning = IN_STEP) -> None:
        """Name server and brokers start. They begin as a cluster that has run for long: the name server knows the
        brokers and their topics already, and ``beginning`` says where in their periods the clocks are."""
        now, settings = self._simulation.now, self._configuration.name_server
        scan = beginning.first(settings.scan_first_ms, settings.scan_not_active_broker_interval_ms, NAME_SERVER, "scan")
        name_server = NameServer(replace(settings, scan_first_ms=scan))
        self.producers.begin(beginning)
        for address, disk in self.disks.items():
            broker, configs, version = self.replicas.brokers[address], disk.topics.to_register(), disk.topics.version
            name_server.table.register(
                now, CLUSTER, broker, self.replicas.id(address), address, configs, version, address
            )
        self._simulation.start(NAME_SERVER, name_server)
        for address in self.disks:
            self.replicas.start(address, self._clocks(address, beginning))

    def _clocks(self, broker: str, beginning: Beginning) -> BrokerSettings:
        its = self._configuration.broker
        notify = its.collected_notify_interval_ms
        return replace(
            its,
            register_first_ms=beginning.first(its.register_first_ms, period(its), broker, "register"),
            scan_channels_first_ms=beginning.first(
                its.scan_channels_first_ms, its.scan_channels_interval_ms, broker, "scan"
            ),
            flush_first_ms=beginning.first(its.flush_first_ms, its.flush_consumer_offset_interval_ms, broker, "flush"),
            collected_notify_first_ms=beginning.first(its.collected_notify_first_ms, notify, broker, "notify"),
        )

    def broker(self, name: str) -> Broker | None:
        """The master of this name, or the replica at this address; None where it does not run. Not to be changed."""
        return self.replicas.broker(name)

    def registered(self, group: str) -> set[str]:
        """The nodes of the clients whom some running broker counts in the group."""
        tables = [each.consumers.groups.get(group) for each in self.replicas.running()]
        return {channel for table in tables if table is not None for channel in table.channels if GHOST not in channel}

    def queue(self, topic: str, broker: str, number: int) -> Queue:
        """A queue by its number at a broker, or by its number over all brokers in the order written."""
        for key, count in self.topics[topic].items():
            if broker in ("", key):
                if number < count or broker:
                    return Queue(topic, key, number)
                number -= count
        raise ValueError(f"topic {topic} has no queue {number}")

    def produce(self, topics: Iterable[str], per_second: float) -> None:
        """From now on producers write so many records per second to each queue of these topics."""
        for topic in topics:
            self._produced[topic] = per_second
            for broker in self.replicas.masters:
                self._administer(broker, Produce(0, topic, per_second))
        self._look()

    # Records, topics and offsets.

    def next_record(self, event: events.Poison) -> tuple[Queue, int | None]:
        """Queue and offset of the record that is about to be written; no offset where its broker is down."""
        ((topic, broker, number, _),) = event.written(self.topics)
        queue = self.queue(topic, broker, number)
        if not self._simulation.is_running(queue.broker):
            return queue, None
        return queue, self.disks[queue.broker].store.max_offset(topic, queue.number, self._simulation.now)

    def write(self, event: Event) -> None:
        for topic, broker, number, count in event.written(self.topics):
            queue = self.queue(topic, broker, number)
            self._administer(queue.broker, Write(0, topic, queue.number, count))

    def set_queues(self, event: events.Queues) -> None:
        for topic, counts in event.queues.items():
            self._put_topic(topic, counts)

    def add_topic(self, event: events.AddTopic) -> None:
        for topic, part in event.add_topic.items():
            self._put_topic(topic, part.queues)

    def _put_topic(self, topic: str, counts: Mapping[str, int]) -> None:
        """Brokers that had queues of the topic and are not named have none any more."""
        before = self.topics.get(topic, {})
        self.topics[topic] = dict(counts)
        self._rates.change({topic: counts})
        for broker in self.replicas.masters:
            if broker in counts or before.get(broker):
                count = counts.get(broker, 0)
                if self._uneven:
                    self._administer(broker, self._production(topic, broker))
                self._administer(broker, UpdateTopic(0, TopicConfig(topic, count, count)))
        self._look(again=True)

    def delete_topic(self, event: events.DeleteTopic) -> None:
        self.topics.pop(event.delete_topic, None)
        self._rates.change(event.queue_changes())
        for broker in self.replicas.masters:
            self._administer(broker, DeleteTopicInBroker(0, event.delete_topic))
        self._simulation.command(NAME_SERVER, DeleteTopicInNameServer(0, event.delete_topic))

    def reset_offsets(self, event: events.Reset) -> None:
        """Every broker resets the offsets of its queues, in its own table or through the clients."""
        usual = self._configuration.broker.use_server_side_reset_offset
        for broker in self.replicas.masters:
            if event.via == "client":
                self._administer(broker, UpdateBrokerConfig(0, use_server_side_reset_offset=False))
            self._administer(broker, ResetOffset(0, event.reset_offsets, event.topic, event.to))
            if event.via == "client":
                self._administer(broker, UpdateBrokerConfig(0, use_server_side_reset_offset=usual))

    def _administer(self, broker: str, command: Message) -> None:
        """Tell a broker. A replica that is down is out of the administrator's reach, but finds topics changed when it
        returns; what concerns records or offsets is the master's alone."""
        for address in self.replicas.of(broker):
            process = self._simulation.processes.get(address)
            if process is not None and not (process.hung and isinstance(command, Produce)):
                if address == self.replicas.masters[broker] or not isinstance(command, ResetOffset | Write):
                    self._simulation.command(address, command)
            elif isinstance(command, UpdateTopic):
                self.disks[address].topics.put(self._simulation.now, command.config)
            elif isinstance(command, DeleteTopicInBroker):
                self.disks[address].topics.delete(self._simulation.now, command.topic)
                self.disks[address].store.delete(command.topic)
            elif isinstance(command, Produce):
                self.disks[address].store.set_rates(command)

    # What producers ask.

    def _load(self, topic: str) -> Mapping[Queue, float]:
        given = self._produced.get(topic)
        return {
            Queue(topic, broker, number): rate if given is None else given
            for broker in sorted_as_java(self.topics.get(topic, {}))
            for number, rate in enumerate(self._rates.at(topic, broker)[: self.topics[topic][broker]])
        }

    def _write_rates(self, topic: str, rates: Mapping[Queue, float]) -> None:
        for broker, count in self.topics[topic].items():
            queues = tuple((number, rates.get(Queue(topic, broker, number), 0.0)) for number in range(count))
            self._administer(broker, Produce(0, topic, 0.0, queues))

    def _store_late(self, queue: Queue, records: int) -> None:
        self._administer(queue.broker, Write(0, queue.topic, queue.number, records))

    def _look(self, *, again: bool = False) -> None:
        """The producers of a run in which a broker has failed look where to write."""
        if self.replicas.has_failed:
            self.producers.look(list(self.topics), again=again)
