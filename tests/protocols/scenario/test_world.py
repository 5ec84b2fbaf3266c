"""What befalls processes and the network happens the same way whatever system runs in them."""

from typing import Any, NamedTuple

import pytest

from protocols.engine.nodes import Message, Outbox, Time, TimerName, Unobserved
from protocols.engine.simulation import Simulation
from protocols.facts import Owns
from protocols.scenario.events import Event
from protocols.scenario.jitter import IN_STEP, Beginning
from protocols.scenario.model import Scenario, SystemPart
from protocols.scenario.reading import scenario
from protocols.scenario.running import BEGINNING, Run
from protocols.scenario.topology import MemberKey, Topology
from protocols.scenario.world import apply_to_world
from tests.rows import rows


class Beat(NamedTuple):
    number: int


class Beating:
    """A node that sends a beat to each of its peers every second, and hears theirs."""

    def __init__(self, peers: tuple[str, ...]) -> None:
        self.peers = peers
        self.heard: list[tuple[Time, str]] = []
        self.told: list[tuple[Time, str, str]] = []
        self.number = 0

    def start(self, now: Time, out: Outbox) -> None:
        out.set_timer("beat", now)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        self.heard.append((now, sender))

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        self.number += 1
        for peer in self.peers:
            out.send(peer, Beat(self.number))
        out.set_timer("beat", now + 1000)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        self.told.append((now, "connected", peer))

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        self.told.append((now, "closed", peer))


class Cluster:
    """A broker that hears beats, and a node for every process."""

    def __init__(self, scenario: Scenario, system: SystemPart, simulation: Simulation) -> None:
        assert system.system == "kafka:range"
        self.simulation, self.topology = simulation, Topology.of(scenario)
        self.left: list[Event] = []
        self.brokers = {name: Beating(()) for name in scenario.brokers}
        self.static = [part.instance_id for group in scenario.groups.values() for part in group.members.values()]
        self.finished = False

    def start(self, beginning: Beginning = IN_STEP) -> None:
        for name, broker in self.brokers.items():
            self.simulation.start(name, broker)
        for node in self.topology.members:
            self.simulation.start(node, Beating(tuple(self.brokers)))

    def apply(self, event: Event) -> None:
        if not apply_to_world(event, self.simulation, self.topology):
            self.left.append(event)

    def fast_forward(self) -> None: ...

    def finish(self) -> None:
        self.finished = True


class Watching(Unobserved):
    """An observer that keeps facts and calls."""

    def __init__(self) -> None:
        self.facts: list[tuple[Time, tuple[Any, ...], int]] = []
        self.calls: dict[int, str] = {}

    def fact(self, now: Time, node: str, fact: tuple[Any, ...], root: int, cause: int) -> None:
        self.facts.append((now, fact, root))

    def created(self, number: int, due: Time, kind: int, node: str, what: Any, cause: int) -> None:
        self.calls[number] = what


def lived(*events: dict[str, Any], seconds: int = 20, static: bool = False, **more: Any) -> tuple[Cluster, Watching]:
    """The cluster after a scenario with two members and two brokers, latency 1 ms."""
    group = {"name": "g", "members": {"c1": ["t"], "c2": ["t"]}}
    fields = {"name": "x", "brokers": ["a", "b"], "topics": {"t": 2}, "group": group, **more}
    day = scenario(fields, run={"for": f"{seconds}s", "latency": "1ms"}, events=list(events))
    made: list[Cluster] = []

    def make(scenario: Scenario, system: SystemPart, simulation: Simulation) -> Cluster:
        made.append(Cluster(scenario, system, simulation))
        return made[0]

    watching = Watching()
    Run.of(day, SystemPart(system="kafka:range+static" if static else "kafka:range"), make, observer=watching).run()
    assert made[0].finished
    return made[0], watching


def beats(cluster: Cluster, broker: str, sender: str) -> list[int]:
    """The seconds in which the broker heard the sender."""
    return [int(now // 1000) for now, name in cluster.brokers[broker].heard if name == sender]


def test_a_crash_ends_the_process_and_what_its_members_believe() -> None:
    cluster, watching = lived({"at": "5500ms", "crash": "c1"}, seconds=10)
    assert beats(cluster, "a", "c1") == [0, 1, 2, 3, 4, 5]
    assert (5501.0, "closed", "c1") in cluster.brokers["a"].told
    assert [(now, fact) for now, fact, _ in watching.facts] == [(5500.0, Owns("g", "c1", (), None))]


def test_what_follows_from_an_event_is_known_by_the_number_of_its_call() -> None:
    _, watching = lived({"at": "5s", "crash": "c1"})
    ((_, _, root),) = watching.facts
    assert watching.calls[root] == "c1 crashes"
    assert BEGINNING in watching.calls.values()


def test_static_variants_give_every_member_an_instance_id() -> None:
    members = {"c1": ["t"], "c2": {"subscribe": ["t"], "instance_id": "two"}}
    assert lived(static=True, group={"name": "g", "members": members})[0].static == ["c1", "two"]
    cluster, _ = lived({"at": "5s", "leave": "c1"}, {"at": "6s", "join": "c1"}, static=True)
    assert cluster.static == ["c1", "c2"]
    assert getattr(cluster.left[1], "instance_id", None) == "c1"


@rows("apart", [False, True])
def test_places_tell_who_lives_where(apart: bool) -> None:
    groups = {
        "g": {"members": {"c1": {"subscribe": ["t"], "process": "p"}, "c2": ["t"], "c3": ["t"]}},
        "h": {"members": {"c1": {"subscribe": ["t"], "process": "p"}, "c2": ["t"]}},
    }
    fields = {"name": "x", "topics": {"t": 1}, "run": {"for": "1min"}, "groups": groups}
    join = {"at": "1s", "join": "late", "group": "h", "subscribe": ["t"]}
    topology = Topology.of(scenario(fields, events=[join]), one_node_per_member=apart)
    assert topology.node[MemberKey("g", "c2")] == "g/c2"
    assert topology.node[MemberKey("g", "c3")] == "c3"
    assert topology.node[MemberKey("h", "late")] == "late"
    assert topology.together[MemberKey("h", "c1")] == (("g/c1", "h/c1") if apart else ("p",))
    assert topology.named("p") == topology.together[MemberKey("h", "c1")]
    assert topology.named("h/c2") == ("h/c2",)
    assert topology.key(None, "c3") == MemberKey("g", "c3")
    with pytest.raises(ValueError, match="in several groups"):
        topology.key(None, "c1")
