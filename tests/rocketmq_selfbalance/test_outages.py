"""A broker that is killed, stopped or frozen, with slaves and without, as clients and producers have it."""

from typing import Any

import pytest

from compare.running.production import productions
from compare.running.run_variant import run_variant
from compare.running.variants import Variant
from protocols.engine.nodes import Unobserved
from protocols.errors import UserError
from protocols.facts import Owns, Stage
from protocols.scenario.jitter import Beginning
from protocols.scenario.reading import read_text
from protocols.scenario.running import Run
from rocketmq_selfbalance.broker.state import GHOST
from rocketmq_selfbalance.cluster import RocketMQCluster
from tests.rows import rows

TEXT = """
name: day
brokers: [broker-a, broker-b]
topics: {T: {queues: {broker-a: 6, broker-b: 6}}}
group: {name: g, members: {c1: {subscribe: [T]}, c2: {subscribe: [T]}, c3: {subscribe: [T]}}}
replication: {%s}
load: {produce: %s/s%s}
run: {for: %ss, seed: %s}
systems: [rocketmq:AVG]
events: [%s]
"""
KEYED = ", selector: key"
SLAVES, CONTROLLER = "rocketmq: 2", "rocketmq: 2, rocketmq_controller: true"


class Lived(Unobserved):
    """A run of it under a seed that lets all clocks run for themselves."""

    def __init__(
        self,
        event: str,
        *,
        replication: str = "",
        load: str = "",
        seconds: int = 200,
        rate: int = 6,
        seed: int = 1,
        full: bool = False,
    ) -> None:
        self.facts: list[tuple[float, Any]] = []
        scenario = read_text(TEXT % (replication, rate, load, seconds, seed, f"{{at: 60s, {event}}}"))
        beginning = Beginning.of(scenario, seed)
        run = Run.of(scenario, scenario.systems[0], RocketMQCluster, observer=self, full=full, beginning=beginning)
        run.run()
        assert isinstance(run.cluster, RocketMQCluster)
        self.servers = run.cluster.servers
        self.account = self.servers.producers.account("T")

    def fact(self, now: float, node: str, fact: tuple[Any, ...], root: int, cause: int) -> None:
        self.facts.append((now / 1000 - 60, fact))

    def stages(self) -> list[tuple[float, str]]:
        return [(at, fact.what) for at, fact in self.facts if type(fact) is Stage]

    def at(self, what: str) -> float:
        return next(at for at, told in self.stages() if what in told)

    def changes(self) -> list[float]:
        """When a member's queues of the topic changed, from the event on."""
        return [at for at, fact in self.facts if type(fact) is Owns and at > 0]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_producers_and_consumers_learn_of_a_killed_master_at_their_own_poll(seed: int) -> None:
    plain, keyed = (Lived("broker: broker-a, does: kill", load=load, seed=seed) for load in ("", KEYED))
    assert plain.at("the name server drops broker-a") < 0.1
    learnt = plain.at("the producers of T learn")
    assert 0 <= learnt <= 30
    assert plain.account.refused == 0
    assert plain.account.retried == pytest.approx(12 * learnt, rel=0.01)
    assert keyed.account.refused == pytest.approx(36 * keyed.at("the producers of T learn"), rel=0.01)
    assert keyed.account.retried == 0
    dropped = plain.changes()[0]
    assert 0 <= dropped <= 51


def test_a_shorter_poll_is_an_earlier_switch() -> None:
    quick = Lived("broker: broker-a, does: kill", load=f"{KEYED}, producer: {{pollNameServerInterval: 1000}}")
    assert quick.at("the producers of T learn") <= 1
    assert quick.account.refused <= 37


def test_a_broker_that_returns_is_written_to_after_its_registration_and_the_next_poll() -> None:
    lived = Lived("broker: broker-a, does: kill, for: 60s")
    registered, written = lived.at("has broker-a as its master"), lived.at("write to broker-a again")
    assert registered - 60 == pytest.approx(3, abs=0.1) or registered - 60 == pytest.approx(13, abs=0.1)
    assert registered < written <= registered + 30


def test_slaves_keep_the_queues_with_their_members() -> None:
    """Recorded: no rebalance at all during the outage, and ordered records are refused until the poll."""
    lived = Lived("broker: broker-a, does: kill", replication=SLAVES, load=KEYED)
    assert lived.changes() == []
    assert lived.account.refused == pytest.approx(36 * lived.at("the producers of T learn"), rel=0.01)
    of_slave = Lived("broker: broker-a.s, does: kill, for: 30s", replication=SLAVES)
    assert of_slave.changes() == []
    assert (of_slave.account.refused, of_slave.account.retried) == (0, 0)


@rows(("does", "least", "most"), [("kill", 0.4, 0.5), ("stop", 0.4, 0.5), ("freeze, for: 40s", 10, 15.1)])
def test_a_controller_has_a_new_master_soon_and_clients_see_it_at_their_poll(
    does: str, least: float, most: float
) -> None:
    lived = Lived(f"broker: broker-a, does: {does}", replication=CONTROLLER)
    assert least <= lived.at("has broker-a.s as its master") <= most
    assert lived.at("has a new master") <= 45
    assert lived.changes() == []
    assert lived.servers.broker("broker-a") is not None
    assert lived.servers.replicas.masters["broker-a"] == "broker-a.s"


def test_a_frozen_broker_stores_what_was_refused_and_its_lists_name_members_twice_for_two_minutes() -> None:
    found = [Lived("broker: broker-b, does: freeze, for: 20s", seconds=220, seed=seed) for seed in range(1, 6)]
    for lived in found:
        assert not any("drops" in what for _, what in lived.stages())
        assert lived.account.refused > 0
        assert lived.account.late == pytest.approx(lived.account.refused)
    assert any(at > 20 for lived in found for at in lived.changes())
    broker = found[0].servers.broker("broker-b")
    assert broker is not None
    assert not any(GHOST in channel for group in broker.consumers.groups.values() for channel in group.channels)
    assert any(len(lived.changes()) > 4 for lived in found)


def test_the_name_server_drops_a_broker_that_is_frozen_for_longer_than_it_waits() -> None:
    lived = Lived("broker: broker-a, does: freeze, for: 150s", seconds=260)
    assert 90 <= lived.at("the name server drops broker-a") <= 125.1


EVENTS = [
    "broker: broker-a, does: kill, for: 60s",
    "broker: broker-a, does: stop, for: 20s",
    "broker: broker-b, does: freeze, for: 20s",
    "broker: broker-b, does: freeze, for: 130s",
]


@rows(("event", "replication"), [(event, replication) for event in EVENTS for replication in ("", SLAVES, CONTROLLER)])
def test_what_is_skipped_is_what_would_have_happened(event: str, replication: str) -> None:
    quick, full = (Lived(event, replication=replication, rate=0, full=full) for full in (False, True))
    # Where records are read evenly the two draw other latencies (`test_following`).
    told = [[(at, fact) for at, fact in lived.facts if type(fact) in (Owns, Stage)] for lived in (quick, full)]
    assert told[0] == told[1]


@rows(
    ("event", "load"),
    [(event, load) for event in EVENTS for load in ("", KEYED, ", producer: {sendLatencyFaultEnable: true}")],
)
def test_what_the_record_says_was_written_is_what_brokers_stored(event: str, load: str) -> None:
    scenario = read_text(TEXT % ("", 6, load, 200, 2, f"{{at: 60s, {event}}}"))
    production = productions(run_variant(Variant(scenario, scenario.systems[0], 2, Beginning())))
    run = Run.of(scenario, scenario.systems[0], RocketMQCluster, seed=2).run()
    assert isinstance(run.cluster, RocketMQCluster)
    stored = {
        queue: run.cluster.servers.disks[queue.broker].store.max_offset("T", queue.number, run.simulation.now)
        for queue in production
    }
    assert stored == {queue: history.end_offset(run.simulation.now) for queue, history in production.items()}


@rows(
    "variant, load, latest",
    [
        ({}, {}, 30),
        ({"pollNameServerInterval": 10_000}, {}, 10),
        ({"pollNameServerInterval": 10_000}, {"pollNameServerInterval": 20_000}, 20),
    ],
)
def test_producers_poll_as_the_variant_says_unless_their_load_does(
    variant: dict[str, int], load: dict[str, int], latest: int
) -> None:
    """12 queues, 6 records/s each, half of them refused until the poll: ordered records go nowhere else."""
    text = TEXT % ("", 6, f"{KEYED}, producer: {load}", 130, 1, "{at: 60s, broker: broker-b, does: kill, for: 60s}")
    scenario = read_text(text.replace("[rocketmq:AVG]", f"[{{system: 'rocketmq:AVG', settings: {variant}}}]"))
    refused = []
    for seed in range(1, 7):
        run = run_variant(Variant(scenario, scenario.systems[0], seed, Beginning.of(scenario, seed)))
        refused.append(sum(each.refused(0.0, 130_000.0) for each in productions(run).values()))
    assert latest * 36 * 0.4 < max(refused) <= latest * 36 + 12


def test_a_return_after_the_end_of_the_run_is_refused_in_one_line() -> None:
    with pytest.raises(
        UserError, match=r"events\[0\]: broker-b returns at 120s is after the end of the run, expected at"
    ):
        read_text(TEXT % ("", 6, "", 110, 1, "{at: 60s, broker: broker-b, does: kill, for: 60s}"))
