"""What is skipped while clients are quiescent is what would have happened (`protocols.engine.fast_forward`)."""

from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.engine.fast_forward.driver import FastForward
from protocols.engine.links import Latency
from protocols.engine.nodes import Time
from protocols.engine.simulation import Simulation
from rocketmq_selfbalance.broker import Broker, BrokerNode
from rocketmq_selfbalance.client.commands import ConsumerSpec, Shutdown
from rocketmq_selfbalance.client.node import Client
from rocketmq_selfbalance.client.settings import LITE_PULL, PULL, ClientSettings, with_fields
from rocketmq_selfbalance.codes import BROADCASTING
from rocketmq_selfbalance.fast_forward import ADAPTERS
from rocketmq_selfbalance.messages.membership import NotifyConsumerIdsChanged
from rocketmq_selfbalance.nameserver import NameServer
from rocketmq_selfbalance.strategies import Averagely
from tests.rocketmq_selfbalance.client.client_cluster import BROKERS, GROUP, Cluster, Watched
from tests.rocketmq_selfbalance.lived import Lived
from tests.rows import rows

EVENTS = ("start", "stop", "kill", "hang", "freeze", "stop broker")
"""A client that hangs never goes on; one that freezes does, when the brokers have given it up."""


def run(settings_: ClientSettings, events: list[tuple[str, int]], *, full: bool) -> tuple[object, object, int]:
    """Facts, messages, and how many things were handled."""
    watched = Watched()
    simulation = Simulation(seed=3, latency=Latency(1.0, 5.0), observer=watched)
    if not full:
        FastForward(simulation, ADAPTERS)
    simulation.start("namesrv", NameServer())
    for broker in BROKERS:
        simulation.start(broker, BrokerNode(Broker(broker, Cluster.disk({"T": 2, "U": 1}, 0.0))))
    simulation.run(500.0)

    def start(number: int) -> None:
        spec = ConsumerSpec(GROUP, f"c{number}", ("T", "U"), Averagely(), settings_)
        simulation.start(f"c{number}", Client(f"c{number}", ("namesrv",), (spec,)))

    for number in range(3):
        start(number)
    at: Time = 500.0
    alive, started = ["c0", "c1", "c2"], 3
    for what, seconds in events:
        at += seconds * 1000.0
        simulation.run(at)
        if what == "start":
            start(started)
            alive.append(f"c{started}")
            started += 1
        elif what == "stop broker":
            if simulation.is_running("broker-b"):
                simulation.end("broker-b")
        elif len(alive) > 1:
            name = alive.pop(0)
            if what == "stop":
                simulation.command(name, Shutdown())
            elif what == "kill":
                simulation.end(name)
            else:
                simulation.hang(name)
                if what == "freeze":
                    at += 140_000.0
                    simulation.run(at)
                    simulation.wake(name)
                    alive.append(name)
    simulation.run(at + 200_000.0)
    return watched.facts, simulation.messages, simulation.number


@rows("given_", [{}, {"orderly": True}, {"message_model": BROADCASTING}, {"kind": LITE_PULL}])
@settings(max_examples=5, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(1, 150)), max_size=4))
def test_a_quiet_run_observes_what_a_full_one_does(given_: dict[str, object], events: list[tuple[str, int]]) -> None:
    chosen = with_fields(ClientSettings(), given_)
    full, quiet = run(chosen, events, full=True), run(chosen, events, full=False)
    assert quiet[:2] == full[:2]


@rows("given_", [{}, {"orderly": True}, {"kind": LITE_PULL}])
def test_a_client_that_wakes_when_its_connections_have_ended_does_the_same_in_both(given_: dict[str, object]) -> None:
    chosen = with_fields(ClientSettings(), given_)
    events = [("freeze", 40), ("start", 30), ("freeze", 5)]
    full, quiet = run(chosen, events, full=True), run(chosen, events, full=False)
    assert quiet[:2] == full[:2]
    assert quiet[2] < full[2]


@rows("given_", [{}, {"orderly": True}, {"message_model": BROADCASTING}, {"kind": PULL}])
def test_most_of_an_hour_at_rest_is_passed_over(given_: dict[str, object]) -> None:
    events = [("start", 3_000)]
    chosen = with_fields(ClientSettings(), given_)
    full, quiet = run(chosen, events, full=True), run(chosen, events, full=False)
    assert quiet[:2] == full[:2]
    assert quiet[2] < full[2] / 4


def test_a_crowd_that_starts_at_once_observes_what_it_does_in_full() -> None:
    members = {f"c{number}": {"subscribe": ("T", "U")} for number in range(40)}
    topics = {topic: {"broker-a": 8, "broker-b": 8} for topic in ("T", "U")}
    event = {"at": 90_000.0, "leave": "c1"}
    full, quiet = (Lived(topics, members, event, seconds=150, full=each) for each in (True, False))
    assert quiet.facts == full.facts
    assert quiet.variant.simulation.messages == full.variant.simulation.messages
    assert full.variant.simulation.messages[NotifyConsumerIdsChanged] > 40 * 39
