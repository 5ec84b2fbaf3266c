"""The variant ``rocketmq:POP`` of a scenario: the servers of `rocketmq_selfbalance.cluster`, and clients that own no
queues: push and simple consumers of the 5.x line, with a proxy before the brokers, and classic push consumers whose
queues a broker computes.

Each member is a process of its own. Settings: those of brokers and name server, and
`rocketmq_selfbalance.popping.settings`.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Final, TypeAlias

from protocols.engine.simulation import Simulation
from protocols.errors import UserError
from protocols.scenario import events
from protocols.scenario.events import BrokerEvent, Event, Join, Restart
from protocols.scenario.events.members import started_as
from protocols.scenario.fields import MemberPart
from protocols.scenario.jitter import IN_STEP, Beginning
from protocols.scenario.model import Scenario, SystemPart, split_system
from protocols.scenario.scaling import Backlog
from protocols.scenario.topology import MemberKey, Topology, listed_members
from protocols.scenario.world import Own, apply_event, end_process, start_later
from rocketmq_selfbalance import frame_sizes, nameserver
from rocketmq_selfbalance.broker import state as of_broker
from rocketmq_selfbalance.catalogue import POP
from rocketmq_selfbalance.client import commands
from rocketmq_selfbalance.client import settings as of_client
from rocketmq_selfbalance.client.node import Client
from rocketmq_selfbalance.client.settings import ClientSettings
from rocketmq_selfbalance.cluster.cluster import RocketMQCluster
from rocketmq_selfbalance.cluster.outages import NAME_SERVER
from rocketmq_selfbalance.cluster.scenario_cluster import LOOK_AGAIN_MS, OWN, ScenarioCluster
from rocketmq_selfbalance.cluster.servers import VERSION, Servers, configuration
from rocketmq_selfbalance.pop import Mode
from rocketmq_selfbalance.popping import frame_sizes as of_pop
from rocketmq_selfbalance.popping.client import PopConfig, ProxyClient
from rocketmq_selfbalance.popping.consumer import PushConsumer
from rocketmq_selfbalance.popping.proxy import PROXY, ProxyNode
from rocketmq_selfbalance.popping.settings import (
    CLASSIC,
    CLASSIC_NAMES,
    CLIENT,
    OF_MEMBERS,
    POOLS,
    PUSH,
    SETTINGS,
    PopSettings,
    clients_of,
    with_settings,
)
from rocketmq_selfbalance.popping.simple import SimpleConsumer
from rocketmq_selfbalance.strategies import Averagely
from rocketmq_selfbalance.versions import DEFAULT, VERSIONS

Consuming: TypeAlias = ProxyClient | Client
"""A member's client."""


def _of(given: Mapping[str, object], names: Collection[str]) -> dict[str, object]:
    return {name: value for name, value in given.items() if name in names}


_OF_SERVERS: Final = frozenset((*of_broker.REAL_NAMES, *nameserver.REAL_NAMES, VERSION))


_EXPIRES_MS: Final = 120_000.0
"""After so long a frozen broker is taken for gone (``brokerExpiredTimeout``), and its slave is asked."""


def _check_slaves(scenario: Scenario) -> None:
    """Raises `UserError` where a slave would give out records: its offsets are those of a few seconds before, and what
    its master had given and what was acknowledged there is not modelled at a slave."""
    failures = [each for each in scenario.events if isinstance(each, BrokerEvent) and each.broker in scenario.brokers]
    for event in failures if scenario.slaves else ():
        if event.does in ("kill", "stop") or (event.does == "freeze" and event.lasts() >= _EXPIRES_MS):
            raise UserError(
                f"replication.rocketmq is {scenario.replication['rocketmq']}: what a slave gives out under POP while"
                f" {event.broker} is away is not modelled, expected it to be left out"
            )


class PopCluster(ScenarioCluster):
    """See `protocols.scenario.cluster_states.Cluster`. Raises `UserError` for what POP does not have."""

    def __init__(self, scenario: Scenario, system: SystemPart, simulation: Simulation) -> None:
        where = system.label or system.system
        version = VERSIONS.named(scenario.versions.get("rocketmq", DEFAULT.name), "versions: rocketmq")
        given = system.settings
        for name in given:
            if name not in _OF_SERVERS and not clients_of(name):
                expected = ", ".join(sorted({*SETTINGS, *CLASSIC_NAMES, *_OF_SERVERS}))
                raise UserError(f"{where}: {name!r} is no setting of rocketmq:{POP}, expected one of {expected}")
        self.settings = with_settings(PopSettings(), _of(given, SETTINGS), where)
        self.classic = of_client.with_settings(
            ClientSettings(client_rebalance=False, version=version), _of(given, CLASSIC_NAMES), where, CLASSIC_NAMES
        )
        _check_slaves(scenario)
        of_servers = {name: given[name] for name in given if name in _OF_SERVERS}
        servers = Servers(scenario, configuration(of_servers, where, version.name), simulation)
        super().__init__(scenario, simulation, Topology.of(scenario, one_node_per_member=True), servers)
        self.parts = listed_members(scenario)
        kinds = {self._checked(key, part) for key, part in self.parts.items()}
        now = dict(self.parts)
        for event in scenario.events:
            if isinstance(event, Join | Restart):
                key = self.topology.starting(event)
                now[key] = started_as(now.get(key), event)
                kinds.add(self._checked(key, now[key]))
        for name in given:
            meant = clients_of(name)
            if meant and kinds and not kinds.intersection(meant):
                listed = " and ".join(sorted(kinds))
                raise UserError(
                    f"{where}: {name} concerns {' and '.join(meant)}, and no member is one: their {CLIENT} is {listed}"
                )
        for disk in servers.disks.values():
            disk.request_modes.default = Mode(POP, self.settings.share)

    def start(self, beginning: Beginning = IN_STEP) -> None:
        """The servers with the proxy, then the members in the order written."""
        self.servers.start(beginning)
        self.simulation.start(PROXY, ProxyNode(self.settings, NAME_SERVER))
        for key in self.parts:
            start_later(self.simulation, beginning.starts.get(key, 0.0), partial(self._start_member, key))

    def apply(self, event: Event) -> None:
        apply_event(event, self, _OWN, self.simulation, self.topology)

    def fast_forward(self) -> None:
        """Nothing is skipped: every record is a request."""

    def registered(self, group: str) -> frozenset[str]:
        """The nodes of the clients that the proxy counts in the group, and of those that some running broker does."""
        process = self.simulation.processes.get(PROXY)
        proxy = None if process is None else process.node
        clients = proxy.clients if isinstance(proxy, ProxyNode) else {}
        behind_proxy = {client.node for client in clients.values() if client.group == group}
        return frozenset(behind_proxy | self.servers.registered(group))

    def backlog(self, group: str) -> Backlog | None:
        """Records that were not given out yet, of the masters that run."""
        waiting = [end - max(0, offset) for end, offset in self._progress(group)]
        return Backlog(sum(waiting), len(waiting))

    # Members.

    def _checked(self, key: MemberKey, part: MemberPart) -> str:
        """The class of the member's client. Raises `UserError` for what that does not have."""
        self._node(key, part)
        return self._settings(key, part).client

    def _settings(self, key: MemberKey, part: MemberPart) -> PopSettings:
        """``threads`` are those of a push consumer, and of a simple consumer's own loop."""
        where = f"member {key.member}"
        own = {name: value for name, value in part.settings.items() if name in SETTINGS and name in OF_MEMBERS}
        settings = with_settings(self.settings, own, where)
        if part.threads is None:
            return settings
        pool = settings.consumption_thread_count if POOLS[PUSH] in own else part.threads
        return replace(settings, user_threads=part.threads, consumption_thread_count=pool)

    def _node(self, key: MemberKey, part: MemberPart) -> Consuming:
        where, settings = f"member {key.member}", self._settings(key, part)
        problem = None
        if part.strategy is not None:
            problem = f"strategy {part.strategy}: nobody shares queues, and no member names a strategy"
        elif part.pattern is not None:
            problem = f"pattern {part.pattern}: a {settings.client} subscribes to topics by name"
        elif settings.client == CLASSIC and settings.consume_message_orderly:
            problem = f"consumeMessageOrderly: a {CLASSIC} never pops in order"
        if problem is not None:
            raise UserError(f"{where}: {problem}; expected none under rocketmq:{POP}")
        if settings.client == CLASSIC:
            return self._classic(key, part, where)
        make = PushConsumer if settings.client == PUSH else SimpleConsumer
        return make(PopConfig(key.group, key.member, part.subscribe, settings, PROXY, part.handle, self._poison))

    def _classic(self, key: MemberKey, part: MemberPart, where: str) -> Client:
        own = _of(part.settings, CLASSIC_NAMES)
        if part.threads is not None:
            own = {of_client.THREADS: part.threads, **own}
        settings = of_client.with_settings(self.classic, own, where, CLASSIC_NAMES)
        spec = commands.ConsumerSpec(key.group, key.member, part.subscribe, Averagely(), settings, part.handle)
        return Client(self.topology.node[key], (NAME_SERVER,), (spec._replace(poison=self._poison),))

    def member(self, node: str) -> Consuming | None:
        """The client of this node; None where none runs. Not to be changed."""
        process = self.simulation.processes.get(node)
        found = None if process is None else process.node
        return found if isinstance(found, ProxyClient | Client) and not found.is_over else None

    @property
    def _parts(self) -> Mapping[MemberKey, MemberPart]:
        return self.parts

    def _runs(self, node: str) -> bool:
        return self.member(node) is not None

    def _resubscribe(self, key: MemberKey, topics: tuple[str, ...]) -> tuple[str, ...]:
        before = self.parts[key].subscribe
        self.parts[key] = self.parts[key].model_copy(update={"subscribe": topics, "pattern": None})
        return before

    def _start_member(self, key: MemberKey) -> None:
        node = self.topology.node[key]
        if self.member(node) is not None:
            return
        if self.simulation.is_running(node):
            self.simulation.end(node)
        self.simulation.start(node, self._node(key, self.parts[key]))

    def _join(self, event: events.Join) -> None:
        key = self.topology.key(event.group, event.join)
        self.parts[key] = started_as(self.parts.get(key), event)
        self._start_member(key)

    def _leave(self, event: events.Leave) -> None:
        key = self.topology.key(event.group, event.leave)
        self._tell(key, commands.Shutdown(key.group))

    def _restart(self, event: events.Restart) -> None:
        key = self.topology.key(event.group, event.restart)
        self.parts[key] = started_as(self.parts.get(key), event)
        node = self.topology.node[key]
        if event.how == "crash" or self.member(node) is None:
            end_process(self.simulation, self.topology, node)
            self._start_member(key)
        else:
            self._tell(key, commands.Shutdown(key.group))
            self._start_when_over(key, self.simulation.processes[node])

    def _start_when_over(self, key: MemberKey, process: object) -> None:
        node = self.topology.node[key]
        if self.simulation.processes.get(node) is not process:
            return
        if self.member(node) is None:
            self._start_member(key)
        else:
            again = partial(self._start_when_over, key, process)
            self.simulation.at(self.simulation.now + LOOK_AGAIN_MS, again)


_OWN: Final[Own[PopCluster]] = {
    **OWN,
    events.Join: PopCluster._join,
    events.Leave: PopCluster._leave,
    events.Restart: PopCluster._restart,
}
"""A member commits nothing by itself."""


def cluster_of_variant(scenario: Scenario, system: SystemPart, simulation: Simulation) -> RocketMQCluster | PopCluster:
    """Raises `protocols.errors.UserError` for a strategy or a setting that RocketMQ does not have."""
    make = PopCluster if split_system(system.system)[1] == POP else RocketMQCluster
    return make(scenario, system, simulation)


SIZES = {**frame_sizes.SIZES, **of_pop.SIZES}
REQUESTS = frame_sizes.REQUESTS | of_pop.REQUESTS
