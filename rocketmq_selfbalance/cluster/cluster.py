"""RocketMQ as a scenario's cluster: its servers, its client instances, and what happens to the members.

A process is one client instance with a consumer for each of its members; its node has the member's name
(``group/member`` where that name is in several groups) or the name of the process. Settings of a variant are those of
`rocketmq_selfbalance.cluster.servers`.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from protocols.engine.simulation import Simulation
from protocols.scenario import events
from protocols.scenario.events import Event
from protocols.scenario.events.records import offsets_of
from protocols.scenario.fields import MemberPart
from protocols.scenario.jitter import IN_STEP, Beginning
from protocols.scenario.model import Scenario, SystemPart
from protocols.scenario.scaling import Backlog
from protocols.scenario.topology import MemberKey, Topology
from protocols.scenario.world import Own, apply_event, end_process, start_later
from rocketmq_selfbalance.client import commands
from rocketmq_selfbalance.client.node import Client
from rocketmq_selfbalance.cluster.members import MemberNames, Members
from rocketmq_selfbalance.cluster.outages import NAME_SERVER
from rocketmq_selfbalance.cluster.scenario_cluster import LOOK_AGAIN_MS, OWN, ScenarioCluster
from rocketmq_selfbalance.cluster.servers import Servers, configuration
from rocketmq_selfbalance.fast_forward.driver import FastForward
from rocketmq_selfbalance.versions import DEFAULT, VERSIONS


class RocketMQCluster(ScenarioCluster):
    """One variant of a scenario in RocketMQ; see `protocols.scenario.cluster_states.Cluster`.

    Raises `protocols.errors.UserError` for a strategy or a setting that RocketMQ does not have.
    """

    def __init__(self, scenario: Scenario, system: SystemPart, simulation: Simulation) -> None:
        version = VERSIONS.named(scenario.versions.get("rocketmq", DEFAULT.name), "versions: rocketmq")
        self.configuration = configuration(system.settings, system.label or system.system, version.name)
        topology = Topology.of(scenario)
        simulation.observer = MemberNames(simulation.observer, topology)
        self.members = Members(scenario, system, topology, self.configuration)
        super().__init__(scenario, simulation, topology, Servers(scenario, self.configuration, simulation))
        self._restarting: dict[MemberKey, events.Restart] = {}
        """Members that shut down to start again; not where something else was to become of them since."""

    # What a scenario calls.

    def start(self, beginning: Beginning = IN_STEP) -> None:
        """The servers, then the members in the order written; those of one process start together."""
        self.servers.start(beginning)
        there: dict[str, list[MemberKey]] = {}
        for key in self.members.parts:
            there.setdefault(self.topology.node[key], []).append(key)
        for node, keys in there.items():
            start = partial(self._start_process, node, keys)
            start_later(self.simulation, beginning.starts.get(keys[0], 0.0), start)

    def apply(self, event: Event) -> None:
        apply_event(event, self, _OWN, self.simulation, self.topology)

    def fast_forward(self) -> None:
        """Skip quiet times from now on (`rocketmq_selfbalance.fast_forward`)."""
        FastForward(self.simulation)

    def registered(self, group: str) -> frozenset[str]:
        """The nodes of the clients whom some running broker counts in the group."""
        return frozenset(self.servers.registered(group))

    def backlog(self, group: str) -> Backlog | None:
        """As ``consumerProgress`` tells it, of the masters that run."""
        waiting = [end - offset if offset >= 0 else 1 for end, offset in self._progress(group)]
        return Backlog(sum(waiting), len(waiting))

    def client(self, node: str) -> Client | None:
        """The client instance of this node; None where none runs. Not to be changed."""
        process = self.simulation.processes.get(node)
        found = None if process is None else process.node
        return found if isinstance(found, Client) and not _is_over(found) else None

    @property
    def _parts(self) -> Mapping[MemberKey, MemberPart]:
        return self.members.parts

    def _runs(self, node: str) -> bool:
        return self.client(node) is not None

    def _resubscribe(self, key: MemberKey, topics: tuple[str, ...]) -> tuple[str, ...]:
        return self.members.subscribe(key, topics)

    def _hears_of_poison(self, key: MemberKey) -> bool:
        return key not in self.members.by_hand

    # Members.

    def _start_process(self, node: str, keys: list[MemberKey]) -> None:
        if self.simulation.is_running(node):
            self.simulation.end(node)
        specs = tuple(map(self._spec, keys))
        self.simulation.start(node, Client(self.members.client_id(node), (NAME_SERVER,), specs))

    def _start_member(self, key: MemberKey) -> None:
        node = self.topology.node[key]
        if self.client(node) is None:
            self._start_process(node, [key])
        else:
            self.simulation.command(node, commands.StartConsumer(self._spec(key)))

    def _spec(self, key: MemberKey) -> commands.ConsumerSpec:
        spec = self.members.spec(key, self.servers.topics)
        return spec if spec.by_hand else spec._replace(poison=self._poison)

    def _join(self, event: events.Join) -> None:
        key = self.topology.key(event.group, event.join)
        self._restarting.pop(key, None)
        self.members.start(key, event)
        self._start_member(key)

    def _leave(self, event: events.Leave) -> None:
        key = self.topology.key(event.group, event.leave)
        self._restarting.pop(key, None)
        self._tell(key, commands.Shutdown(key.group))

    def _restart(self, event: events.Restart) -> None:
        key = self.topology.key(event.group, event.restart)
        self.members.start(key, event)
        node = self.topology.node[key]
        client = self.client(node)
        if event.how == "crash" or client is None:
            lived = () if client is None else tuple(client.instance.consumers)
            end_process(self.simulation, self.topology, node)
            mates = [member for member in self.topology.members[node] if member == key or member.group in lived]
            self._start_process(node, mates)
        else:
            self.simulation.command(node, commands.Shutdown(key.group))
            self._restarting[key] = event
            self._start_when_over(key, self.simulation.processes[node], event)

    def _start_when_over(self, key: MemberKey, process: object, restart: events.Restart) -> None:
        """Start the member again once it has shut down; not where its process was ended in the meantime."""
        node = self.topology.node[key]
        if self.simulation.processes.get(node) is not process or self._restarting.get(key) is not restart:
            return
        client = self.client(node)
        if client is None or key.group not in client.instance.consumers:
            del self._restarting[key]
            self._start_member(key)
        else:
            again = partial(self._start_when_over, key, process, restart)
            self.simulation.at(self.simulation.now + LOOK_AGAIN_MS, again)

    def _commit(self, event: events.Commit) -> None:
        key = self.topology.key(event.group, event.commit)
        offsets = tuple(
            (self.servers.queue(offset.topic, offset.broker, offset.number), offset.offset)
            for offset in offsets_of(event, self.servers.topics)
        )
        self._tell(key, commands.CommitNow(key.group, offsets))


def _is_over(client: Client) -> bool:
    return not client.instance.consumers and not client.instance.threads


_OWN: Final[Own[RocketMQCluster]] = {
    **OWN,
    events.Join: RocketMQCluster._join,
    events.Leave: RocketMQCluster._leave,
    events.Restart: RocketMQCluster._restart,
    events.Commit: RocketMQCluster._commit,
}
