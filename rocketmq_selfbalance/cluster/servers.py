"""The servers of a cluster: its name server, its brokers, and what an administrator does to them; and the settings of a
variant, sorted by whom they concern (clients, brokers, the name server, the strategy).

Settings are written under RocketMQ's own names, times in milliseconds. ``version`` (``5.3``, ``4.5``) concerns
everybody: it chooses between what the releases 5.3.3 and 4.5.2 do (spec 12).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from protocols.engine.nodes import Message
from protocols.engine.simulation import Simulation
from protocols.errors import UserError
from protocols.java import Queue
from protocols.load import changed
from protocols.scenario import events
from protocols.scenario.events import Event
from protocols.scenario.jitter import IN_STEP, Beginning
from protocols.scenario.model import Scenario
from protocols.scenario.rates import Rates
from rocketmq_selfbalance import nameserver
from rocketmq_selfbalance.broker import Broker, BrokerNode, Disk
from rocketmq_selfbalance.broker import state as of_broker
from rocketmq_selfbalance.broker.connections import CLUSTER, period
from rocketmq_selfbalance.broker.state import BrokerSettings, SubscriptionGroupManager, TopicConfigManager
from rocketmq_selfbalance.broker.store import MessageStore, Produce, StopBroker, Write
from rocketmq_selfbalance.client import settings as of_client
from rocketmq_selfbalance.client.settings import ClientSettings
from rocketmq_selfbalance.codes import MASTER_ID
from rocketmq_selfbalance.messages.membership import DeleteTopicInBroker, ResetOffset, UpdateBrokerConfig, UpdateTopic
from rocketmq_selfbalance.messages.nameserver import DeleteTopicInNameServer, TopicConfig
from rocketmq_selfbalance.nameserver import NameServer, NameServerSettings
from rocketmq_selfbalance.registry import STRATEGIES

VERSION = of_client.VERSION

R = TypeVar("R", NameServerSettings, BrokerSettings)


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a variant sets. ``client``: as given, because members may set more; see `client_settings`."""

    name_server: NameServerSettings
    broker: BrokerSettings
    client: Mapping[str, object]
    strategy: Mapping[str, object]


def configuration(given: Mapping[str, object], where: str) -> Configuration:
    """Sort and check the settings of a variant. Raises `UserError`, naming ``where``, for what nobody knows."""
    version = of_client.version_of(given, where)
    strategy_settings = {setting: None for name in STRATEGIES for setting in STRATEGIES[name].settings}
    of_clients = (*of_client.REAL_NAMES, *of_client.ONLY_DEFAULT, VERSION)
    known = (of_clients, of_broker.REAL_NAMES, nameserver.REAL_NAMES, strategy_settings)
    for name in given:
        if not any(name in names for names in known):
            listed = ", ".join(sorted({each for names in known for each in names}))
            raise UserError(f"{where}: unknown setting {name!r} of RocketMQ, expected one of {listed}")
    found = Configuration(
        _changed(NameServerSettings(), nameserver.VERSIONS[version], nameserver.REAL_NAMES, given, where),
        _changed(BrokerSettings(), of_broker.VERSIONS[version], of_broker.REAL_NAMES, given, where),
        {name: value for name, value in given.items() if name in of_clients},
        {name: value for name, value in given.items() if name in strategy_settings},
    )
    client_settings(found, {}, where)
    return found


def client_settings(variant: Configuration, own: Mapping[str, object], where: str) -> ClientSettings:
    """The client settings of a member that sets some of its ``own``. Raises `UserError`, naming ``where``."""
    return of_client.with_settings(ClientSettings(), {**variant.client, **own}, where)


def _changed(
    base: R, of_version: Mapping[str, object], names: Mapping[str, str], given: Mapping[str, object], where: str
) -> R:
    changes: dict[str, object] = dict(of_version)
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


NAME_SERVER: Final = "namesrv"
"""Node name of the name server."""


class Servers:
    """Those of one variant. A broker that is down keeps its disk."""

    def __init__(self, scenario: Scenario, configuration: Configuration, simulation: Simulation) -> None:
        self._configuration, self._simulation = configuration, simulation
        self.topics: dict[str, dict[str, int]] = {topic: dict(part.queues) for topic, part in scenario.topics.items()}
        """Topic to its queues per broker, as the administrator set them last."""
        self._rates = Rates(scenario)
        self._uneven = bool(scenario.load.rates or scenario.load.keys)
        self.disks = {broker: self._disk(broker, scenario.load.produce) for broker in scenario.brokers}

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
        for broker, disk in self.disks.items():
            configs = disk.topics.to_register()
            name_server.table.register(now, CLUSTER, broker, MASTER_ID, broker, configs, disk.topics.version, broker)
        self._simulation.start(NAME_SERVER, name_server)
        for broker in self.disks:
            self._start_broker(broker, self._clocks(broker, beginning))

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
        """The broker of this name; None where it does not run. Not to be changed."""
        process = self._simulation.processes.get(name)
        return process.node.state if process is not None and isinstance(process.node, BrokerNode) else None

    def running(self) -> list[Broker]:
        return [broker for name in self.disks if (broker := self.broker(name)) is not None]

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
            for broker in self.disks:
                self._administer(broker, Produce(0, topic, per_second))

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
        for broker in self.disks:
            if broker in counts or before.get(broker):
                count = counts.get(broker, 0)
                if self._uneven:
                    self._administer(broker, self._production(topic, broker))
                self._administer(broker, UpdateTopic(0, TopicConfig(topic, count, count)))

    def delete_topic(self, event: events.DeleteTopic) -> None:
        self.topics.pop(event.delete_topic, None)
        self._rates.change(event.queue_changes())
        for broker in self.disks:
            self._administer(broker, DeleteTopicInBroker(0, event.delete_topic))
        self._simulation.command(NAME_SERVER, DeleteTopicInNameServer(0, event.delete_topic))

    def reset_offsets(self, event: events.Reset) -> None:
        """Every broker resets the offsets of its queues, in its own table or through the clients."""
        usual = self._configuration.broker.use_server_side_reset_offset
        for broker in self.disks:
            if event.via == "client":
                self._administer(broker, UpdateBrokerConfig(0, use_server_side_reset_offset=False))
            self._administer(broker, ResetOffset(0, event.reset_offsets, event.topic, event.to))
            if event.via == "client":
                self._administer(broker, UpdateBrokerConfig(0, use_server_side_reset_offset=usual))

    def _administer(self, broker: str, command: Message) -> None:
        """Tell a broker. One that is down is out of the administrator's reach, but finds topics changed when it
        returns."""
        if self._simulation.is_running(broker):
            self._simulation.command(broker, command)
        elif isinstance(command, UpdateTopic):
            self.disks[broker].topics.put(self._simulation.now, command.config)
        elif isinstance(command, DeleteTopicInBroker):
            self.disks[broker].topics.delete(self._simulation.now, command.topic)
            self.disks[broker].store.delete(command.topic)
        elif isinstance(command, Produce):
            self.disks[broker].store.set_rates(command)

    # Brokers.

    def _start_broker(self, name: str, settings: BrokerSettings) -> None:
        state = Broker(name, self.disks[name], settings, (NAME_SERVER,))
        self._simulation.start(name, BrokerNode(state))

    def change_broker(self, event: events.BrokerEvent) -> None:
        """A broker stops, is killed, or starts again with the disk that it had."""
        name = event.broker
        if event.does == "return":
            if not self._simulation.is_running(name):
                self._start_broker(name, self._configuration.broker)
        elif self._simulation.is_running(name):
            if event.does == "stop":
                self._simulation.command(name, StopBroker(0))
            self._simulation.end(name)
            self.disks[name].store.stop(self._simulation.now)
