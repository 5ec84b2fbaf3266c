"""The player's data tell how groups stand at every moment: states and epochs as the coordinator describes them."""

from itertools import pairwise
from typing import Any

import pytest

from compare.running.systems import cluster_of
from compare.running.variants import variants_of
from compare.showing.comparison.page import graphs
from kafka_coordinator.cluster.broker import Broker
from kafka_coordinator.cluster.cluster import KafkaCluster
from kafka_coordinator.cluster.views import GroupDescription, description_of
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.messages import DescribedConsumer
from protocols.errors import UserError
from protocols.scenario.model import Scenario
from protocols.scenario.running import Run
from tests.compare.compared import made, ran

JOINS_AND_LEAVES = [
    {"at": "10s", "join": "c3", "subscribe": ["X", "Y"]},
    {"at": "24s", "crash": "c2"},
    {"at": "80s", "leave": "c1"},
]
STATIC_COMES_BACK = [{"at": "20s", "leave": "c2"}, {"at": "28s", "restart": "c2"}]
COORDINATOR_FAILS = [{"at": "20s", "broker": "b2", "does": "kill"}, {"at": "40s", "broker": "b2", "does": "return"}]
UPGRADE = [
    {"at": "20s", "leave": "c1"},
    {"at": "25s", "join": "c3", "subscribe": ["X", "Y"], "settings": {"group.protocol": "consumer"}},
    {"at": "45s", "leave": "c2"},
    {"at": "60s", "join": "c4", "subscribe": ["X", "Y"]},
    {"at": "75s", "leave": "c3"},
]
STATIC = {"name": "g", "members": {name: {"subscribe": ["X"], "instance_id": name} for name in ("c1", "c2")}}
TWO_BROKERS = {"brokers": ["b1", "b2"], "topics": {"X": {"queues": {"b1": 2}}, "Y": {"queues": {"b1": 2}}}}
STORIES: dict[str, tuple[str, dict[str, Any]]] = {
    "uniform": ("kafka:uniform", {"events": JOINS_AND_LEAVES}),
    "server-range, coordinator fails": ("kafka:server-range", {"events": COORDINATOR_FAILS, **TWO_BROKERS}),
    "static member": ("kafka:uniform", {"events": STATIC_COMES_BACK, "group": STATIC}),
    "classic": ("kafka:range", {"events": JOINS_AND_LEAVES}),
    "classic, coordinator fails": ("kafka:range", {"events": COORDINATOR_FAILS, **TWO_BROKERS}),
    "upgrade and downgrade": ("kafka:range", {"events": UPGRADE}),
}

GROUPS = {graph["machine"]: graph for graph in graphs("kafka") if graph["members"]}
OVER = {graph["machine"]: graph["over"] for graph in graphs("kafka")}
Standing = dict[str, tuple[str, dict[str, int]]]
"""Who it is to the state and the epochs."""


def shown(player: dict[str, Any], step: int) -> dict[str, Standing]:
    """Machine to who stands where after a step, from the data alone."""
    texts, states, epochs = player["texts"], {}, {}
    for number in range(step + 1):
        for effect in [*player["unseen"].get(number, []), *player["steps"][number][7]]:
            if len(effect) == 5:
                _, machine, whose, name = (texts[each] for each in effect[:4])
                epochs.setdefault((machine, whose), {})[name] = effect[4]
            elif len(effect) == 6:
                machine, whose, _, _, after = (texts[each] for each in effect[1:])
                states[machine, whose] = after
    found: dict[str, Standing] = {}
    for (machine, whose), state in states.items():
        if state not in OVER[machine]:
            found.setdefault(machine, {})[whose] = state, epochs.get((machine, whose), {})
    return found


def described(cluster: KafkaCluster, found: GroupDescription) -> Standing:
    """The members of a group of the consumer protocol as `ConsumerGroupDescribe` tells them, with the states that the
    coordinator keeps to itself."""
    (group,) = [each.consumer_groups["g"] for each in cores(cluster) if "g" in each.consumer_groups]
    members = [each for each in found.members if isinstance(each, DescribedConsumer)]
    return {
        f"{each.client_id} ({each.member_id})": (
            group.members[each.member_id].standing.state,
            {"member epoch": each.member_epoch},
        )
        for each in members
    }


def cores(cluster: KafkaCluster) -> list[Core]:
    """Of the brokers that run."""
    nodes = [process.node for process in cluster.simulation.processes.values()]
    return [node.coordinator.core for node in nodes if isinstance(node, Broker)]


def check(now: dict[str, Standing], cluster: KafkaCluster, found: GroupDescription) -> str:
    """Compare one moment; the machine of the group that there was."""
    (machine,) = [each for each in GROUPS if now.get(each)]
    ((name, (state, epochs)),) = now[machine].items()
    assert (name, state) == ("g", found.state)
    if found.epochs is not None:
        assert machine == "consumer group"
        assert (epochs["group epoch"], epochs["assignment epoch"]) == found.epochs
        assert now.get("consumer group member", {}) == described(cluster, found)
        return machine
    assert machine == "group"
    (group,) = [each.groups["g"] for each in cores(cluster) if "g" in each.groups]
    assert epochs.get("generation", 0) == group.generation
    for name, (state, told) in now.get("client", {}).items():
        consumer = cluster.consumer(name)
        if consumer is not None:
            membership = consumer.state.membership
            assert (state, told.get("generation", -1)) == (membership.state, membership.generation)
    return machine


def lived(of: Scenario) -> tuple[dict[str, Any], KafkaCluster, Run]:
    """The player's data of a scenario with one variant, and the same run ready to be looked into."""
    (run,), _ = ran(of, with_chart_data=True)
    (variant,) = variants_of(of)
    again = Run.of(variant.scenario, variant.part, cluster_of(variant.part.system), full=True)
    assert run.chart_data
    assert isinstance(again.cluster, KafkaCluster)
    return run.chart_data["player"], again.cluster, again


def test_the_player_shows_states_and_epochs_as_the_coordinator_describes_them(subtests: pytest.Subtests) -> None:
    for story in STORIES:
        with subtests.test(story=story):
            system, more = STORIES[story]
            player, cluster, run = lived(
                made(systems=[system], load={"produce": "0/s"}, run={"for": "100s", "seed": 3}, **more)
            )
            times = [step[0] for step in player["steps"]]
            machines, down = [], 0
            for at, (since, until) in enumerate(pairwise(times)):
                if until - since < 1:
                    continue
                run.simulation.run((since + until) / 2)
                try:
                    found = description_of(cluster, "g")
                except UserError:
                    down += 1  # its coordinator is, or still reads the log
                    continue
                if found is not None:
                    machines.append(check(shown(player, at), cluster, found))
            assert len(machines) > 10
            assert bool(down) == story.endswith("fails")
            expected = {
                "classic": {"group"},
                "classic, coordinator fails": {"group"},
                "upgrade and downgrade": set(GROUPS),
            }
            assert set(machines) == expected.get(story, {"consumer group"})
